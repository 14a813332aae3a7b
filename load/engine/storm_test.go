package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/workload"
)

// stormed are the parts in storms, in their order.
type stormed struct {
	calls []workload.Storm
	who   []int
	when  []time.Duration
}

// storms starts 40 users, whose storms take a second or fail with err, among 40 others.
func storms(t *testing.T, service time.Duration, err error) (*Local, *stormed) {
	t.Helper()
	var f stormed
	s := &stub{service: service}
	s.storm = func(ctx context.Context, a *stubActor, of workload.Storm) error {
		s.mu.Lock()
		f.calls = append(f.calls, of)
		f.who = append(f.who, a.u.ID)
		f.when = append(f.when, a.u.Now())
		s.mu.Unlock()
		if err != nil {
			return err
		}
		return a.op(ctx, of.Series("wave"), time.Now().Add(time.Second))
	}
	others := &stub{service: 10 * time.Millisecond}
	l := begin(t, nil, Config{Mix: []Part{
		{Behavior: others, Share: 0.5}, {Behavior: s, Share: 0.5},
	}})
	set(t, l, 80, time.Second)
	time.Sleep(20 * time.Second)
	return l, &f
}

// quick is the service time of users who are hardly ever in an action.
const quick = 10 * time.Millisecond

func TestStormInterruptsThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := storms(t, quick, nil)
		cut(l)
		began := time.Since(l.cfg.Clock.Epoch())
		st := l.Storm(workload.Storm{Kind: "flood", Share: 0.25, Over: 2 * time.Second})
		time.Sleep(4 * time.Second)
		synctest.Wait()
		done, missed, took := st.Progress()
		if st.Affected != 10 || done != 10 || missed != 0 || took < 2*time.Second ||
			took > 3*time.Second {
			t.Errorf("%d affected, %d done, %d missed, in %v", st.Affected, done, missed, took)
		}
		for i, at := range f.when {
			// Think time is 5 s: a user that waits for its end is seconds late; one in an action,
			// 10 ms.
			if d := at - began - 200*time.Millisecond*time.Duration(i); d < 0 ||
				d > 10*time.Millisecond {
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
		ws := cut(l)
		wave := ws["storm_flood_wave"]
		op := ws["op"]
		lag := ws[workload.Schedule]
		if wave == nil || wave.Lag.Count() != 10 || wave.Response.Max() != time.Second {
			t.Fatalf("the storm's series: %+v", wave)
		}
		if lag.Lag.Max() != 0 || lag.Lag.Count() != op.Count()+10 {
			t.Errorf(
				"lag up to %v in %d of %d actions and 10 parts; virtual time is never late",
				lag.Lag.Max(),
				lag.Lag.Count(),
				op.Count(),
			)
		}
	})
}

// A user that is busy when its part is due was not free: it begins when it is, and no action was
// late.
func TestStormWaitsForTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := storms(t, 20*time.Second, nil)
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
		if late := cut(l)[workload.Schedule].Lag.Max(); late != 0 {
			t.Errorf("lag up to %v", late)
		}
	})
}

// A user acts as it would without the storm; only the pause that it interrupts may grow.
func TestStormTakesNothingFromTheUsersChance(t *testing.T) {
	run := func(t *testing.T, storm bool) (think uint64) {
		synctest.Test(t, func(t *testing.T) {
			l, f := storms(t, quick, nil)
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
			l, f := storms(t, quick, nil)
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
		l, _ := storms(t, quick, nil)
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
	for _, tt := range []struct {
		err            error
		failed, active int
	}{
		{errors.New("broken"), 20, 60},
		{workload.ErrNotBack, 0, 80}, // the server fails, and the users go on
	} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := storms(t, quick, tt.err)
			st := l.Storm(workload.Storm{Kind: "flood", Share: 0.5})
			time.Sleep(time.Second)
			done, missed, _ := st.Progress()
			if _, active, failed := l.Users(); done != 0 || missed != 20 || failed != tt.failed ||
				active != tt.active {
				t.Errorf("%v: done %d missed %d failed %d active %d", tt.err, done, missed, failed,
					active)
			}
			l.Stop(time.Second)
		})
	}
}

// A storm is not a burst of actions: not when it happens, and not a minute later, when the bins
// come round.
func TestStormIsNoBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := storms(t, quick, nil)
		l.Activity()
		// 40 parts of a second each, all at once
		st := l.Storm(workload.Storm{Kind: "flood", Share: 1})
		for i := range 140 {
			// parts end after the bin of their beginning was handed out
			time.Sleep(500 * time.Millisecond)
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
