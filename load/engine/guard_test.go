package engine

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// faulty returns a behavior of which one user in four, and each server of arrivals, panics at a
// place; in its second action it does so in the middle of an operation.
func faulty(at string) *stub {
	return &stub{service: 10 * time.Millisecond, storm: quiet,
		at: func(a *stubActor, where string) {
			user := a.u.ID%4 == 1
			switch {
			case where != at, !user && where != "server" && where != "serve",
				where == "think" && a.acts == 0:
				return
			case where == "act":
				if a.acts < 2 {
					return
				}
				a.u.Begin(a.u.Recorder().Name("op"))
			}
			panic("no " + at)
		}}
}

// panics gathers the panics that an engine reports.
type panics struct {
	mu   sync.Mutex
	list []*boundary.Panic
	of   map[int]*boundary.Panic // by user
}

func (p *panics) hear(user int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := errors.AsType[*boundary.Panic](err); ok {
		p.list = append(p.list, v)
		p.of[user] = v
	}
}

// A user that panics, wherever, has failed and is reported with its stack; the others go on, and
// the engine can be stopped.
func TestAUserThatPanicsFailsAlone(t *testing.T) {
	for _, at := range []string{"act", "login", "think", "close", "storm"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := panics{of: map[int]*boundary.Panic{}}
				l := begin(t, faulty(at), Config{OnError: told.hear})
				set(t, l, 8, time.Second)
				time.Sleep(20 * time.Second)
				l.Storm(workload.Storm{Kind: "flood", Share: 1})
				time.Sleep(10 * time.Second)
				if _, active, _ := l.Users(); at != "close" && active != 6 {
					t.Errorf("%d users are active", active)
				}
				l.Stop(time.Second)
				if _, active, failed := l.Users(); active != 0 || failed != 2 ||
					len(told.list) != 2 {
					t.Errorf("%d active, %d failed, %d told", active, failed, len(told.list))
				}
				for _, user := range []int{1, 5} {
					if p := told.of[user]; p == nil || !strings.Contains(p.Stack, "stubActor") {
						t.Errorf("user %d: told %v", user, p)
					}
				}
				w := cut(l)["op"]
				// The operations under way.
				if want := map[string]uint64{"act": 2}[at]; w.Classes[measure.Decode] != want ||
					w.Classes[measure.OK] < 6*4 {
					t.Errorf("%d operations of class decode, want %d; %d of the others",
						w.Classes[measure.Decode], want, w.Classes[measure.OK])
				}
				reg := l.cfg.Env.Registry
				if reg.Mark(time.Hour); reg.Open() != 0 {
					t.Errorf("%d operations are under way for ever", reg.Open())
				}
			})
		})
	}
}

// An actor whose panic has left a lock behind cannot close, and delays no other user.
func TestAUserThatCannotCloseAfterItsPanicHoldsNobodyUp(t *testing.T) {
	l := begin(t, &stub{pause: steady(5 * time.Millisecond), at: func(a *stubActor, where string) {
		switch {
		case a.u.ID == 1 && where == "login":
			panic("no login")
		case a.u.ID == 1 && where == "close":
			select {} // behind a lock that is never released
		}
	}}, Config{})
	set(t, l, 2, 0)
	for _, _, failed := l.Users(); failed == 0; _, _, failed = l.Users() {
		time.Sleep(time.Millisecond)
	}
	done := make(chan struct{})
	go func() { defer close(done); l.Stop(0) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the engine does not stop")
	}
}

// A server of arrivals that panics is one less; the schedule goes on.
func TestAServerOfArrivalsThatPanicsFails(t *testing.T) {
	for _, at := range []string{"serve", "server"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told, s := panics{of: map[int]*boundary.Panic{}}, faulty(at)
				l := begin(t, s, Config{OnError: told.hear,
					Arrivals: &Arrivals{Behavior: s, Rate: 10, InFlight: 3, Queue: 2}})
				time.Sleep(10 * time.Second)
				l.Stop(time.Second)
				if _, _, failed := l.Users(); failed != 3 || len(told.list) != 3 {
					t.Errorf("%d failed, %d panics", failed, len(told.list))
				}
				if n := cut(l)[workload.Arrival].Classes[measure.Dropped]; n < 90 {
					t.Errorf("%d arrivals are dropped", n)
				}
			})
		})
	}
}
