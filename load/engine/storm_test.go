package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// stormy is a behavior whose storms take a second.
type stormy struct {
	fake
	calls []workload.Storm
	who   []int
	when  []time.Duration
	err   error
}

type stormyActor struct {
	fakeActor
	f *stormy
}

func (f *stormy) StormKinds() []string { return []string{"flood"} }
func (f *stormy) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &stormyActor{fakeActor{&f.fake, u, env.Registry.Name("op")}, f}, nil
}
func (a *stormyActor) Storm(ctx context.Context, s workload.Storm) error {
	a.f.mu.Lock()
	a.f.calls, a.f.who, a.f.when = append(a.f.calls, s), append(a.f.who, a.u.ID), append(a.f.when, a.u.Now())
	a.f.mu.Unlock()
	if a.f.err != nil {
		return a.f.err
	}
	sent := time.Now()
	if err := workload.SleepUntil(ctx, sent.Add(time.Second)); err != nil {
		return err
	}
	a.u.Done(a.u.Recorder().Name(s.Series("wave")), sent, sent, time.Now(), measure.OK, 0)
	return nil
}

// storms starts 40 users of the stormy behavior among 40 others.
func storms(t *testing.T, f *stormy) (*Local, *measure.Registry) {
	t.Helper()
	reg := measure.NewRegistry(2)
	l, err := New(t.Context(), Config{
		Env:   workload.Env{Registry: reg, Pace: 1, Seed: 1},
		Mix:   []Part{{Behavior: &fake{service: 10 * time.Millisecond}, Share: 0.5}, {Behavior: f, Share: 0.5}},
		Clock: clock.New(time.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetUsers(80, time.Second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Second)
	return l, reg
}

func TestStormInterruptsThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &stormy{fake: fake{service: 10 * time.Millisecond}}
		l, reg := storms(t, f)
		reg.Cut()
		began := time.Since(l.cfg.Clock.Epoch())
		st := l.Storm(workload.Storm{Kind: "flood", Share: 0.25, Over: 2 * time.Second})
		time.Sleep(4 * time.Second)
		synctest.Wait()
		done, missed, took := st.Progress()
		if st.Affected != 10 || done != 10 || missed != 0 || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("%d affected, %d done, %d missed, in %v", st.Affected, done, missed, took)
		}
		for i, at := range f.when {
			// Think time is 5 s: a user that waits for its end is seconds late; one in an action, 10 ms.
			if d := at - began - 200*time.Millisecond*time.Duration(i); d < 0 || d > 10*time.Millisecond {
				t.Errorf("user %d began %v late", f.who[i], d)
			}
			if s := f.calls[i]; s.Number != i || s.Of != 10 {
				t.Errorf("number %d of %d", s.Number, s.Of)
			}
			if class := l.users[f.who[i]].user.Class; class != 1 {
				t.Errorf("user %d does not know the storm", f.who[i])
			}
		}
		time.Sleep(20 * time.Second)
		l.Stop(time.Second)
		var wave, op, lag *measure.Window
		for _, w := range reg.Cut() {
			switch w.Name {
			case "storm_flood_wave":
				wave = w
			case "op":
				op = w
			case workload.Schedule:
				lag = w
			}
		}
		if wave == nil || wave.Lag.Count() != 10 || wave.Response.Max() != time.Second {
			t.Fatalf("the storm's series: %+v", wave)
		}
		if lag.Lag.Max() != 0 || lag.Lag.Count() != op.Count()+10 {
			t.Errorf("lag up to %v in %d of %d actions and 10 parts; virtual time is never late", lag.Lag.Max(), lag.Lag.Count(), op.Count())
		}
	})
}

// A user that is busy when its part is due was not free: it begins when it is, and no action was
// late.
func TestStormWaitsForTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &stormy{fake: fake{service: 20 * time.Second}}
		l, reg := storms(t, f)
		l.Storm(workload.Storm{Kind: "flood", Share: 1})
		time.Sleep(time.Minute)
		l.Stop(time.Minute)
		late := 0
		for _, at := range f.when {
			if at > 21*time.Second {
				late++
			}
		}
		if len(f.when) != 40 || late < 20 {
			t.Errorf("%d took part, %d after an action", len(f.when), late)
		}
		for _, w := range reg.Cut() {
			if w.Name == workload.Schedule && w.Lag.Max() != 0 {
				t.Errorf("lag up to %v", w.Lag.Max())
			}
		}
	})
}

// A user acts as it would without the storm; only the pause that it interrupts may grow.
func TestStormTakesNothingFromTheUsersChance(t *testing.T) {
	run := func(t *testing.T, storm bool) (think uint64) {
		synctest.Test(t, func(t *testing.T) {
			f := &stormy{fake: fake{service: 10 * time.Millisecond}}
			l, _ := storms(t, f)
			if storm {
				l.Storm(workload.Storm{Kind: "flood", Share: 1})
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if len(f.calls) != 40 {
					t.Errorf("%d took part", len(f.calls))
				}
			}
			l.Stop(time.Second)
			think = l.users[1].user.Think.Uint64()
		})
		return think
	}
	if run(t, true) != run(t, false) {
		t.Error("a storm drew from a user's stream")
	}
}

func TestStormChoosesTheSameUsers(t *testing.T) {
	var first []int
	for round := range 3 {
		synctest.Test(t, func(t *testing.T) {
			f := &stormy{fake: fake{service: 10 * time.Millisecond}}
			l, _ := storms(t, f)
			l.Storm(workload.Storm{Kind: "flood", Index: round / 2, Share: 0.2, Over: time.Second})
			time.Sleep(3 * time.Second)
			l.Stop(time.Second)
			switch {
			case round == 0:
				first = f.who
			case slices.Equal(first, f.who) != (round == 1):
				t.Errorf("round %d: %v, first %v", round, f.who, first)
			}
		})
	}
}

func TestStormThatIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &stormy{fake: fake{service: 10 * time.Millisecond}}
		l, _ := storms(t, f)
		if st := l.Storm(workload.Storm{Kind: "unknown", Share: 1}); st.Affected != 0 {
			t.Errorf("%d users know an unknown storm", st.Affected)
		}
		if st := l.Storm(workload.Storm{Kind: "flood"}); st.Affected != 1 {
			t.Errorf("%d users for a storm of one", st.Affected)
		}
		time.Sleep(2 * time.Second)
		st := l.Storm(workload.Storm{Kind: "flood", Share: 1, Over: time.Minute})
		time.Sleep(10 * time.Second)
		from := time.Now()
		l.Stop(time.Hour)
		if d := time.Since(from); d > 2*time.Second {
			t.Errorf("a storm held the stop for %v", d)
		}
		if done, missed, _ := st.Progress(); done+missed != 40 || done < 6 || done > 8 {
			t.Errorf("%d done, %d missed", done, missed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &stormy{fake: fake{service: 10 * time.Millisecond}, err: errors.New("broken")}
		l, _ := storms(t, f)
		st := l.Storm(workload.Storm{Kind: "flood", Share: 0.5})
		time.Sleep(time.Second)
		done, missed, _ := st.Progress()
		if _, active, failed := l.Users(); done != 0 || missed != 20 || failed != 20 || active != 60 {
			t.Errorf("done %d missed %d failed %d active %d", done, missed, failed, active)
		}
		l.Stop(time.Second)
	})
	synctest.Test(t, func(t *testing.T) { // the server fails, and the users go on
		f := &stormy{fake: fake{service: 10 * time.Millisecond}, err: workload.ErrNotBack}
		l, _ := storms(t, f)
		st := l.Storm(workload.Storm{Kind: "flood", Share: 0.5})
		time.Sleep(time.Second)
		done, missed, _ := st.Progress()
		if _, active, failed := l.Users(); done != 0 || missed != 20 || failed != 0 || active != 80 {
			t.Errorf("server fails: done %d missed %d failed %d active %d", done, missed, failed, active)
		}
		l.Stop(time.Second)
	})
}

// A storm is not a burst of actions: not when it happens, and not a minute later, when the bins come
// round.
func TestStormIsNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &stormy{fake: fake{service: 10 * time.Millisecond}}
		l, _ := storms(t, f)
		l.Activity()
		st := l.Storm(workload.Storm{Kind: "flood", Share: 1}) // 40 parts of a second each, all at once
		for i := range 140 {
			time.Sleep(500 * time.Millisecond) // parts end after the bin of their beginning was handed out
			synctest.Wait()
			for _, n := range l.Activity().Begun {
				if n > 25 {
					t.Errorf("look %d: %d actions began in 100 ms", i, n)
				}
			}
		}
		if done, _, _ := st.Progress(); done != 40 {
			t.Errorf("%d took part", done)
		}
		l.Stop(time.Second)
	})
}
