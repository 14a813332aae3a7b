package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy/dumps"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/target"
)

// A Progress shows people the progress of deployments.
type Progress interface {
	dumps.Progress
	// Say writes a line that stays.
	Say(format string, args ...any)
}

// A Config describes the systems of a plan, and the preparations for their users.
type Config struct {
	Resolver
	Plan *plan.Plan
	Root string // directory of the store: states and made dumps are below it
	Tool string // version of this program, for the manifests of dumps
	// Generator and Targets are the cores of both sides; empty where they are not placed.
	Generator, Targets []int
	Progress           Progress
	// Kept is true where the state directories stay after the command, however it ends, and after
	// every later one.
	Kept bool
	// Pausable is true for systems that are up at once and stand still by turns, as in a duet.
	Pausable bool

	// Admit returns an error if the users have not enough sockets towards an address.
	Admit func(ctx context.Context, url string, mix []engine.Part, users int) error
	// Provision gives the users of a mix their accounts on a server.
	Provision func(ctx context.Context, env workload.Env, mix []engine.Part, users int) error
	// Survey tries the probes of a system that is up, and sets its Device.
	Survey func(ctx context.Context, sys *System) error
}

// Deployments are the systems of a plan. Each is deployed when it is first needed. The caller calls
// Close, and then Clear unless the state of a failed command is to be read.
type Deployments struct {
	Config
	dir     string // of states
	mu      sync.Mutex
	systems map[string]*System
	made    []string // state directories that Clear removes
	ground  *ground
}

// New returns deployments with none up.
func New(conf Config) *Deployments {
	return &Deployments{
		Config:  conf,
		dir:     filepath.Join(conf.Root, "state"),
		systems: map[string]*System{},
		ground:  newGround(),
	}
}

// A Need names the system that a run needs.
type Need struct {
	Arm, Engine string // empty in a plan without arms or databases
	Comparison  string // whose run it is; empty for none
	Block       int    // of the comparison, from 1: it decides where arms exchange their addresses
	Users       int    // the most that the runs on it may need
}

// System returns the system of a request: the system that is already up, or else a new one. A
// configuration that is not the base and cannot be provisioned is returned as a system whose
// Deployment is [Unprovisioned]; each request tries again.
func (f *Deployments) System(ctx context.Context, need Need) (*System, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.Plan
	name := strings.Trim(need.Arm+"-"+need.Engine, "-")
	at := cmp.Or(p.Place(need.Arm, need.Block).Name, need.Arm)
	// Of a plan without arms and databases; a directory below f.dir, which Clear removes.
	key := cmp.Or(name, "target")
	if at != need.Arm { // the arms exchange their addresses
		key += "@" + at
	}
	if sys := f.systems[key]; sys != nil {
		return sys, nil
	}
	mix, err := Mix(f.Dialects, p)
	if err != nil {
		return nil, err
	}
	sys := &System{
		Dir:     filepath.Join(f.dir, key),
		Mix:     mix,
		Probes:  p.ProbesOf(at),
		Metrics: p.MetricsOf(at),
		of:      &f.Resolver,
		plan:    p,
		secrets: f.SecretsOf(p),
	}
	t, how := p.Target, (*plan.Deployment)(nil)
	if p.Compare != nil {
		if a, ok := p.Compare.Arm(need.Arm); ok {
			t, how = p.TargetOf(a, need.Block), a.Deployment
		}
	}
	sys.Ready = t.Ready // with its references
	if t, err = f.Resolve(t, p.Workload); err != nil {
		return nil, err
	}
	provision := func(ctx context.Context, at target.Endpoint) error {
		f.Progress.Doing("provisioning", 0)
		env := sys.envAt(at)
		env.Log = func(format string, args ...any) {
			f.Progress.Step("provisioning", fmt.Sprintf(format, args...), 0)
		}
		return f.Provision(ctx, env, mix, need.Users)
	}
	if err := f.deploy(ctx, sys, need, t, how, provision); err != nil {
		return nil, err
	}
	if _, failed := sys.Deployment.(Unprovisioned); failed {
		return sys, nil
	}
	f.systems[key] = sys // from here on Close stops it
	sys.HideSecrets()
	sys.Installation, err = f.installationOf(sys, t, name, need.Engine, provision)
	if err != nil || sys.Installation != nil {
		return sys, err // each run prepares it
	}
	if err := f.Survey(ctx, sys); err != nil {
		return nil, err
	}
	if t.Driver == plan.External {
		if err := provision(ctx, sys.Deployment); err != nil {
			return nil, fmt.Errorf("provisioning: %w", err)
		}
	}
	return sys, nil
}

// deploy starts the programs of a system, or only looks whether a target of others is there.
func (f *Deployments) deploy(ctx context.Context, sys *System, need Need, t plan.Target,
	how *plan.Deployment, provision func(context.Context, target.Endpoint) error) error {
	spec, err := f.spec(t, need, sys)
	if err != nil {
		return err
	}
	filled, err := f.dataset(ctx, t, need.Engine)
	if err != nil {
		return err
	}
	if filled != nil {
		spec.Dataset = dumps.Text(filled)
	}
	url := cmp.Or(t.URL.First(), "http://127.0.0.1")
	if err := f.Admit(ctx, url, sys.Mix, need.Users); err != nil {
		return err
	}
	sys.Ready = cmp.Or(sys.Ready, spec.Ready)
	if t.Driver != plan.External { // which has no state here
		if err := f.claim(spec.Dir, need.Comparison); err != nil {
			return err
		}
	}
	f.Progress.Doing("deploying", 0)
	sys.box, err = sandbox.New(ctx, sandbox.Config{
		Target:       t,
		Deployment:   how,
		Engine:       need.Engine,
		Index:        len(f.systems),
		Pausable:     f.Pausable,
		BoundsMemory: boundsMemory(f.Plan),
		Generator:    f.Generator,
		Targets:      f.Targets,
	})
	if err != nil {
		return err
	}
	spec.URL = cmp.Or(sys.box.URL(), spec.URL)
	driver := f.driver(t, provision, filled, sys.box, spec.Dir)
	if sys.Deployment, err = driver.Deploy(ctx, spec); err == nil {
		return nil
	}
	err = errors.Join(err, sys.box.Close(context.WithoutCancel(ctx)))
	if errors.Is(err, target.ErrProvision) && ctx.Err() == nil && f.MayFail(need) {
		// Its log is to be read.
		f.made = slices.DeleteFunc(f.made, func(dir string) bool { return dir == spec.Dir })
		spec.Driver = t.Driver
		sys.Deployment = Unprovisioned{Spec: spec, Cause: err}
		return nil
	}
	return err
}

// MayFail reports whether a comparison goes on without the system of a need: its arm is not the
// base. Without the base there is nothing to compare with.
func (f *Deployments) MayFail(need Need) bool {
	c := f.Plan.Compare
	return need.Comparison != "" && c != nil && need.Arm != c.Arms[0].Name
}

// boundsMemory reports whether the deployment of any arm limits memory.
func boundsMemory(p *plan.Plan) bool {
	return p.Compare != nil && slices.ContainsFunc(p.Compare.Arms, func(a plan.Arm) bool {
		return a.Deployment.Limited() && a.Deployment.Memory > 0
	})
}

// Close stops all systems. Errors are shown and fail nothing.
func (f *Deployments) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wg sync.WaitGroup
	for _, sys := range f.systems {
		wg.Go(func() {
			if err := sys.end(); err != nil {
				f.Progress.Say("stopping: %v", err)
			}
		})
	}
	wg.Wait()
	f.systems = map[string]*System{}
}
