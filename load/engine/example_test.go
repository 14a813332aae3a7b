package engine_test

import (
	"context"
	"fmt"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// greeter is a behavior whose users need no server.
type greeter struct{ acted chan<- int }

func (g greeter) Provision(context.Context, workload.Env, int) error { return nil }

func (g greeter) NewActor(_ workload.Env, u *workload.User) (workload.Actor, error) {
	return &guest{greeter: g, user: u}, nil
}

type guest struct {
	greeter
	user *workload.User
}

func (*guest) Login(context.Context) error { return nil }
func (*guest) Think() time.Duration        { return time.Millisecond }
func (*guest) Close()                      {}

func (g *guest) Act(ctx context.Context) error {
	now := time.Now()
	g.user.Done(g.user.Recorder().Name("greet"), now, now, time.Now(), measure.OK, 0)
	select {
	case g.acted <- g.user.ID:
	case <-ctx.Done():
	}
	return nil
}

func ExampleLocal() {
	acted := make(chan int)
	registry := measure.NewRegistry(1)
	local, err := engine.New(context.Background(), engine.Config{
		Env:   workload.Env{Seed: 7, Pace: 1, Timeout: time.Second, Registry: registry},
		Mix:   []engine.Part{{Name: "greeter", Behavior: greeter{acted}, Share: 1}},
		Clock: clock.New(time.Now()),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := local.SetUsers(2, 10*time.Millisecond); err != nil {
		fmt.Println(err)
		return
	}
	seen := map[int]bool{}
	for len(seen) < 2 {
		seen[<-acted] = true
	}
	desired, active, failed := local.Users()
	fmt.Println(desired, "wanted,", active, "active,", failed, "failed")
	local.Stop(0)
	for _, w := range registry.Cut() {
		if w.Name == "greet" {
			fmt.Println("each has greeted:", w.Count() >= 2)
		}
	}
	// Output:
	// 2 wanted, 2 active, 0 failed
	// each has greeted: true
}
