package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// frozen is a target that is frozen while the clock of its load stands still, and a record of the load: when each user
// logged in, began its actions, and took part in a storm.
type frozen struct {
	fake
	clock   *clock.Clock
	refuses int           // logins, at first
	think   time.Duration // on average

	mu      sync.Mutex
	at      map[int][]time.Duration
	inStops atomic.Int64 // actions that began while the clock stood still
	refused int
}

type frozenActor struct {
	f *frozen
	u *workload.User
}

func (f *frozen) StormKinds() []string { return []string{"flood"} }

func (f *frozen) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	if env.Clock != f.clock || u.Clock() != f.clock {
		return nil, errors.New("the behavior has got another clock than the engine")
	}
	return &frozenActor{f, u}, nil
}

func (f *frozen) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	a, err := f.NewActor(env, u)
	if err != nil {
		return nil, err
	}
	return a.(workload.Server), nil
}

// begins records that a user begins something.
func (a *frozenActor) begins() {
	if !a.f.clock.Running() {
		a.f.inStops.Add(1)
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	a.f.at[a.u.ID] = append(a.f.at[a.u.ID], a.u.Now())
}

func (a *frozenActor) Login(context.Context) error {
	a.begins()
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	if a.f.refused < a.f.refuses {
		a.f.refused++
		return errors.New("refused")
	}
	return nil
}

func (a *frozenActor) Think() time.Duration {
	return time.Duration(float64(a.f.think) * (0.5 + a.u.Think.Float64()))
}

func (a *frozenActor) Act(ctx context.Context) error {
	a.begins()
	sent := time.Now()
	if err := a.f.clock.SleepUntil(ctx, a.f.clock.Now()+a.f.service); err != nil {
		return err
	}
	a.u.Done(a.u.Recorder().Name("op"), sent, sent, time.Now(), measure.OK, 0)
	return nil
}

func (a *frozenActor) Serve(ctx context.Context, _ int64) error          { return a.Act(ctx) }
func (a *frozenActor) Storm(ctx context.Context, _ workload.Storm) error { return a.Act(ctx) }
func (a *frozenActor) Close()                                            { a.f.closed.Add(1) }

// turns gives the clock turns of about a length, with stops of about the same, until the function that it returns is
// called. Their lengths are random to the nanosecond, so that hardly any ends with a pause of a user.
func turns(c *clock.Clock, length time.Duration) (end func()) {
	r := rand.New(rand.NewPCG(9, 9))
	over, done := make(chan struct{}), make(chan struct{})
	part := func() <-chan time.Time {
		return time.After(length/2 + time.Duration(r.Int64N(int64(length))))
	}
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-part():
			}
			if n%2 == 0 {
				c.Start()
			} else {
				c.Stop()
			}
		}
	}()
	return func() { close(over); <-done }
}

// load carries out 40 s of load on the clock, with steps of users, a storm and arrivals.
func load(t *testing.T, f *frozen) (acts []workload.Activity, reg *measure.Registry, state *workload.StormState) {
	t.Helper()
	reg = measure.NewRegistry(1)
	l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 3}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: f.clock,
		Arrivals: &Arrivals{Behavior: f, Rate: 7.3, Poisson: true, InFlight: 3, Queue: 10}})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(at time.Duration) {
		if err := f.clock.SleepUntil(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	set := func(n int, over time.Duration) {
		if err := l.SetUsers(n, over); err != nil {
			t.Fatal(err)
		}
	}
	wait(0)
	set(40, 2*time.Second)
	wait(10 * time.Second)
	acts = append(acts, l.Activity())
	set(20, 0)
	wait(15 * time.Second)
	set(60, 3*time.Second)
	wait(25 * time.Second)
	state = l.Storm(workload.Storm{Kind: "flood", Share: 0.5, Over: 4 * time.Second})
	wait(40 * time.Second)
	acts = append(acts, l.Activity())
	l.Stop(time.Minute)
	return acts, reg, state
}

// Users of a clock that is stopped again and again do the same at the same times of it as those of one that runs:
// there is no burst when it goes on, nothing begins while it stands still, and no latency has a stop in it.
func TestStopsLeaveTheLoadAsItIs(t *testing.T) {
	run := func(length time.Duration) (f *frozen, acts []workload.Activity, ops map[string][4]float64) {
		synctest.Test(t, func(t *testing.T) {
			f = &frozen{fake: fake{service: 20 * time.Millisecond}, clock: clock.New(time.Now()), refuses: 3, think: 2 * time.Second, at: map[int][]time.Duration{}}
			if length > 0 {
				f.clock = clock.NewStopped(time.Now())
				defer turns(f.clock, length)()
			}
			var reg *measure.Registry
			var state *workload.StormState
			acts, reg, state = load(t, f)
			ops = map[string][4]float64{}
			for _, w := range reg.Cut() {
				ops[w.Name] = [4]float64{float64(w.Count()), w.Response.Mean().Seconds(), w.Response.Max().Seconds(), w.Lag.Max().Seconds()}
			}
			done, missed, took := state.Progress()
			ops["storm"] = [4]float64{float64(done), float64(missed), took.Seconds()}
		})
		return f, acts, ops
	}
	want, wantActs, wantOps := run(0)
	if n := wantOps["op"]; n[0] < 800 || n[1] > 0.021 {
		t.Fatalf("without stops %v operations of %v s, want many of 20 ms", n[0], n[1])
	}
	for _, length := range []time.Duration{50 * time.Millisecond, time.Second} {
		got, acts, ops := run(length)
		if n := got.inStops.Load(); n > 0 {
			t.Errorf("turns of %v: %d actions began while the clock stood still", length, n)
		}
		for id, at := range want.at {
			// A pause ends at the same time to the nanosecond; a turn of the clock may round one off.
			if !slices.EqualFunc(got.at[id], at, func(a, b time.Duration) bool { return (a - b).Abs() < 10*time.Microsecond }) {
				t.Fatalf("turns of %v: user %d began at\n%v, want\n%v", length, id, got.at[id], at)
			}
		}
		if len(got.at) != len(want.at) {
			t.Errorf("turns of %v: %d users, want %d", length, len(got.at), len(want.at))
		}
		for name, w := range wantOps {
			for i, v := range w {
				if d := ops[name][i] - v; d > 1e-3 || d < -1e-3 {
					t.Errorf("turns of %v: %s has count, mean, maximum and lag %v, want %v", length, name, ops[name], w)
					break
				}
			}
		}
		for i, a := range wantActs {
			g := acts[i]
			if g.Actions != a.Actions || g.Wanted != a.Wanted || g.Served != a.Served || len(g.Begun) != len(a.Begun) || (g.Think-a.Think).Abs() > time.Millisecond ||
				(g.Busy-a.Busy).Abs() > time.Millisecond || (g.Open-a.Open).Abs() > time.Millisecond {
				t.Errorf("turns of %v: activity %+v, want %+v", length, g, a)
			}
		}
	}
}

// An operation that is under way when the clock stops has the latency that passed on the clock.
func TestLatencyWithoutTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: 70 * time.Second} // by real time: it ends a second after the stop
		reg := measure.NewRegistry(1)
		c := clock.NewStopped(time.Now())
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: c})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetUsers(1, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := f.logins.Load(); n != 0 {
			t.Errorf("%d logins before the clock was started", n)
		}
		c.Start()
		for f.ops.Load() == 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		time.Sleep(3 * time.Second)
		c.Stop()
		time.Sleep(time.Minute)
		if d, active, _ := l.Users(); d != 1 || active != 1 {
			t.Errorf("%d of %d users active in a stop", active, d)
		}
		c.Start()
		time.Sleep(20 * time.Second)
		l.Stop(0)
		// It took 70 s, and the stop was a minute of them.
		if op := count(reg, "op"); op.Count() != 1 || op.Response.Max() != 10*time.Second {
			t.Errorf("%d operations of at most %v, want one of 10 s", op.Count(), op.Response.Max())
		}
	})
}

// A user who is woken in a stop for no reason does not begin, even if its time has come.
func TestRingInAStopBeginsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStopped(time.Now())
		f := &fake{service: time.Millisecond}
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: measure.NewRegistry(1), Pace: 1, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: c})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetUsers(1, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		l.users[0].alarm.ring()
		synctest.Wait()
		if n := f.logins.Load(); n != 0 {
			t.Errorf("%d logins in a stop", n)
		}
		c.Start()
		synctest.Wait()
		if n := f.logins.Load(); n != 1 {
			t.Errorf("%d logins with the start, want 1", n)
		}
		l.Stop(time.Second)
	})
}

// An engine whose clock stands still ends at once: users who wait for the clock are woken to go.
func TestEngineStopsInAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStopped(time.Now())
		f := &frozen{fake: fake{service: time.Millisecond}, clock: c, think: time.Second, at: map[int][]time.Duration{}}
		reg := measure.NewRegistry(1)
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: c,
			Arrivals: &Arrivals{Behavior: f, Rate: 10, InFlight: 2}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.SetUsers(20, time.Second); err != nil {
			t.Fatal(err)
		}
		c.Start()
		time.Sleep(10*time.Second + 50*time.Millisecond) // between two arrivals
		c.Stop()
		synctest.Wait()
		if err := l.SetUsers(10, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, active, _ := l.Users(); active != 10 {
			t.Errorf("%d users active after half of them were to go in a stop, want 10", active)
		}
		l.Storm(workload.Storm{Kind: "flood", Share: 1, Over: time.Second})
		began := time.Now()
		l.Stop(time.Minute)
		if _, active, _ := l.Users(); active != 0 || time.Since(began) != 0 {
			t.Errorf("%d users active %v after the stop", active, time.Since(began))
		}
	})
}
