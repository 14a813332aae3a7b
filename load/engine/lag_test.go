package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// slowly runs one user, or arrivals, for 10 s.
func slowly(t *testing.T, s *stub, a *Arrivals) (
	op, schedule *measure.Window, act workload.Activity,
) {
	t.Helper()
	l := begin(t, s, Config{Arrivals: a})
	if a == nil {
		set(t, l, 1, 0)
	}
	time.Sleep(10 * time.Second)
	act = l.Activity()
	l.Stop(time.Minute)
	ws := cut(l)
	return ws["op"], ws[workload.Schedule], act
}

// A user who does not pause does its next action when the answer is there. That the generator reads
// it 20 ms later is lag.
func TestThePauseBeginsWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, schedule, _ := slowly(t, &stub{service: 10 * time.Millisecond,
			reads: 20 * time.Millisecond, pause: steady(0)}, nil)
		if n := op.Count(); n < 300 || op.Response.Max() != 10*time.Millisecond ||
			op.Wait.Count() != 0 {
			t.Errorf(
				"%d ops, response %v, %d waits; want more than 300 of 10ms that waited for nothing",
				n,
				op.Response.Max(),
				op.Wait.Count(),
			)
		}
		if op.Lag.Max() != 20*time.Millisecond || op.Lag.Quantile(0.1) < 19*time.Millisecond ||
			schedule.Lag.Max() != 20*time.Millisecond {
			t.Errorf(
				"lag of the ops %v, of the actions %v; want 20ms",
				op.Lag.Max(),
				schedule.Lag.Max(),
			)
		}
	})
	// With a pause that is long enough, the reading is over before the next action: no action is
	// late, and a cycle takes its planned time.
	synctest.Test(t, func(t *testing.T) {
		op, schedule, act := slowly(t, &stub{service: 10 * time.Millisecond,
			reads: 20 * time.Millisecond, pause: steady(90 * time.Millisecond)}, nil)
		if n := op.Count(); n < 99 || n > 101 || op.Lag.Max() != 0 || schedule.Lag.Max() != 0 {
			t.Errorf(
				"%d ops, lags of %v and %v; want one each 100 ms, and none late",
				n,
				op.Lag.Max(),
				schedule.Lag.Max(),
			)
		}
		if sum := act.Think + act.Busy + act.Open; (sum - 10*time.Second).Abs() > time.Millisecond {
			t.Errorf("%v of 10 user-seconds are accounted for", sum)
		}
	})
}

// One place in flight, arrivals each 100 ms, answers after 150 ms that the generator needs 20 ms to
// read: the time of an arrival until the place has its answer is wait, and the reading is lag.
func TestAPlaceInFlightIsWaitAndReadingIsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{service: 150 * time.Millisecond, reads: 20 * time.Millisecond}
		op, schedule, _ := slowly(t, s, &Arrivals{Behavior: s, Rate: 10, InFlight: 1, Queue: 1000})
		if schedule.Lag.Max() != 0 || op.Lag.Max() != 20*time.Millisecond || op.Lag.Min() != 0 ||
			op.Lag.Quantile(0.1) < 19*time.Millisecond {
			t.Errorf(
				"lag of the arrivals %v, of the ops %v to %v; want 0, and 20ms for all but the first",
				schedule.Lag.Max(),
				op.Lag.Min(),
				op.Lag.Max(),
			)
		}
		// The k-th is sent 170 ms after the one before it, k·70 ms after it came, of which 20 ms
		// were lag.
		n := op.Count()
		if want := time.Duration(n-1)*70*time.Millisecond - 20*time.Millisecond; op.Wait.Max() != want ||
			op.Service.Max() != 150*time.Millisecond {
			t.Errorf(
				"%d ops, wait up to %v, service up to %v; want %v and 150ms",
				n,
				op.Wait.Max(),
				op.Service.Max(),
				want,
			)
		}
	})
}

// A user is signaled to go in an action that the target does not answer for 20 s, and is wanted
// again meanwhile. It begins again when that action has ended: the generator was not late, and both
// actors, which draw from the user's streams, were not there at once.
func TestAUserWantedBeforeItsEarlierLifeHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{service: 20 * time.Second, enters: time.Millisecond, pause: steady(time.Second)}
		s.at = func(a *stubActor, where string) {
			if where == "made" && s.made.Load() != s.closed.Load() {
				t.Error("an actor is made beside another")
			}
			a.u.Action.Uint64()
		}
		l := begin(t, s, Config{})
		for _, n := range []int{1, 0, 1, 0, 1} {
			set(t, l, n, 0)
			time.Sleep(3 * time.Second)
		}
		time.Sleep(40 * time.Second)
		if _, active, _ := l.Users(); active != 1 {
			t.Errorf("%d users active, want the one that came back", active)
		}
		l.Stop(time.Minute)
		if made, closed := s.made.Load(), s.closed.Load(); made != closed || made < 2 {
			t.Errorf("%d actors, %d closed", made, closed)
		}
		for name, w := range cut(l) {
			if w.Lag.Max() != 0 || name == "login" && w.Count() < 2 {
				t.Errorf("%s: %d operations, a lag of %v; want a second login, and no lag", name,
					w.Count(), w.Lag.Max())
			}
		}
	})
}
