package own

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/failure"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
)

// Every behavior can be driven against the null server: its login and its acts find answers that
// they accept. A new request of a behavior needs a line in refnull's table.
func TestNullServerServesTheBehaviors(t *testing.T) {
	for name, behavior := range mattermost.Behaviors() {
		t.Run(name, func(t *testing.T) {
			s, err := refnull.New(refnull.Config{Push: 1})
			failure.None(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := inBackground(func() error { return s.Run(ctx) })
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			reg := measure.NewRegistry(2)
			// All actions of mixes alike: otherwise most of them would not come up at all.
			weights := map[string]float64{}
			for _, mix := range mattermost.Mixes() {
				for action, weight := range mix {
					if weight > 0 { // it knows no webhooks and bots
						weights[action] = 1
					}
				}
			}
			env := workload.Env{
				Weights:  weights,
				URL:      s.URL(),
				Seed:     7,
				Pace:     0.001,
				Registry: reg,
				Timeout:  5 * time.Second,
				Ledger:   workload.NewLedger(200*time.Millisecond, 1),
				Secret: func(name string) string {
					return map[string]string{"admin_password": "Aa1!aaaaaaaa"}[name]
				},
			}
			b := behavior()
			const users = 40
			failure.None(t, b.Provision(ctx, env, users))
			reg.Cut()
			var mu sync.Mutex
			var failures []string
			var arrivals *engine.Arrivals
			if open, ok := b.(workload.ArrivalBehavior); ok {
				arrivals = &engine.Arrivals{
					Behavior: open,
					Rate:     50,
					Poisson:  true,
					InFlight: 5,
					Queue:    1000,
				}
			}
			local, err := engine.New(ctx, engine.Config{
				Env:      env,
				Mix:      []engine.Part{{Behavior: b, Share: 1}},
				Arrivals: arrivals,
				Clock:    clock.New(time.Now()),
				OnError: func(user int, err error) {
					mu.Lock()
					defer mu.Unlock()
					if len(failures) < 5 {
						failures = append(failures, fmt.Sprint(user, ": ", err))
					}
				},
			})
			failure.None(t, err)
			failure.None(t, local.SetUsers(users, 100*time.Millisecond))
			// Real sockets; the checks below do not depend on how much was done, only that some
			// was.
			time.Sleep(2 * time.Second)
			env.Ledger.Settle(time.Now())
			if c := env.Ledger.Count(); c.Acked == 0 || c.Judged == 0 || c.Lost > 0 || c.Late > 0 {
				t.Errorf("messages %+v: want some, and none of them expected to come", c)
			}
			_, active, failed := local.Users()
			act := local.Activity()
			local.Stop(2 * time.Second)
			if arrivals != nil && (act.Wanted < 50 || act.Served == 0) {
				t.Errorf("%d arrivals wanted, %d begun", act.Wanted, act.Served)
			}
			if active == 0 || failed > 0 || len(failures) > 0 {
				t.Errorf(
					"%d users active, %d failed: %s",
					active,
					failed,
					strings.Join(failures, "; "),
				)
			}
			total := uint64(0)
			for _, w := range reg.Cut() {
				total += w.Count()
				for c, n := range w.Classes {
					if c := measure.Class(c); c != measure.OK && n > 0 {
						t.Errorf("%s: %d %v", w.Name, n, c)
					}
				}
			}
			if total == 0 {
				t.Error("nothing was done")
			}
			if st := s.Stats(); len(st.Unknown) > 0 {
				t.Errorf("the null server does not know %v; add answers to its table", st.Unknown)
			}
		})
	}
}

func inBackground(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}
