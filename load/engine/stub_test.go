package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A stub is a behavior without a server. Its users log in at once, pause 5 s, and act for service,
// which is an operation "op". While the clock stands still, so do the operations.
type stub struct {
	service time.Duration
	ends    func(sent time.Time) time.Time // when an action ends, in place of service
	// after an action, in which the generator reads the answer
	reads   time.Duration
	pause   func(*stubActor) time.Duration
	refuses int64         // logins, at first
	enters  time.Duration // a login is an operation "login" of so long; 0 for none
	at      func(a *stubActor, where string)
	storm   func(context.Context, *stubActor, workload.Storm) error

	mu                        sync.Mutex
	logins, ops, made, closed atomic.Int64
}

// A stubActor is one of its users. Where it goes, as stub.at sees it: made, server (an actor of
// arrivals is made), login, think, act, serve, storm, close.
type stubActor struct {
	s      *stub
	u      *workload.User
	server string
	acts   int
	served int64 // the arrival
}

var errRefused = errors.New("refused")

func (s *stub) Provision(context.Context, workload.Env, int) error { return nil }

func (s *stub) StormKinds() []string {
	if s.storm == nil {
		return nil
	}
	return []string{"flood"}
}

func (s *stub) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return s.actor(env, u, "made"), nil
}

func (s *stub) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	return s.actor(env, u, "server"), nil
}

func (s *stub) actor(env workload.Env, u *workload.User, where string) *stubActor {
	if env.Clock != u.Clock() {
		panic("the behavior has another clock than the engine")
	}
	a := &stubActor{s: s, u: u, server: env.URL}
	a.is(where)
	s.made.Add(1)
	return a
}

func (a *stubActor) is(where string) {
	if a.s.at != nil {
		a.s.at(a, where)
	}
}

// op makes an operation that ends at an instant, or when ctx does.
func (a *stubActor) op(ctx context.Context, name string, ends time.Time) error {
	sent := time.Now()
	if err := a.u.Clock().SleepUntil(ctx, a.u.Now()+ends.Sub(sent)); err != nil {
		return err
	}
	a.u.Done(a.u.Recorder().Name(name), sent, sent, time.Now(), measure.OK, 0)
	return nil
}

func (a *stubActor) Login(ctx context.Context) error {
	a.is("login")
	if a.s.logins.Add(1) <= a.s.refuses {
		return errRefused
	}
	if a.s.enters > 0 {
		return a.op(ctx, "login", time.Now().Add(a.s.enters))
	}
	return nil
}

func (a *stubActor) Think() time.Duration {
	a.is("think")
	if a.s.pause != nil {
		return a.s.pause(a)
	}
	return 5 * time.Second
}

func (a *stubActor) act(ctx context.Context) error {
	a.s.ops.Add(1)
	ends := time.Now().Add(a.s.service)
	if a.s.ends != nil {
		ends = a.s.ends(time.Now())
	}
	err := a.op(ctx, "op", ends)
	time.Sleep(a.s.reads)
	return err
}

func (a *stubActor) Act(ctx context.Context) error {
	a.acts++
	a.is("act")
	return a.act(ctx)
}

func (a *stubActor) Serve(ctx context.Context, k int64) error {
	a.served = k
	a.is("serve")
	return a.act(ctx)
}

func (a *stubActor) Storm(ctx context.Context, s workload.Storm) error {
	a.is("storm")
	return a.s.storm(ctx, a, s)
}

func (a *stubActor) Close() {
	a.is("close")
	a.s.closed.Add(1)
}

// quiet is a part in a storm in which nothing is done.
func quiet(context.Context, *stubActor, workload.Storm) error { return nil }

// steady is a pause that is always as long.
func steady(d time.Duration) func(*stubActor) time.Duration {
	return func(*stubActor) time.Duration { return d }
}

// begin returns an engine of a behavior alone, unless cfg has a mix, with a registry, a pace and a
// clock that runs unless cfg has them.
func begin(t *testing.T, b workload.Behavior, cfg Config) *Local {
	t.Helper()
	if cfg.Env.Registry == nil {
		cfg.Env.Registry = measure.NewRegistry(2)
	}
	if cfg.Env.Pace == 0 {
		cfg.Env.Pace = 1
	}
	cfg.Env.Seed = max(cfg.Env.Seed, 1)
	if cfg.Mix == nil {
		cfg.Mix = []Part{{Behavior: b, Share: 1}}
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.New(time.Now())
	}
	l, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func set(t *testing.T, l *Local, n int, over time.Duration) {
	t.Helper()
	if err := l.SetUsers(n, over); err != nil {
		t.Fatal(err)
	}
}

// cut returns the windows by name; those of "op", the schedule and arrivals are there also when
// they saw nothing.
func cut(l *Local) map[string]*measure.Window {
	ws := map[string]*measure.Window{}
	for _, name := range []string{"op", workload.Schedule, workload.Arrival} {
		ws[name] = measure.NewWindow(name)
	}
	for _, w := range l.cfg.Env.Registry.Cut() {
		ws[w.Name] = w
	}
	return ws
}
