package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab"
)

// Defaults of a Config.
const (
	DefaultDatabase     = "chat"
	DefaultReadyTimeout = 2 * time.Minute
	// of an instance; with the database's, Stop stays within 7 seconds.
	stopTimeout = 3 * time.Second
	maxTries    = 4               // first starts, when other programs take the ports first
	claimWait   = 2 * time.Second // for the lock of a program that has just been killed
	lockFile    = "lock"          // in a state directory
)

// A Command starts one instance.
type Command struct {
	Path string            // program
	Args []string          // without the program's name; expanded; no secrets
	Env  map[string]string // added to the environment of this program; expanded
}

// A Config holds the needs of a kind of server beyond a Spec. The zero value runs Spec.Binary
// without a database.
type Config struct {
	// Name is the driver's name in descriptions; default "process".
	Name string
	// Databases start the engines that a Spec may name.
	Databases map[string]target.StartDatabase
	// Database is the name of the database to create; default DefaultDatabase.
	Database string
	// Companions start the other servers that the program needs, by role. Their state begins empty
	// at each reset: data that Provision leaves in them is gone in a run.
	Companions map[string]target.StartCompanion
	// Replicas is the number of copies of the database, which StartReplica starts.
	Replicas     int
	StartReplica target.StartReplica
	// Proxy starts the proxy before the instances, and users reach them through it alone; nil means
	// that they reach the instances themselves. ProxyHost is the IPv4 address that it listens on,
	// default 127.0.0.1.
	Proxy     target.StartProxy
	ProxyHost string
	// Files are directories below the state directory in which the program keeps what is not in its
	// database, such as uploads. A reset removes what was not in them when the snapshot was taken;
	// it does not undo changes of a file.
	Files []string
	// Filled means that the started engines hold the database already: it is used as it is.
	Filled bool
	// Command returns the command line of an instance; nil means Spec.Binary with Spec.Args.
	// Spec.Env and Spec.Secrets are added to the Command's own environment and win over it.
	Command func(target.Spec, Instance) (Command, error)
	// Provision fills a new deployment, whose instances are ready, before the snapshot is taken;
	// nil means that there is nothing to do.
	Provision func(ctx context.Context, at target.Endpoint) error
	// Version returns the version that the deployment reports, for a Description of a Spec without
	// one; nil leaves it empty.
	Version func(ctx context.Context, at target.Endpoint) (string, error)
	// readyTimeout limits the time until an instance is ready: DefaultReadyTimeout, but for
	// tests.
	readyTimeout time.Duration
	Placed
}

// A Launcher deploys programs. It implements [target.Driver].
type Launcher struct{ conf Config }

// New returns a launcher.
func New(conf Config) *Launcher {
	if conf.Name == "" {
		conf.Name = plan.Process
	}
	if conf.Database == "" {
		conf.Database = DefaultDatabase
	}
	if conf.readyTimeout <= 0 {
		conf.readyTimeout = DefaultReadyTimeout
	}
	if conf.Command == nil {
		conf.Command = func(spec target.Spec, _ Instance) (Command, error) {
			if spec.Binary == "" {
				return Command{}, errors.New("a program is required (binary)")
			}
			return Command{Path: spec.Binary, Args: spec.Args}, nil
		}
	}
	return &Launcher{conf}
}

// A deployment implements target.Deployment.
type deployment struct {
	conf Config
	spec target.Spec
	desc target.Description

	mu        sync.Mutex // held while the fields below change; long, while programs start and stop
	stopped   bool
	paused    bool
	stopper   lab.Stopper // pauses where there is no Freezer
	state     sync.Mutex  // guards the next three against the short readers
	instances []Instance
	front     front
	servers

	lock  *os.File        // marks the state directory as ours; under mu
	files map[string]bool // those of conf.Files at the snapshot; under mu
}

// servers are the programs of a deployment at a moment.
type servers struct {
	procs      []Process
	db         target.Database
	replicas   []target.Replica
	companions map[string]target.Companion
	proxy      target.Companion // nil while it is stopped
}

// running returns the programs that run now, for short readers.
func (d *deployment) running() servers {
	d.state.Lock()
	defer d.state.Unlock()
	return servers{
		slices.Clone(d.procs),
		d.db,
		slices.Clone(d.replicas),
		maps.Clone(d.companions),
		d.proxy,
	}
}

// swap changes a field that short readers see, and returns what it held.
func swap[T any](d *deployment, field *T, to T) (was T) {
	d.state.Lock()
	defer d.state.Unlock()
	was, *field = *field, to
	return was
}

// Deploy implements [target.Driver]; the package comment lists its steps.
func (d *Launcher) Deploy(ctx context.Context, spec target.Spec) (target.Deployment, error) {
	spec.Driver = d.conf.Name
	if spec.Instances == 0 {
		spec.Instances = 1
	}
	dep := &deployment{conf: d.conf, spec: spec}
	if err := dep.check(); err != nil {
		return nil, fmt.Errorf("deploying %s: %w", label(spec), err)
	}
	dep.mu.Lock()
	defer dep.mu.Unlock()
	if err := dep.deploy(ctx); err != nil {
		return nil, errors.Join(
			fmt.Errorf("deploying %s: %w", label(spec), err),
			dep.stop(context.WithoutCancel(ctx)),
		)
	}
	return dep, nil
}

func label(spec target.Spec) string {
	if spec.Name != "" {
		return spec.Name
	}
	return spec.Driver
}

// check refuses an unusable Spec before anything is started.
func (d *deployment) check() error {
	if d.spec.Instances < 0 || d.spec.Instances > 64 {
		return fmt.Errorf("instances: %d; want 1 to 64", d.spec.Instances)
	}
	if d.spec.Dir == "" {
		return errors.New("a state directory is required")
	}
	if _, err := lab.ParseSignal(d.spec.StopSignal); err != nil {
		return fmt.Errorf("stop signal: %w", err)
	}
	if d.spec.CPUs != nil {
		if err := lab.CheckCPUs(d.spec.CPUs); err != nil {
			return err
		}
	}
	if d.spec.Engine != "" && d.conf.Databases[d.spec.Engine] == nil {
		return fmt.Errorf(
			"unknown database engine %q; this driver has %q",
			d.spec.Engine,
			slices.Sorted(maps.Keys(d.conf.Databases)),
		)
	}
	return nil
}

func (d *deployment) journal() string { return filepath.Join(d.spec.Dir, "app.journal") }

func (d *deployment) logFile(instance int) string {
	return filepath.Join(d.spec.Dir, fmt.Sprintf("app-%d.log", instance))
}

func (d *deployment) deploy(ctx context.Context) error {
	dir, err := filepath.Abs(d.spec.Dir)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	d.spec.Dir = dir
	if err := lab.MkdirState(dir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if d.lock, err = Claim(ctx, dir); err != nil {
		return err
	}
	if _, err := lab.Sweep(ctx, d.journal(), stopTimeout); err != nil {
		return err
	}
	if d.spec.Engine != "" {
		if err := d.startDatabase(ctx); err != nil {
			return err
		}
	}
	if err := d.startAnew(ctx); err != nil {
		return err
	}
	if d.conf.Provision != nil {
		if err := d.conf.Provision(ctx, d); err != nil {
			return fmt.Errorf(
				"%w: %w (log of the server: %s)",
				target.ErrProvision,
				err,
				d.logFile(0),
			)
		}
	}
	if d.db != nil {
		if err := d.stopApp(ctx); err != nil {
			return err
		}
		if err := d.db.Snapshot(ctx, d.conf.Database); err != nil {
			return err
		}
	}
	if err := d.noteFiles(); err != nil {
		return err
	}
	if d.db != nil {
		if err := d.followDatabase(ctx); err != nil {
			return err
		}
		if err := d.startAnew(ctx); err != nil {
			return err
		}
	}
	return d.describe(ctx)
}

// Claim makes a deployment's state directory this program's until the file is closed or this
// program ends: the journals only list running programs, and a halted deployment has none. Children
// do not inherit it. A killed program lets its lock go only when the last of its threads has ended,
// a moment after it and its children have vanished from the process table; so Claim waits up to
// claimWait. The error wraps [lab.ErrInUse] if another has the directory.
func Claim(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for limit := time.Now().Add(claimWait); errors.Is(err, syscall.EWOULDBLOCK) && ctx.Err() == nil && time.Now().Before(limit); {
		time.Sleep(claimWait / 100)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf(
				"%w: another program has a deployment in %s, which may be halted; stop that program or choose another directory",
				lab.ErrInUse,
				dir,
			)
		}
		return nil, fmt.Errorf("state directory: locking it: %w", err)
	}
	return f, nil
}

// Claimed reports whether a directory is, or was, the state directory of a deployment.
func Claimed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, lockFile))
	return err == nil
}

func (d *deployment) startDatabase(ctx context.Context) error {
	db, err := d.conf.Databases[d.spec.Engine](
		ctx,
		filepath.Join(d.spec.Dir, d.spec.Engine),
		d.spec.CPUs,
	)
	if err != nil {
		return err
	}
	swap(d, &d.db, db)
	if !d.conf.Filled {
		if err := db.CreateDatabase(ctx, d.conf.Database); err != nil {
			return err
		}
	}
	return d.startReplicas(ctx)
}

// Reset implements [target.Deployment].
func (d *deployment) Reset(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.reset(ctx); err != nil {
		return fmt.Errorf("resetting %s: %w", label(d.spec), err)
	}
	return nil
}

func (d *deployment) reset(ctx context.Context) error {
	if d.stopped {
		return errors.New("it is stopped")
	}
	if err := d.sameProgram(); err != nil {
		return err
	}
	// A replica that runs would have its primary wait for it.
	if err := errors.Join(d.resume(), d.stopApp(ctx), d.stopReplicas(ctx)); err != nil {
		return err
	}
	if d.db != nil {
		if err := d.db.Restore(ctx, d.conf.Database); err != nil {
			return err
		}
	}
	if err := errors.Join(d.dropFiles(), d.followDatabase(ctx)); err != nil {
		return err
	}
	if err := d.renewCompanions(ctx); err != nil {
		return err
	}
	err := d.startApp(ctx)
	// another program's, and no failure of this one
	if busy := (*portError)(nil); err == nil || errors.As(err, &busy) {
		return err
	}
	return fmt.Errorf("%w: %w", target.ErrStart, err)
}

// Stop implements [target.Deployment].
func (d *deployment) Stop(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stop(ctx)
}

func (d *deployment) stop(ctx context.Context) error {
	d.stopped = true
	err := d.halt(ctx)
	if !d.paused {
		d.stopper.Close()
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
		d.lock = nil
	}
	if err != nil {
		return fmt.Errorf("stopping %s: %w", label(d.spec), err)
	}
	return nil
}
