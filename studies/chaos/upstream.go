package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/reference/refchat"
	"plimsoll/reference/refnull"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
)

// Servers are the reference servers behind the proxies, in this process but for the news feed. Rows
// share them: each has a team of its own.
type servers struct {
	password string            // of the chat server's administrator
	at       map[string]string // host:port by name
	stop     context.CancelFunc
	wg       sync.WaitGroup
	db       *postgresql.Server
	mu       sync.Mutex
	errs     []error
}

// startServers starts those that are needed, the news feed by its program. Close them, also after
// an error.
func startServers(
	ctx context.Context,
	dir, feed string,
	need map[string]bool,
	password string,
) (s *servers, err error) {
	s = &servers{password: password, at: map[string]string{}}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if need[refnullServer] {
		n, err := refnull.New(refnull.Config{Listen: "127.0.0.1:0", Push: 1})
		if err != nil {
			return s, err
		}
		s.at[refnullServer] = n.Addr()
		s.serve(run, n.Run)
	}
	if !need[refchatServer] && !need[refchatAlone] && !need[newsfeedServer] {
		return s, nil
	}
	// The database has a user of its own, who must be able to pass through.
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			return s, err
		}
	}
	if need[newsfeedServer] {
		if err := s.startFeed(ctx, run, filepath.Join(dir, "feed"), feed); err != nil {
			return s, err
		}
	}
	if !need[refchatServer] && !need[refchatAlone] {
		return s, nil
	}
	if s.db, err = postgresql.Start(ctx, postgresql.Config{
		Dir: filepath.Join(dir, "postgresql"),
		Settings: map[string]string{
			"fsync":              "off",
			"synchronous_commit": "off",
			"max_connections":    "200",
		},
	}); err != nil {
		return s, err
	}
	for name, database := range map[string]string{refchatServer: "chat", refchatAlone: "alone"} {
		if !need[name] {
			continue
		}
		if err := s.db.CreateDatabase(ctx, database); err != nil {
			return s, err
		}
		c, err := refchat.New(ctx, refchat.Config{
			Listen:        "127.0.0.1:0",
			DSN:           s.db.DSN(database),
			Hash:          "bcrypt:4",
			AdminUser:     adminName,
			AdminPassword: password,
		})
		if err != nil {
			return s, err
		}
		s.at[name] = c.Addr()
		s.serve(run, c.Run)
	}
	return s, nil
}

// feedPlan is the plan of the news feed. A busy host is not a fault of a row.
const feedPlan = `name: feed
target: {driver: newsfeed, args: [-store-timeout=30s]}
database: {engine: postgresql}
`

// startFeed starts the news feed with its stores, as the target of a program that knows it, until
// run ends.
func (s *servers) startFeed(ctx, run context.Context, dir, program string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	plan := filepath.Join(dir, "feed.yaml")
	if err := os.WriteFile(plan, []byte(feedPlan), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(run, program, "target", "up", "-store", dir, plan)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var talk lab.Transcript
	cmd.Stdout, cmd.Stderr = &talk, &talk
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the news feed (make -C newsfeed setup build): %w", err)
	}
	ended := make(chan error, 1)
	s.wg.Go(func() { ended <- cmd.Wait() })
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		state, err := target.Load(filepath.Join(dir, "target"))
		if err == nil {
			s.at[newsfeedServer] = strings.TrimPrefix(state.URLs[0], "http://")
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the news feed ended: %w\n%s", err, talk.String())
		case <-ctx.Done():
			return fmt.Errorf("the news feed is not up: %w\n%s", context.Cause(ctx), talk.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *servers) serve(ctx context.Context, run func(context.Context) error) {
	s.wg.Go(func() {
		if err := run(ctx); err != nil {
			s.mu.Lock()
			s.errs = append(s.errs, err)
			s.mu.Unlock()
		}
	})
}

// close stops them all.
func (s *servers) close(ctx context.Context) error {
	s.stop()
	s.wg.Wait()
	if s.db != nil {
		s.errs = append(s.errs, s.db.Stop(ctx))
	}
	return errors.Join(s.errs...)
}

// A trap is the target of redirections. No request may reach it.
type trap struct {
	ln     net.Listener
	visits atomic.Int64
	wg     sync.WaitGroup
}

func newTrap() (*trap, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &trap{ln: ln}
	t.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.visits.Add(1)
			_ = c.Close()
		}
	})
	return t, nil
}

func (t *trap) url() string { return fmt.Sprintf("http://%s", t.ln.Addr()) }

func (t *trap) close() {
	_ = t.ln.Close()
	t.wg.Wait()
}
