package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

// AdminTimeout bounds one administrative statement.
const AdminTimeout = 20 * time.Minute

const (
	readyTimeout  = 60 * time.Second // includes a recovery after a kill
	stopTimeout   = 3 * time.Second  // a killed server recovers at its next start
	cleanTimeout  = 20 * time.Minute // a clean shutdown, with all that a load left over
	followTimeout = 2 * time.Minute  // until a replica has caught up with its primary
	orphanLimit   = 20 * time.Second // until the other processes of a dead server have ended
	maxTries      = 4                // starts, when other programs take the port first
)

// errOrphans reports that processes of a server that died by itself still use its memory.
var errOrphans = errors.New("processes of the server before are still there")

// A Server is a running private server. Its methods may be called by several goroutines; those that
// stop or restart the server wait for each other.
type Server struct {
	product  Product
	programs Programs
	in       View
	space    *lab.Space // of data and snapshot
	primary  *Server    // of a replica

	mu   sync.Mutex
	proc *lab.Process
}

// Start prepares a server on first use of conf.Dir and starts it. It returns when the server
// answers. When it fails, or ctx ends first, nothing of it runs. A server that an earlier, killed
// program left on the same directory is ended first.
func Start(ctx context.Context, product Product, conf Config) (*Server, error) {
	s := &Server{product: product, in: View{Config: conf, Password: rand.Text()}}
	if err := s.prepare(ctx); err != nil {
		err = fmt.Errorf("preparing %s: %w", product.Title, err)
		return nil, errors.Join(err, s.leave(context.WithoutCancel(ctx)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// prepare finds the programs and makes the data directory.
func (s *Server) prepare(ctx context.Context) (err error) {
	if s.in.Dir == "" {
		return errors.New("a state directory is required")
	}
	if err := lab.MkdirState(s.in.Dir); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	if _, err := lab.Sweep(ctx, s.journal(), stopTimeout); err != nil {
		return err
	}
	s.in.UID, s.in.GID = lab.Unprivileged(s.product.User)
	if s.programs.Path == "" {
		if s.programs, err = s.product.Find(ctx); err != nil {
			return err
		}
	}
	if err := lab.Reachable(s.programs.Dir, s.in.UID); err != nil {
		return err
	}
	if s.in.StateDir, err = lab.PrivateDir(s.in.Dir, s.in.UID); err != nil {
		return err
	}
	s.in.DataDir = filepath.Join(s.in.StateDir, "data")
	if err := s.clear(); err != nil { // of data that are replaced below
		return err
	}
	switch {
	case s.primary != nil: // its data are a copy of the primary's
		return s.occupy(ctx, 0, lab.Plain)
	case s.in.Config.Data != "":
		return s.adopt(ctx)
	}
	if err := s.occupy(ctx, 0, s.in.Reset); err != nil {
		return err
	}
	return s.initialize(ctx)
}

// occupy takes the space of the data, see [lab.NewSpace].
func (s *Server) occupy(ctx context.Context, bytes int64, way lab.Copying) (err error) {
	if s.space, err = lab.NewSpace(ctx, s.in.StateDir, bytes, way); err != nil {
		return err
	}
	s.in.DataDir = filepath.Join(s.space.Dir(), "data")
	return nil
}

func (s *Server) journal() string { return filepath.Join(s.in.Dir, s.product.Kind+".journal") }

func (s *Server) mark() string { return filepath.Join(s.in.StateDir, s.product.Mark) }

func (s *Server) snapshot() string { return filepath.Join(s.space.Dir(), "snapshot") }

// initialize makes the data directory, unless a finished one of the same programs is there.
func (s *Server) initialize(ctx context.Context) error {
	mark := s.mark()
	if done, err := os.ReadFile(mark); err == nil && string(done) == s.programs.Path {
		// A kill in the middle of Restore may have left the data directory out.
		if _, err := os.Stat(s.in.DataDir); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return lab.ReplaceTree(ctx, s.in.DataDir, s.snapshot(), nil)
	}
	// The mark first: an unfinished directory must not be taken for a finished one by the program
	// that made the one before.
	for _, old := range []string{mark, s.in.DataDir, s.snapshot()} {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("removing an unfinished data directory: %w", err)
		}
	}
	if err := lab.MkdirFor(s.in.DataDir, s.in.UID, s.in.GID); err != nil {
		return err
	}
	spec, err := s.product.Init(&s.in)
	if err != nil {
		return err
	}
	if err := lab.Run(ctx, s.child(spec)); err != nil {
		return errors.Join(err, s.clear())
	}
	return os.WriteFile(mark, []byte(s.programs.Path), 0o600)
}

// adopt begins with data that Export made.
func (s *Server) adopt(ctx context.Context) error {
	from := s.in.Config.Data
	if s.product.Fits != nil {
		if err := s.product.Fits(ctx, from); err != nil {
			return err
		}
	}
	mark := s.mark()
	if err := os.RemoveAll(mark); err != nil {
		return fmt.Errorf("removing the data of before: %w", err)
	}
	bytes, err := lab.TreeBytes(from)
	if err != nil {
		return fmt.Errorf("reading the data to begin with: %w", err)
	}
	if err := s.occupy(ctx, max(bytes, 1), s.in.Reset); err != nil {
		return err
	}
	if err := lab.ReplaceTree(ctx, s.in.DataDir, from, s.owner()); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(s.programs.Path), 0o600)
}

func (s *Server) owner() *lab.Owner { return &lab.Owner{UID: s.in.UID, GID: s.in.GID} }

// child completes the command of a program that works on the state.
func (s *Server) child(spec lab.Spec) lab.Spec {
	spec.Journal, spec.Dir = s.journal(), s.in.StateDir
	spec.UID, spec.GID = s.in.UID, s.in.GID
	spec.CPUs = s.in.CPUs
	return spec
}

// start starts the server and waits until it answers. It holds mu.
func (s *Server) start(ctx context.Context) error {
	for try := 1; ; try++ {
		again, err := s.startOnce(ctx)
		if err == nil || !again || try == maxTries {
			return err
		}
		s.in.Port = 0 // another program was faster: take another port
	}
}

// startOnce reports whether a failure is worth another port.
func (s *Server) startOnce(ctx context.Context) (again bool, err error) {
	if err := s.space.Open(ctx); err != nil {
		return false, err
	}
	if s.in.Port == 0 {
		if s.in.Port, err = lab.FreePort(); err != nil {
			return false, err
		}
	}
	if s.in.SocketDir, err = lab.SocketDir(s.in.StateDir, s.in.UID, s.in.GID); err != nil {
		return false, err
	}
	path := filepath.Join(s.in.StateDir, s.product.Kind+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false, fmt.Errorf("opening the server's log: %w", err)
	}
	defer log.Close()
	spec, err := s.product.Serve(&s.in)
	if err != nil {
		return false, err
	}
	spec = s.child(spec)
	spec.NetNS = s.in.NetNS
	spec.Stdout, spec.Stderr = log, log
	spec.StopSignal, spec.StopTimeout = s.product.Stop, stopTimeout
	spec.Quit = s.product.Quit
	if s.proc, err = lab.Start(ctx, spec); err != nil {
		s.proc = nil
		return false, err
	}
	return s.await(ctx)
}

// await waits until the server that was started answers.
func (s *Server) await(ctx context.Context) (again bool, err error) {
	p, name := s.proc, s.programs.Name
	late := fmt.Errorf("no answer within %v", readyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, late)
	defer cancel()
	for {
		err := s.product.Arm(ctx, &s.in)
		if err == nil {
			return false, nil
		}
		select {
		case <-p.Done():
			tail := p.Tail()
			err := fmt.Errorf("%s ended while it started: %w%w", name, p.Err(), LastLines(tail, 15))
			if o := s.product.Orphans; o != "" && strings.Contains(tail, o) {
				err = fmt.Errorf("%w: %w", errOrphans, err)
			}
			return strings.Contains(tail, "Address already in use"), err
		case <-ctx.Done():
			err := fmt.Errorf("waiting for %s: %w (last: %w)", name, context.Cause(ctx), err)
			return false, errors.Join(err, p.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// DSN returns the address of a database of this server, password included, with the scheme of its
// protocol.
func (s *Server) DSN(db string) string { return s.product.DSN(&s.in, db) }

// PIDs returns the process id of the server's first process, the parent of all others; empty while
// it is stopped.
func (s *Server) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	return s.proc.PIDs()
}

// Watched returns the server that runs now for a [lab.Crashes]; it has no PID while the server is
// stopped.
func (s *Server) Watched() lab.Watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	var w lab.Watched
	if s.proc != nil {
		w = s.proc.Watched()
	}
	w.Kind = s.product.Kind
	return w
}

// Done returns a channel that is closed when the server process that runs now has ended.
func (s *Server) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return s.proc.Done()
}

// Stop stops the server, within 4 seconds, and at once when ctx has ended. The state stays on disk.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	if s.proc == nil {
		return s.leave(ctx)
	}
	if err := s.proc.Stop(ctx); err != nil {
		return fmt.Errorf("stopping %s: %w", s.programs.Name, err)
	}
	return errors.Join(s.ended(), s.leave(ctx))
}

// kill ends a server whose data is thrown away in the next moment.
func (s *Server) kill() error {
	if s.proc == nil {
		return nil
	}
	if err := s.proc.Kill(); err != nil {
		return err
	}
	return s.ended()
}

// ended removes the remains of a server that has ended.
func (s *Server) ended() error {
	s.proc = nil
	if err := os.RemoveAll(s.in.SocketDir); err != nil {
		return fmt.Errorf("removing the socket: %w", err)
	}
	return s.clear()
}

func (s *Server) clear() error {
	if s.product.Clear == nil {
		return nil
	}
	return s.product.Clear(s.in.DataDir)
}

// leave lets go of the data of a server that has ended; its next start takes it back.
func (s *Server) leave(ctx context.Context) error {
	if s.space == nil {
		return nil
	}
	return s.space.Close(ctx)
}

// FindClient finds a client program by one of its names: beside the server's, else in PATH.
func FindClient(dir, family string, names ...string) (string, error) {
	for _, name := range names {
		if path := filepath.Join(dir, name); lab.IsFile(path) {
			return path, nil
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s is installed; install the package %s-client", names[0], family)
}

// LastLines returns the last n lines of a program's output, for an error.
func LastLines(output string, n int) error {
	return plain.Output(lab.LastLines(output, n))
}
