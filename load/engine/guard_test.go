package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// faulty is a behavior of which some users panic in their second action, in the middle of an operation.
type faulty struct {
	fake
	at   string // where: "act", "login", "think", "close", "server", "storm"
	hang bool   // closing never ends, as behind a lock that is never released
}

type faultyActor struct {
	fakeActor
	b    *faulty
	acts int
}

func (f *faulty) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &faultyActor{fakeActor{&f.fake, u, env.Registry.Name("op")}, f, 0}, nil
}

func (f *faulty) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	if f.at == "server" {
		panic("no server")
	}
	return &faultyActor{fakeActor{&f.fake, u, env.Registry.Name("op")}, f, 0}, nil
}

func (f *faulty) StormKinds() []string { return []string{"flood"} }

func (a *faultyActor) bad() bool { return a.u.ID%4 == 1 }

func (a *faultyActor) Login(ctx context.Context) error {
	if a.b.at == "login" && a.bad() {
		panic("no login")
	}
	return a.fakeActor.Login(ctx)
}

func (a *faultyActor) Think() time.Duration {
	if a.b.at == "think" && a.bad() && a.acts > 0 {
		panic("no thought")
	}
	return 5 * time.Second
}

func (a *faultyActor) Act(ctx context.Context) error {
	if a.acts++; a.b.at == "act" && a.bad() && a.acts == 2 {
		a.u.Begin(a.n)
		var none []int
		_ = none[a.acts]
	}
	return a.fakeActor.Act(ctx)
}

func (a *faultyActor) Serve(ctx context.Context, k int64) error {
	if a.b.at == "serve" {
		panic("no service")
	}
	return a.fakeActor.Act(ctx)
}

func (a *faultyActor) Storm(context.Context, workload.Storm) error {
	if a.b.at == "storm" && a.bad() {
		panic("no storm")
	}
	return nil
}

func (a *faultyActor) Close() {
	if a.b.at == "close" && a.bad() {
		panic("no end")
	}
	if a.b.hang && a.bad() {
		select {}
	}
	a.fakeActor.Close()
}

// A user that panics, wherever, has failed and is reported with its stack; the others go on, and the engine can be
// stopped.
func TestAUserThatPanicsFailsAlone(t *testing.T) {
	for _, tt := range []struct {
		at     string
		failed int
	}{{"act", 2}, {"login", 2}, {"think", 2}, {"close", 2}, {"storm", 2}} {
		t.Run(tt.at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &faulty{fake: fake{service: 10 * time.Millisecond}, at: tt.at}
				reg := measure.NewRegistry(2)
				var mu sync.Mutex
				told := map[int]*boundary.Panic{}
				l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: clock.New(time.Now()),
					OnError: func(user int, err error) {
						mu.Lock()
						defer mu.Unlock()
						told[user], _ = errors.AsType[*boundary.Panic](err)
					}})
				if err != nil {
					t.Fatal(err)
				}
				if err := l.SetUsers(8, time.Second); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				l.Storm(workload.Storm{Kind: "flood", Share: 1})
				time.Sleep(10 * time.Second)
				if tt.at != "close" {
					if _, active, _ := l.Users(); active != 8-tt.failed {
						t.Errorf("%d users are active", active)
					}
				}
				l.Stop(time.Second)
				if _, active, failed := l.Users(); active != 0 || failed != tt.failed {
					t.Errorf("%d active, %d failed", active, failed)
				}
				for _, user := range []int{1, 5} {
					if p := told[user]; p == nil || !strings.Contains(p.Stack, "faultyActor") {
						t.Errorf("user %d: told %v", user, p)
					}
				}
				if len(told) != 2 {
					t.Errorf("told %v", told)
				}
				w := count(reg, "op")
				// The operations under way.
				if want := map[string]uint64{"act": 2}[tt.at]; w.Classes[measure.Decode] != want {
					t.Errorf("%d operations of class decode, want %d", w.Classes[measure.Decode], want)
				}
				if w.Classes[measure.OK] < 6*4 {
					t.Errorf("%d operations of the others", w.Classes[measure.OK])
				}
				if reg.Mark(time.Hour); reg.Open() != 0 {
					t.Errorf("%d operations are under way for ever", reg.Open())
				}
			})
		})
	}
}

// An actor whose panic has left a lock behind cannot close, and delays no other user.
func TestAUserThatCannotCloseAfterItsPanicHoldsNobodyUp(t *testing.T) {
	f := &faulty{fake: fake{service: time.Millisecond}, at: "login", hang: true}
	reg := measure.NewRegistry(1)
	l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 0.001, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: clock.New(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetUsers(2, 0); err != nil {
		t.Fatal(err)
	}
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
				f := &faulty{fake: fake{service: time.Millisecond}, at: at}
				reg := measure.NewRegistry(1)
				var mu sync.Mutex
				panics := 0
				l, err := New(t.Context(), Config{Env: workload.Env{Registry: reg, Pace: 1, Seed: 1}, Mix: []Part{{Behavior: f, Share: 1}}, Clock: clock.New(time.Now()),
					Arrivals: &Arrivals{Behavior: f, Rate: 10, InFlight: 3, Queue: 2},
					OnError: func(_ int, err error) {
						mu.Lock()
						defer mu.Unlock()
						if _, ok := errors.AsType[*boundary.Panic](err); ok {
							panics++
						}
					}})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				l.Stop(time.Second)
				if _, _, failed := l.Users(); failed != 3 || panics != 3 {
					t.Errorf("%d failed, %d panics", failed, panics)
				}
				if w := count(reg, workload.Arrival); w.Classes[measure.Dropped] < 90 {
					t.Errorf("%d arrivals are dropped", w.Classes[measure.Dropped])
				}
			})
		})
	}
}
