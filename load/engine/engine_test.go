package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// fake is a server of one op that takes a fixed time; stallAt makes one op take stall instead.
type fake struct {
	mu      sync.Mutex
	service time.Duration
	stall   time.Duration
	stallAt int64
	fail    error
	logins  atomic.Int64
	closed  atomic.Int64
	ops     atomic.Int64
}

type fakeActor struct {
	f *fake
	u *workload.User
	n measure.Name
}

func (f *fake) Provision(context.Context, workload.Env, int) error { return nil }
func (f *fake) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &fakeActor{f, u, env.Registry.Name("op")}, nil
}

func (a *fakeActor) Login(context.Context) error {
	if a.f.logins.Add(1) == 1 && a.f.fail != nil {
		return a.f.fail
	}
	return nil
}
func (a *fakeActor) Think() time.Duration { return 5 * time.Second }
func (a *fakeActor) Act(ctx context.Context) error {
	d := a.f.service
	if a.f.ops.Add(1) == a.f.stallAt {
		d = a.f.stall
	}
	sent := time.Now()
	if err := workload.SleepUntil(ctx, sent.Add(d)); err != nil {
		return err
	}
	a.u.Done(a.n, sent, sent, time.Now(), measure.OK, 0)
	return nil
}
func (a *fakeActor) Close() { a.f.closed.Add(1) }

func start(t *testing.T, f *fake, pace float64) (*Local, *measure.Registry) {
	t.Helper()
	reg := measure.NewRegistry(2)
	l, err := New(t.Context(), Config{
		Env:   workload.Env{Registry: reg, Pace: pace, Seed: 1},
		Mix:   []Part{{Behavior: f, Share: 1}},
		Clock: clock.New(time.Now()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, reg
}

func count(reg *measure.Registry, name string) (w *measure.Window) {
	w = measure.NewWindow(name)
	for _, c := range reg.Cut() {
		if c.Name == name {
			w.Merge(c)
		}
	}
	return w
}

// 200 users who think 5 s and are served in 50 ms make 200/5.05 ops per second: the closed loop, exactly.
func TestRateOfAClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: 50 * time.Millisecond}
		l, reg := start(t, f, 1)
		if err := l.SetUsers(200, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		count(reg, "op")
		time.Sleep(5050 * 20 * time.Millisecond)
		if got := count(reg, "op").Count(); got != 200*20 {
			t.Errorf("%d ops in 20 periods of 200 users, want 4000", got)
		}
		if d, a, failed := l.Users(); d != 200 || a != 200 || failed != 0 {
			t.Errorf("users %d %d %d", d, a, failed)
		}
		l.Stop(time.Second)
		if _, a, _ := l.Users(); a != 0 || f.closed.Load() != 200 {
			t.Errorf("%d active, %d closed after stop", a, f.closed.Load())
		}
	})
}

func TestStallIsChargedToTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: 10 * time.Millisecond, stallAt: 3, stall: 2 * time.Second}
		l, reg := start(t, f, 0.1)
		if err := l.SetUsers(1, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		l.Stop(time.Second)
		var op, lag *measure.Window
		for _, w := range reg.Cut() {
			switch w.Name {
			case "op":
				op = w
			case workload.Schedule:
				lag = w
			}
		}
		if op.Service.Max() != 2*time.Second || op.Response.Max() != 2*time.Second {
			t.Errorf("service %v response %v, want 2s", op.Service.Max(), op.Response.Max())
		}
		if lag.Lag.Max() != 0 || lag.Lag.Count() != op.Count() {
			t.Errorf("lag up to %v in %d of %d ops; virtual time is never late", lag.Lag.Max(), lag.Lag.Count(), op.Count())
		}
	})
}

func TestShrinkAndGrowKeepsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: time.Second}
		l, _ := start(t, f, 1)
		set := func(n int) {
			t.Helper()
			if err := l.SetUsers(n, time.Second); err != nil {
				t.Fatal(err)
			}
		}
		set(10)
		time.Sleep(10 * time.Second)
		set(4)
		set(8) // before the six have all gone
		time.Sleep(10 * time.Second)
		if d, a, _ := l.Users(); d != 8 || a != 8 {
			t.Errorf("wanted %d, active %d; want 8", d, a)
		}
		if len(l.users) != 10 {
			t.Errorf("%d users known, want 10", len(l.users))
		}
		l.Stop(time.Minute)
	})
}

func TestFailedLoginIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: time.Millisecond, fail: errors.New("refused")}
		l, _ := start(t, f, 1)
		var heard []error
		l.cfg.OnError = func(_ int, err error) { heard = append(heard, err) }
		if err := l.SetUsers(1, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, a, _ := l.Users(); a != 1 || len(heard) != 1 || !errors.Is(heard[0], f.fail) {
			t.Errorf("active %d, heard %v", a, heard)
		}
		l.Stop(time.Second)
	})
}

func TestStopCutsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: time.Hour}
		l, reg := start(t, f, 0.001)
		if err := l.SetUsers(5, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		from := time.Now()
		l.Stop(2 * time.Second)
		if d := time.Since(from); d != 2*time.Second {
			t.Errorf("stop took %v", d)
		}
		if n := count(reg, "op").Count(); n != 0 {
			t.Errorf("%d ops recorded that the target never answered", n)
		}
	})
}

// 50 users for 100 s: where their 5,000 user-seconds went is known to the last one that is under way, and every
// action is in the 100 ms in which it began.
func TestActivityAccountsForTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{service: 50 * time.Millisecond}
		l, reg := start(t, f, 1)
		if err := l.SetUsers(50, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		l.Activity()
		count(reg, "op")
		time.Sleep(101 * time.Second) // 20 periods of 5.05 s
		a := l.Activity()
		n := count(reg, "op").Count()
		if a.Actions != n || n != 50*20 {
			t.Errorf("%d actions ended, %d recorded, want 1000", a.Actions, n)
		}
		if got := (a.Think + a.Busy).Seconds(); got < 50*101*0.999 || got > 50*101*1.001 || a.Busy != time.Duration(n)*50*time.Millisecond {
			t.Errorf("%v of thinking and %v of acting in 5050 user-seconds", a.Think, a.Busy)
		}
		if a.Open > 5*time.Second || a.Open < -5*time.Second {
			t.Errorf("%v of pauses and actions under way after whole cycles", a.Open)
		}
		time.Sleep(1700 * time.Millisecond) // a third of a cycle: most of the time lies in pauses that have not ended
		if a = l.Activity(); (a.Think+a.Busy+a.Open-50*1700*time.Millisecond).Abs() > time.Millisecond || a.Open < 10*time.Second && a.Open > -10*time.Second {
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
