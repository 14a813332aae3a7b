package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/workload"
)

// logged returns a behavior whose users note when they log in, begin an action and take part in a
// storm, by user, and how many of these begin while the clock stands still. Its pauses are think on
// average.
func logged(service, think time.Duration) (
	s *stub, at map[int][]time.Duration, inStops *atomic.Int64,
) {
	at, inStops = map[int][]time.Duration{}, new(atomic.Int64)
	s = &stub{service: service}
	s.pause = func(a *stubActor) time.Duration {
		return time.Duration(float64(think) * (0.5 + a.u.Think.Float64()))
	}
	s.storm = func(ctx context.Context, a *stubActor, _ workload.Storm) error { return a.act(ctx) }
	s.at = func(a *stubActor, where string) {
		switch where {
		case "login", "act", "serve", "storm":
		default:
			return
		}
		if !a.u.Clock().Running() {
			inStops.Add(1)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		at[a.u.ID] = append(at[a.u.ID], a.u.Now())
	}
	return s, at, inStops
}

// turns gives the clock turns of about a length, with stops of about the same, until the function
// that it returns is called. Their lengths are random to the nanosecond, so that hardly any ends
// with a pause of a user.
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

// load carries out 40 s of load on a clock, with steps of users, a storm and arrivals.
func load(t *testing.T, s *stub, c *clock.Clock) (
	acts []workload.Activity, l *Local, state *workload.StormState,
) {
	t.Helper()
	l = begin(t, s, Config{Env: workload.Env{Seed: 3}, Clock: c,
		Arrivals: &Arrivals{Behavior: s, Rate: 7.3, Poisson: true, InFlight: 3, Queue: 10}})
	wait := func(at time.Duration) {
		if err := c.SleepUntil(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	wait(0)
	set(t, l, 40, 2*time.Second)
	wait(10 * time.Second)
	acts = append(acts, l.Activity())
	set(t, l, 20, 0)
	wait(15 * time.Second)
	set(t, l, 60, 3*time.Second)
	wait(25 * time.Second)
	state = l.Storm(workload.Storm{Kind: "flood", Share: 0.5, Over: 4 * time.Second})
	wait(40 * time.Second)
	acts = append(acts, l.Activity())
	l.Stop(time.Minute)
	return acts, l, state
}

// Users of a clock that is stopped again and again do the same at the same times of it as those of
// one that runs: there is no burst when it goes on, nothing begins while it stands still, and no
// latency has a stop in it.
func TestStopsLeaveTheLoadAsItIs(t *testing.T) {
	run := func(length time.Duration) (begun map[int][]time.Duration, acts []workload.Activity,
		ops map[string][4]float64) {
		synctest.Test(t, func(t *testing.T) {
			s, at, inStops := logged(20*time.Millisecond, 2*time.Second)
			s.refuses, begun = 3, at
			c := clock.New(time.Now())
			if length > 0 {
				c = clock.NewStopped(time.Now())
				defer turns(c, length)()
			}
			var l *Local
			var state *workload.StormState
			acts, l, state = load(t, s, c)
			ops = map[string][4]float64{}
			for name, w := range cut(l) {
				ops[name] = [4]float64{float64(w.Count()), w.Response.Mean().Seconds(),
					w.Response.Max().Seconds(), w.Lag.Max().Seconds()}
			}
			done, missed, took := state.Progress()
			ops["storm"] = [4]float64{float64(done), float64(missed), took.Seconds()}
			if n := inStops.Load(); n > 0 {
				t.Errorf("turns of %v: %d actions began while the clock stood still", length, n)
			}
		})
		return begun, acts, ops
	}
	want, wantActs, wantOps := run(0)
	if n := wantOps["op"]; n[0] < 800 || n[1] > 0.021 {
		t.Fatalf("without stops %v operations of %v s, want many of 20 ms", n[0], n[1])
	}
	for _, length := range []time.Duration{50 * time.Millisecond, time.Second} {
		got, acts, ops := run(length)
		for id, at := range want {
			// A pause ends at the same time to the nanosecond; a turn of the clock may round one
			// off.
			near := func(a, b time.Duration) bool { return (a - b).Abs() < 10*time.Microsecond }
			if !slices.EqualFunc(got[id], at, near) {
				t.Fatalf("turns of %v: user %d began at\n%v, want\n%v", length, id, got[id], at)
			}
		}
		if len(got) != len(want) {
			t.Errorf("turns of %v: %d users, want %d", length, len(got), len(want))
		}
		for name, w := range wantOps {
			for i, v := range w {
				if d := ops[name][i] - v; d > 1e-3 || d < -1e-3 {
					t.Errorf(
						"turns of %v: %s has count, mean, maximum and lag %v, want %v",
						length,
						name,
						ops[name],
						w,
					)
					break
				}
			}
		}
		for i, a := range wantActs {
			g := acts[i]
			if g.Actions != a.Actions || g.Wanted != a.Wanted || g.Served != a.Served || len(g.Begun) != len(a.Begun) || (g.Think-a.Think).Abs() > time.Millisecond ||
				(g.Busy-a.Busy).Abs() > time.Millisecond ||
				(g.Open-a.Open).Abs() > time.Millisecond {
				t.Errorf("turns of %v: activity %+v, want %+v", length, g, a)
			}
		}
	}
}

// An operation that is under way when the clock stops has the latency that passed on the clock, and
// none begins before the clock does.
func TestLatencyWithoutTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{service: 10 * time.Second}
		c := clock.NewStopped(time.Now())
		l := begin(t, s, Config{Clock: c})
		set(t, l, 1, 0)
		synctest.Wait()
		l.users[0].alarm.ring() // for no reason
		time.Sleep(time.Hour)
		if n := s.logins.Load(); n != 0 {
			t.Errorf("%d logins before the clock was started", n)
		}
		c.Start()
		synctest.Wait()
		if n := s.logins.Load(); n != 1 {
			t.Errorf("%d logins with the start, want 1", n)
		}
		for s.ops.Load() == 0 {
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
		time.Sleep(10 * time.Second)
		l.Stop(0)
		// It took 70 s, and the stop was a minute of them.
		if op := cut(l)["op"]; op.Count() != 1 || op.Response.Max() != 10*time.Second {
			t.Errorf("%d operations of at most %v, want one of 10 s", op.Count(), op.Response.Max())
		}
	})
}

// An engine whose clock stands still ends at once: users who wait for the clock are woken to go.
func TestEngineStopsInAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewStopped(time.Now())
		s := &stub{service: time.Millisecond, pause: steady(time.Second), storm: quiet}
		l := begin(t, s, Config{Clock: c, Arrivals: &Arrivals{Behavior: s, Rate: 10, InFlight: 2}})
		set(t, l, 20, time.Second)
		c.Start()
		time.Sleep(10*time.Second + 50*time.Millisecond) // between two arrivals
		c.Stop()
		synctest.Wait()
		set(t, l, 10, 0)
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
