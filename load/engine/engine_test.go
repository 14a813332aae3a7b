package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/workload"
)

// 200 users who think 5 s and are served in 50 ms make 200/5.05 ops per second: the closed loop,
// exactly.
func TestRateOfAClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{service: 50 * time.Millisecond}
		l := begin(t, s, Config{})
		set(t, l, 200, 10*time.Second)
		time.Sleep(20 * time.Second)
		cut(l)
		time.Sleep(5050 * 20 * time.Millisecond)
		if got := cut(l)["op"].Count(); got != 200*20 {
			t.Errorf("%d ops in 20 periods of 200 users, want 4000", got)
		}
		if d, a, failed := l.Users(); d != 200 || a != 200 || failed != 0 {
			t.Errorf("users %d %d %d", d, a, failed)
		}
		l.Stop(time.Second)
		if _, a, _ := l.Users(); a != 0 || s.closed.Load() != 200 {
			t.Errorf("%d active, %d closed after stop", a, s.closed.Load())
		}
	})
}

func TestStallIsChargedToTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub{pause: steady(500 * time.Millisecond)}
		s.ends = func(sent time.Time) time.Time {
			if s.ops.Load() == 3 {
				return sent.Add(2 * time.Second)
			}
			return sent.Add(10 * time.Millisecond)
		}
		l := begin(t, s, Config{})
		set(t, l, 1, 0)
		time.Sleep(30 * time.Second)
		l.Stop(time.Second)
		ws := cut(l)
		op, lag := ws["op"], ws[workload.Schedule].Lag
		if op.Service.Max() != 2*time.Second || op.Response.Max() != 2*time.Second {
			t.Errorf("service %v response %v, want 2s", op.Service.Max(), op.Response.Max())
		}
		if lag.Max() != 0 || lag.Count() != op.Count() {
			t.Errorf("lag up to %v in %d of %d ops; virtual time is never late", lag.Max(),
				lag.Count(), op.Count())
		}
	})
}

func TestShrinkAndGrowKeepsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, &stub{service: time.Second}, Config{})
		set(t, l, 10, time.Second)
		time.Sleep(10 * time.Second)
		set(t, l, 4, time.Second)
		set(t, l, 8, time.Second) // before the six have all gone
		time.Sleep(10 * time.Second)
		if d, a, _ := l.Users(); d != 8 || a != 8 || len(l.users) != 10 {
			t.Errorf("wanted %d, active %d, known %d; want 8, and 10 known", d, a, len(l.users))
		}
		l.Stop(time.Minute)
	})
}

func TestFailedLoginIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []error
		l := begin(t, &stub{refuses: 1}, Config{OnError: func(_ int,
			err error) {
			heard = append(heard, err)
		}})
		set(t, l, 1, 0)
		time.Sleep(5 * time.Second)
		if _, a, _ := l.Users(); a != 1 || len(heard) != 1 || !errors.Is(heard[0], errRefused) {
			t.Errorf("active %d, heard %v", a, heard)
		}
		l.Stop(time.Second)
	})
}

func TestStopCutsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, &stub{service: time.Hour, pause: steady(0)}, Config{})
		set(t, l, 5, 0)
		time.Sleep(time.Second)
		from := time.Now()
		l.Stop(2 * time.Second)
		if d, n := time.Since(from), cut(l)["op"].Count(); d != 2*time.Second || n != 0 {
			t.Errorf("stop took %v; %d ops recorded that the target never answered", d, n)
		}
	})
}

// 50 users for 100 s: where their 5,000 user-seconds went is known to the last one that is under
// way, and every action is in the 100 ms in which it began.
func TestActivityAccountsForTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, &stub{service: 50 * time.Millisecond}, Config{})
		set(t, l, 50, 5*time.Second)
		time.Sleep(20 * time.Second)
		l.Activity()
		cut(l)
		time.Sleep(101 * time.Second) // 20 periods of 5.05 s
		a := l.Activity()
		n := cut(l)["op"].Count()
		if a.Actions != n || n != 50*20 {
			t.Errorf("%d actions ended, %d recorded, want 1000", a.Actions, n)
		}
		if got := (a.Think + a.Busy).Seconds(); got < 50*101*0.999 || got > 50*101*1.001 ||
			a.Busy != time.Duration(n)*50*time.Millisecond {
			t.Errorf("%v of thinking and %v of acting in 5050 user-seconds", a.Think, a.Busy)
		}
		if a.Open.Abs() > 5*time.Second {
			t.Errorf("%v of pauses and actions under way after whole cycles", a.Open)
		}
		// a third of a cycle: most of the time lies in pauses that have not ended
		time.Sleep(1700 * time.Millisecond)
		a = l.Activity()
		if (a.Think+a.Busy+a.Open-50*1700*time.Millisecond).Abs() > time.Millisecond ||
			a.Open.Abs() < 10*time.Second {
			t.Errorf("%v, %v and %v under way in 85 user-seconds", a.Think, a.Busy, a.Open)
		}
		l.Activity()
		time.Sleep(5050*time.Millisecond - 1700*time.Millisecond)
		l.Activity()
		time.Sleep(5050 * time.Millisecond)
		begun := uint32(0)
		for _, b := range l.Activity().Begun {
			begun += b
		}
		if begun != 50 {
			t.Errorf("%d actions began in one period of 50 users", begun)
		}
		l.Stop(time.Second)
	})
}
