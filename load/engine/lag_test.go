package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// slowReader is a server of arrivals whose generator needs a while to read each answer. Its users do not pause.
type slowReader struct {
	fake
	needs, think time.Duration
}

type slowReaderActor struct {
	fakeActor
	s *slowReader
}

func (s *slowReader) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &slowReaderActor{fakeActor{&s.fake, u, env.Registry.Name("op")}, s}, nil
}

func (s *slowReader) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	return &slowReaderActor{fakeActor{&s.fake, u, env.Registry.Name("op")}, s}, nil
}

func (a *slowReaderActor) Think() time.Duration { return a.s.think }
func (a *slowReaderActor) Act(ctx context.Context) error {
	err := a.fakeActor.Act(ctx)
	time.Sleep(a.s.needs)
	return err
}
func (a *slowReaderActor) Serve(ctx context.Context, _ int64) error { return a.Act(ctx) }

func slowly(t *testing.T, s *slowReader, a *Arrivals) (op, schedule *measure.Window, act workload.Activity) {
	t.Helper()
	reg := measure.NewRegistry(1)
	l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: s, Share: 1}}, Clock: clock.New(time.Now()), Arrivals: a})
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		if err := l.SetUsers(1, 0); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Second)
	act = l.Activity()
	l.Stop(time.Minute)
	for _, w := range reg.Cut() {
		switch w.Name {
		case "op":
			op = w
		case workload.Schedule:
			schedule = w
		}
	}
	return op, schedule, act
}

// A user who does not pause does its next action when the answer is there. That the generator reads it 20 ms later is
// lag.
func TestThePauseBeginsWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op, schedule, _ := slowly(t, &slowReader{fake: fake{service: 10 * time.Millisecond}, needs: 20 * time.Millisecond}, nil)
		if n := op.Count(); n < 300 || op.Response.Max() != 10*time.Millisecond || op.Wait.Count() != 0 {
			t.Errorf("%d ops, response %v, %d waits; want more than 300 of 10ms that waited for nothing", n, op.Response.Max(), op.Wait.Count())
		}
		if op.Lag.Max() != 20*time.Millisecond || op.Lag.Quantile(0.1) < 19*time.Millisecond || schedule.Lag.Max() != 20*time.Millisecond {
			t.Errorf("lag of the ops %v, of the actions %v; want 20ms", op.Lag.Max(), schedule.Lag.Max())
		}
	})
	// With a pause that is long enough, the reading is over before the next action: no action is late, and a cycle
	// takes its planned time.
	synctest.Test(t, func(t *testing.T) {
		op, schedule, act := slowly(t, &slowReader{fake: fake{service: 10 * time.Millisecond}, needs: 20 * time.Millisecond, think: 90 * time.Millisecond}, nil)
		if n := op.Count(); n < 99 || n > 101 || op.Lag.Max() != 0 || schedule.Lag.Max() != 0 {
			t.Errorf("%d ops, lags of %v and %v; want one each 100 ms, and none late", n, op.Lag.Max(), schedule.Lag.Max())
		}
		if sum := act.Think + act.Busy + act.Open; (sum - 10*time.Second).Abs() > time.Millisecond {
			t.Errorf("%v of 10 user-seconds are accounted for", sum)
		}
	})
}

// One place in flight, arrivals each 100 ms, answers after 150 ms that the generator needs 20 ms to read: the time of
// an arrival until the place has its answer is wait, and the reading is lag.
func TestAPlaceInFlightIsWaitAndReadingIsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowReader{fake: fake{service: 150 * time.Millisecond}, needs: 20 * time.Millisecond}
		op, schedule, _ := slowly(t, s, &Arrivals{Behavior: s, Rate: 10, InFlight: 1, Queue: 1000})
		if schedule.Lag.Max() != 0 || op.Lag.Max() != 20*time.Millisecond || op.Lag.Min() != 0 || op.Lag.Quantile(0.1) < 19*time.Millisecond {
			t.Errorf("lag of the arrivals %v, of the ops %v to %v; want 0, and 20ms for all but the first", schedule.Lag.Max(), op.Lag.Min(), op.Lag.Max())
		}
		// The k-th is sent 170 ms after the one before it, k·70 ms after it came, of which 20 ms were lag.
		n := op.Count()
		if want := time.Duration(n-1)*70*time.Millisecond - 20*time.Millisecond; op.Wait.Max() != want || op.Service.Max() != 150*time.Millisecond {
			t.Errorf("%d ops, wait up to %v, service up to %v; want %v and 150ms", n, op.Wait.Max(), op.Service.Max(), want)
		}
	})
}

// entering is a server whose login is an operation of a millisecond.
type entering struct{ fake }

type enteringActor struct{ fakeActor }

func (s *entering) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &enteringActor{fakeActor{&s.fake, u, env.Registry.Name("login")}}, nil
}

func (a *enteringActor) Login(context.Context) error {
	sent := time.Now()
	time.Sleep(time.Millisecond)
	a.u.Done(a.n, sent, sent, time.Now(), measure.OK, 0)
	return nil
}
func (a *enteringActor) Think() time.Duration { return time.Second }

// A user is signaled to go in an action that the target does not answer for 20 s, and is wanted again meanwhile.
// It begins again when that action has ended: the generator was not late.
func TestAUserWantedBeforeItsEarlierLifeHasEndedIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &entering{fake{service: 20 * time.Second}}
		reg := measure.NewRegistry(1)
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: s, Share: 1}}, Clock: clock.New(time.Now())})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 0, 1} {
			if err := l.SetUsers(n, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(20 * time.Second)
		l.Stop(time.Minute)
		for _, w := range reg.Cut() {
			if w.Lag.Max() != 0 {
				t.Errorf("%s: a lag of %v", w.Name, w.Lag.Max())
			}
			if w.Name == "login" && w.Count() < 3 { // two logins, and an action
				t.Errorf("%d operations; the user never came back", w.Count())
			}
		}
	})
}

// heir is a server that knows how many actors have not been closed.
type heir struct {
	entering
	made   atomic.Int64
	beside atomic.Int64 // made while an earlier one was not closed
}

func (s *heir) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	if s.made.Add(1)-1 != s.closed.Load() {
		s.beside.Add(1)
	}
	u.Action.Uint64()
	return s.entering.NewActor(env, u)
}

// The actor of a user that comes back is made when the one before it has ended: both draw from the user's streams.
func TestAUserHasOneActorAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &heir{entering: entering{fake{service: 20 * time.Second}}}
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: measure.NewRegistry(1), Pace: 1, Seed: 1}, Mix: []Part{{Behavior: s, Share: 1}}, Clock: clock.New(time.Now())})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 0, 1, 0, 1} {
			if err := l.SetUsers(n, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(40 * time.Second)
		if _, active, _ := l.Users(); active != 1 {
			t.Errorf("%d users active, want the one that came back", active)
		}
		l.Stop(time.Minute)
		if made, closed := s.made.Load(), s.closed.Load(); s.beside.Load() != 0 || made != closed || made < 2 {
			t.Errorf("%d actors, %d closed; %d were made while another was not", made, closed, s.beside.Load())
		}
	})
}
