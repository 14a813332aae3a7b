package database

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"plimsoll/target/lab"
)

// errTurnedBack reports that a restored primary is at an earlier place of its log than a replica.
var errTurnedBack = errors.New("the primary has turned back to its snapshot")

// errRemoved reports that the primary has no longer the log that the replica lacks.
var errRemoved = errors.New("the primary has removed the log that the replica lacks")

// A Replica is a running server that repeats the changes of another one and answers reads. Its
// methods may be called by several goroutines.
type Replica struct{ *Server }

// StartReplica makes a copy of the server in conf.Dir, starts it, and returns when it has all that
// the server has. The server must have the settings for replicas of its product; for the copy it
// may be restarted on its port, so its connections are cut. index, from 0, distinguishes its
// replicas.
func (s *Server) StartReplica(ctx context.Context, conf Config, index int) (*Replica, error) {
	title := s.product.Replica
	own, err := s.product.ReplicaSettings(index)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", title, err)
	}
	settings := map[string]string{}
	maps.Copy(settings, conf.Settings)
	maps.Copy(settings, own)
	conf.Settings = settings
	r := &Server{product: s.product, programs: s.programs, primary: s}
	r.in = View{Config: conf, Password: s.in.Password, Primary: &s.in, Index: index}
	if err := r.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", title, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.anew(ctx); err != nil {
		err = fmt.Errorf("starting %s: %w", title, err)
		return nil, errors.Join(err, r.stop(context.WithoutCancel(ctx)))
	}
	return &Replica{r}, nil
}

// Follow makes the replica equal to its primary, which has just been restored, and returns when it
// has all that the primary has. A snapshot that the primary keeps inside is restored by its log,
// which the replica repeats, and the replica is restarted. Else, or if it cannot catch up, it
// begins with a new copy.
func (r *Replica) Follow(ctx context.Context) error {
	s := r.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errTurnedBack
	if s.primary.keeps() {
		if err = s.stop(ctx); err == nil {
			err = s.start(ctx)
		}
		if err == nil {
			err = s.caughtUp(ctx)
		}
	}
	if err != nil && ctx.Err() == nil {
		if err = s.kill(); err == nil {
			err = s.anew(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.product.Replica, err)
	}
	return nil
}

// anew starts a stopped replica on a copy of the primary's data. It holds mu.
func (s *Server) anew(ctx context.Context) error {
	if err := s.copyPrimary(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.caughtUp(ctx)
}

// copyPrimary copies the primary's snapshot, or shuts the primary down, copies its data and starts
// it again.
func (s *Server) copyPrimary(ctx context.Context) error {
	p := s.primary
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := os.Stat(p.snapshot()); err == nil {
		return lab.ReplaceTree(ctx, s.in.DataDir, p.snapshot(), s.owner())
	}
	if err := p.stopCleanly(ctx); err != nil {
		return fmt.Errorf("copying the data: %w", err)
	}
	err := lab.ReplaceTree(ctx, s.in.DataDir, p.in.DataDir, s.owner())
	return errors.Join(err, p.start(ctx))
}

// caughtUp waits until the replica has all that the primary has now.
func (s *Server) caughtUp(ctx context.Context) error {
	end, err := s.product.Position(ctx, s.in.Primary)
	if err != nil {
		return fmt.Errorf("asking the primary how far it is: %w", err)
	}
	late := fmt.Errorf("it has not caught up within %v", followTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, followTimeout, late)
	defer cancel()
	for {
		there, err := s.product.Reached(ctx, &s.in, end)
		if err != nil || there {
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
}
