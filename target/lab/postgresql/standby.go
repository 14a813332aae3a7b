package postgresql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
)

// followTimeout bounds the wait for a standby that catches up with its primary.
const followTimeout = 2 * time.Minute

// errRemoved reports that the primary has no longer what a standby lacks.
var errRemoved = errors.New("the primary has removed the log that the standby lacks")

// errTurnedBack reports that a restored primary is at an earlier place of its log than the standby.
var errTurnedBack = errors.New("the primary has turned back to its snapshot")

// ForStandbys are the settings that a server needs which has standbys: so much of its log stays that they find it
// after a restart.
func ForStandbys() map[string]string { return map[string]string{"wal_keep_size": "1GB"} }

// A Standby is a running server that streams the changes of another one and answers reads. Its methods may be called
// by several goroutines.
type Standby struct{ s *Server }

// StartStandby makes a copy of primary in conf.Dir, starts it, and returns when it has all that primary has. For the
// copy the primary is restarted on its port, so its connections are cut. name is the application name by which the
// primary knows it: letters, digits and underscores.
func StartStandby(ctx context.Context, conf Config, primary *Server, name string) (*Standby, error) {
	s := &Server{conf: conf, password: primary.password, primary: primary, application: name}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing a standby of PostgreSQL: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.anew(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a standby of PostgreSQL: %w", err), s.stop(context.WithoutCancel(ctx)))
	}
	return &Standby{s}, nil
}

// anew begins with a copy of the primary. It holds mu.
func (s *Server) anew(ctx context.Context) error {
	if err := s.copyPrimary(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.caughtUp(ctx)
}

// copyPrimary copies the snapshot of the primary's whole data, where it has one, from which the primary has gone on; or
// else its present data, for which the primary is shut down and started again.
func (s *Server) copyPrimary(ctx context.Context) error {
	p := s.primary
	if !p.space.Shares() {
		if err := p.exec(ctx, "copying the data", "CHECKPOINT"); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.Stat(p.snapshot()); err == nil && p.space.Shares() {
		return s.take(ctx, p.snapshot())
	}
	if err := p.stopCleanly(ctx); err != nil {
		return fmt.Errorf("copying the data: %w", err)
	}
	return errors.Join(s.take(ctx, p.data()), p.start(ctx))
}

// take makes the data of a standby of a copy of the primary's.
func (s *Server) take(ctx context.Context, from string) error {
	if err := lab.ReplaceTree(ctx, s.data(), from, &lab.Owner{UID: s.uid, GID: s.gid}); err != nil {
		return err
	}
	return errors.Join(s.give(filepath.Join(s.data(), "standby.signal"), ""), s.give(s.passfile(), "*:*:*:"+role+":"+s.password+"\n"))
}

func (s *Server) passfile() string { return filepath.Join(s.dir, "primary.pass") }

// give writes a file for the server alone.
func (s *Server) give(path, text string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if s.uid == 0 && s.gid == 0 {
		return nil
	}
	return os.Chown(path, int(s.uid), int(s.gid))
}

// following returns the settings by which a standby finds its primary.
func (s *Server) following() map[string]string {
	return map[string]string{"primary_conninfo": fmt.Sprintf("host=%s port=%d user=%s application_name=%s sslmode=disable passfile='%s'",
		s.primary.addr(), s.primary.port, role, s.application, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s.passfile()))}
}

// caughtUp waits until the standby has all that the primary has now.
func (s *Server) caughtUp(ctx context.Context) error {
	var end string
	if err := s.primary.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn()::text").Scan(&end)
	}); err != nil {
		return fmt.Errorf("asking the primary how far it is: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, followTimeout, fmt.Errorf("it has not caught up within %v", followTimeout))
	defer cancel()
	return s.admin(ctx, "postgres", func(conn *pgx.Conn) error {
		for {
			var there bool
			if err := conn.QueryRow(ctx, "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false)", end).Scan(&there); err != nil || there {
				return err
			}
			if strings.Contains(s.proc.Tail(), "has already been removed") {
				return errRemoved
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-s.proc.Done():
				return errors.New("it ended while it caught up")
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}

// Follow restarts the standby after its primary was restored, or starts it, and returns when it has all that the
// primary has. A standby that cannot catch up begins with a new copy, for which the primary is restarted.
func (r *Standby) Follow(ctx context.Context) error {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.stop(ctx)
	if err == nil && s.primary.space.Shares() {
		err = errTurnedBack
	}
	if err == nil {
		err = s.start(ctx)
	}
	if err == nil {
		err = s.caughtUp(ctx)
	}
	if err != nil && ctx.Err() == nil {
		if err = s.stop(ctx); err == nil {
			err = s.anew(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("a standby of PostgreSQL: %w", err)
	}
	return nil
}

// DSN returns the address of a database of the standby, with the primary's password.
func (r *Standby) DSN(db string) string { return r.s.DSN(db) }

// Describe reads the standby's description.
func (r *Standby) Describe(ctx context.Context) (lab.ProgramInfo, error) { return r.s.Describe(ctx) }

// PIDs is [Server.PIDs].
func (r *Standby) PIDs() []int { return r.s.PIDs() }

// Watched is [Server.Watched].
func (r *Standby) Watched() lab.Watched { return r.s.Watched() }

// Stop stops the standby, within 4 seconds, and at once when ctx has ended.
func (r *Standby) Stop(ctx context.Context) error { return r.s.Stop(ctx) }
