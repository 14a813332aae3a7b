package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/script/bundle"
	"plimsoll/load/script/guard"
	"plimsoll/load/workload"
)

// Name is the behavior's name in plans.
const Name = "script"

// A Behavior is the behavior script: see the package comment. Its zero value is ready for Provision.
type Behavior struct {
	mu     sync.Mutex
	play   *play
	series *series // of the run under way
}

// New returns a behavior, for a registry of a dialect.
func New() *Behavior { return &Behavior{} }

// A play is what all users of a script share. It does not change once users are made.
type play struct {
	program *sobek.Program
	opener  func(name string) ([]byte, error)
	names   []string // of variables
	state
	arrays arrays
	limits limits
}

// mostResult is the size of the result of setup, as JSON.
const mostResult = 16 << 20

// Provision implements workload.Behavior: it runs the script's top level and its setup, once.
func (b *Behavior) Provision(ctx context.Context, env workload.Env, _ int) error {
	if b.play != nil {
		return nil
	}
	p, err := newPlay(env.Script)
	if err != nil {
		return err
	}
	if p.Iterations, err = iterations(&env); err != nil {
		return err
	}
	p.Values = valuesOf(p.names, &env)
	if err := p.setup(ctx, env); err != nil {
		return err
	}
	b.play = p
	return nil
}

// Iterations is the setting that says after how many iterations a user has nothing left to do.
const Iterations = "iterations"

// iterations returns that number; 0 for users who go on until the end.
func iterations(env *workload.Env) (n int64, err error) {
	text := env.Variables[Iterations]
	if text == "" {
		return 0, nil
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 1 {
		return 0, fmt.Errorf("workload.params.%s is %s; want a whole number from 1 on", Iterations, text)
	}
	return n, nil
}

// newPlay reads a bundle.
func newPlay(text []byte) (*play, error) {
	if len(text) == 0 {
		return nil, errors.New("behavior script: the plan names no script; write workload: {script: FILE}")
	}
	var b bundle.Bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("script: reading the bundle: %w", err)
	}
	p, err := playOf(&b)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return p, nil
}

// playOf compiles a bundle.
func playOf(b *bundle.Bundle) (*play, error) {
	program, err := b.Program()
	if err != nil {
		return nil, err
	}
	return &play{program: program, opener: b.Open, names: b.Env,
		limits: limits{bounds: guard.For(b.Code)}}, nil
}

// aside returns a realm for the code around a run, whose operations are recorded beside the load.
// Its pauses are not scaled.
func (p *play) aside(ctx context.Context, env workload.Env) (*realm, error) {
	if env.Registry == nil {
		env.Registry = measure.NewRegistry(1)
	}
	env.Clock = clock.New(time.Now())
	u := workload.NewUser(-1, 0, env.Seed, 1, env.Registry.Recorder(0), env.Clock)
	u.Schedule(u.Now())
	r, err := newRealm(ctx, p, &env, u, newSeries(env.Registry, env.Secrets, workload.Setup, nil))
	if err == nil {
		r.watch = r.limits.around
	}
	return r, err
}

// setup runs the script's top level and, if there is one, its setup.
func (p *play) setup(ctx context.Context, env workload.Env) error {
	r, err := p.aside(ctx, env)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	defer r.close()
	p.Actions, p.Has = r.exports.names, r.described()
	if r.exports.setup == nil {
		return nil
	}
	text, err := r.around(ctx, r.exports.setup)
	switch {
	case err != nil:
		return fmt.Errorf("script: setup: %w", err)
	case len(text) > mostResult:
		return fmt.Errorf("script: setup: its result has %d bytes as JSON; want at most %d",
			len(text), mostResult)
	}
	p.Result = json.RawMessage(text)
	return nil
}

// around calls a function of the script with the result of setup, and returns its own as JSON.
func (r *realm) around(ctx context.Context, f sobek.Callable) (text string, err error) {
	err = r.run(frame{ctx: ctx}, func() error {
		v, err := settled(f(sobek.Undefined(), r.setupData()))
		if err == nil {
			text, err = r.encode(v)
		}
		return err
	})
	if errors.Is(err, workload.ErrStop) {
		err = context.Cause(ctx)
	}
	return text, err
}

// Finish implements workload.Finisher: it runs the script's teardown.
func (b *Behavior) Finish(ctx context.Context, env workload.Env) error {
	p := b.play
	if p == nil || !p.Has.Teardown {
		return nil
	}
	r, err := p.aside(ctx, env)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	defer r.close()
	if _, err = r.around(ctx, r.exports.teardown); err != nil {
		return fmt.Errorf("script: teardown: %w", err)
	}
	return nil
}

// run returns the names in the registry of the run under way.
func (b *Behavior) run(env *workload.Env) *series {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.series == nil || b.series.reg != env.Registry {
		b.series = newSeries(env.Registry, env.Secrets, "", b.play.Actions)
	}
	return b.series
}

var errUnready = errors.New("script: Provision has not been called")

// NewActor implements workload.Behavior.
func (b *Behavior) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return b.actor(env, u)
}

// NewServer implements workload.ArrivalBehavior.
func (b *Behavior) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	return b.actor(env, u)
}

func (b *Behavior) actor(env workload.Env, u *workload.User) (*actor, error) {
	p := b.play
	if p == nil {
		return nil, errUnready
	}
	r, err := newRealm(context.Background(), p, &env, u, b.run(&env))
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	actions := make([]workload.TallyAction, len(p.Actions))
	for k, a := range p.Actions {
		actions[k] = workload.TallyAction{Name: a.Name, Weight: a.Weight}
	}
	return &actor{realm: r, counts: env.Tally.Behavior(Name, actions)}, nil
}

// Sockets implements workload.Connected.
func (b *Behavior) Sockets() int {
	if b.play != nil && b.play.Has.Sockets {
		return 2
	}
	return 1
}

// Setup returns the result of the script's setup, as JSON; nil without one. It may hold secrets.
func (b *Behavior) Setup() []byte {
	if b.play == nil {
		return nil
	}
	return b.play.Result
}
