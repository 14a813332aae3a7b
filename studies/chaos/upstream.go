package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/reference/newsfeed"
	"plimsoll/reference/refchat"
	"plimsoll/reference/refnull"
	"plimsoll/target/lab/postgresql"
)

// Servers are the reference servers behind the proxies, in this process. Rows share them: each has a team of its own.
type servers struct {
	password string            // of the chat server's administrator
	at       map[string]string // host:port by name
	stop     context.CancelFunc
	wg       sync.WaitGroup
	db       *postgresql.Server
	mu       sync.Mutex
	errs     []error
}

// startServers starts those that are needed. Close them, also after an error.
func startServers(ctx context.Context, dir string, need map[string]bool, password string) (s *servers, err error) {
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
	if s.db, err = postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(dir, "postgresql"), Settings: map[string]string{"fsync": "off", "synchronous_commit": "off", "max_connections": "200"}}); err != nil {
		return s, err
	}
	for name, database := range map[string]string{refchatServer: "chat", refchatAlone: "alone", newsfeedServer: "feed"} {
		if !need[name] {
			continue
		}
		if err := s.db.CreateDatabase(ctx, database); err != nil {
			return s, err
		}
		if name == newsfeedServer {
			continue
		}
		c, err := refchat.New(ctx, refchat.Config{Listen: "127.0.0.1:0", DSN: s.db.DSN(database), Hash: "bcrypt:4", AdminUser: adminName, AdminPassword: password})
		if err != nil {
			return s, err
		}
		s.at[name] = c.Addr()
		s.serve(run, c.Run)
	}
	if !need[newsfeedServer] {
		return s, nil
	}
	// A busy host is not a fault of a row.
	cfg := newsfeed.Config{Listen: "127.0.0.1:0", DSN: s.db.DSN("feed"), StoreTimeout: 30 * time.Second}
	for kind, at := range map[string]*string{newsfeed.KindWide: &cfg.Wide, newsfeed.KindSearch: &cfg.Search, newsfeed.KindBus: &cfg.Bus} {
		st, err := newsfeed.NewStore(ctx, newsfeed.StoreConfig{Kind: kind, Listen: "127.0.0.1:0", Sync: newsfeed.DefaultSync})
		if err != nil {
			return s, err
		}
		*at = st.Addr()
		s.serve(run, st.Run)
	}
	f, err := newsfeed.New(ctx, cfg)
	if err != nil {
		return s, err
	}
	s.at[newsfeedServer] = f.Addr()
	s.serve(run, f.Run)
	return s, nil
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
