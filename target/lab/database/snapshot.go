package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"plimsoll/target/lab"
)

// CreateDatabase makes an empty database, and replaces one of the same name.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	create := fmt.Sprintf(s.product.Create, s.product.Quote(name))
	return s.exec(ctx, "creating database "+name, append(s.product.Drop(name), create)...)
}

// DropDatabase removes a database and ends its connections. A snapshot of all databases stays. A
// missing database is not an error.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "dropping database "+name, s.product.Drop(name)...)
}

// Snapshot saves the present state of a database for Restore; the state of the whole server, which
// it restarts on the same port, unless its product keeps one database inside the server. It first
// collects the planner's statistics and lets the server do its left-over work, so that every run
// starts with the same. Connections to the database are ended.
func (s *Server) Snapshot(ctx context.Context, name string) error {
	what := "snapshot of database " + name
	if err := s.product.Analyze(ctx, &s.in, name); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if s.keeps() {
		if err := s.product.Keep(ctx, &s.in, name); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	return s.copyOut(ctx, what, s.snapshot)
}

// Export copies the data of the whole server, of all databases, to dst, which Config.Data takes,
// and restarts the server on the same port. It shuts it down cleanly for that. When it fails, there
// is no dst, and the server may be stopped.
func (s *Server) Export(ctx context.Context, dst string) error {
	return s.copyOut(ctx, "exporting the data", func() string { return dst })
}

// copyOut copies the data of the server, which it restarts, to the directory that dst returns.
func (s *Server) copyOut(ctx context.Context, what string, dst func() string) error {
	if err := s.exec(ctx, what, s.product.Flush); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopCleanly(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := lab.ReplaceTree(ctx, dst(), s.in.DataDir, nil); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.start(ctx)
}

// stopCleanly waits longer for the server's end than Stop, and fails when the end was not clean.
func (s *Server) stopCleanly(ctx context.Context) error {
	if s.proc == nil {
		return errors.New("the server is stopped")
	}
	if err := s.proc.Signal(s.product.Stop); err != nil {
		return err
	}
	t := time.NewTimer(cleanTimeout)
	defer t.Stop()
	select {
	case <-s.proc.Done():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), s.stop(ctx))
	case <-t.C:
		err := fmt.Errorf("the server does not shut down within %v", cleanTimeout)
		return errors.Join(err, s.stop(ctx))
	}
	if err := s.proc.Err(); err != nil {
		return fmt.Errorf("no clean shutdown: %w%w", err, LastLines(s.proc.Tail(), 15))
	}
	return s.ended()
}

// keeps reports whether snapshots are inside the server.
func (s *Server) keeps() bool { return s.product.Keep != nil && s.space.By() == lab.Plain }

// Restore makes a database, or the whole server, equal to its snapshot and restarts the server on
// the same port. Connections are cut. A stopped server is started.
func (s *Server) Restore(ctx context.Context, name string) error {
	var err error
	if s.keeps() {
		if err = s.wake(ctx); err == nil {
			err = s.product.PutBack(ctx, &s.in, name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
	case s.keeps():
		err = s.stop(ctx)
	default:
		err = s.putBack(ctx)
	}
	if err != nil {
		return fmt.Errorf("restoring database %s: %w", name, err)
	}
	return s.start(ctx)
}

// wake starts a server that was stopped, or that has died by itself. The other processes of a dead
// one notice that within a moment, and keep a new one off until then, because they still use the
// memory that it would have.
func (s *Server) wake(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		select {
		case <-s.proc.Done():
		default:
			return nil
		}
	}
	for until := time.Now().Add(orphanLimit); ; {
		if err := s.stop(ctx); err != nil { // removes the remains of a dead one
			return err
		}
		err := s.start(ctx)
		if !errors.Is(err, errOrphans) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// putBack puts the snapshot in place of the data of a server that it kills.
func (s *Server) putBack(ctx context.Context) error {
	if err := s.space.Open(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(s.snapshot()); err != nil {
		return fmt.Errorf("there is no snapshot of it: %w", err)
	}
	if err := s.kill(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return lab.ReplaceTree(ctx, s.in.DataDir, s.snapshot(), nil)
}

// Load runs a script of SQL in a database with the server's own client, and then collects the
// planner's statistics. The script is streamed. Load ends at the first error, and its error names
// the line of the script; the database is then good for DropDatabase only. The client runs as the
// user of the server: a script may hold commands for it. owners are roles that the script names and
// that are made first.
func (s *Server) Load(ctx context.Context, name string, script io.Reader, owners []string) error {
	s.mu.Lock()
	in := s.in
	s.mu.Unlock()
	spec, err := s.product.Client(ctx, &in, name, owners)
	if err != nil {
		return err
	}
	spec = s.child(spec)
	spec.Stdin, spec.Stdout = script, io.Discard
	if err := lab.Run(ctx, spec); err != nil {
		return err
	}
	if err := s.product.Analyze(ctx, &s.in, name); err != nil {
		return fmt.Errorf("analyzing database %s: %w", name, err)
	}
	return nil
}

// Describe reads the server's description.
func (s *Server) Describe(ctx context.Context) (lab.ProgramInfo, error) {
	d, err := s.product.Describe(ctx, &s.in)
	if err != nil {
		return lab.ProgramInfo{}, fmt.Errorf("describing %s: %w", s.product.Title, err)
	}
	d.Settings[lab.ResetSetting] = s.space.String()
	return d, nil
}
