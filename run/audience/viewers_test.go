package audience

import (
	"bufio"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/run/live"
)

// crew has the states of agents that a test sets.
type crew struct {
	mu     sync.Mutex
	states []fleet.AgentState
}

func (c *crew) States() []fleet.AgentState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states
}

func (c *crew) set(states ...fleet.AgentState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = states
}

// TestAgentsWhileTheTrialWaits publishes one frame and then waits for an agent, as a trial does:
// readers see the agent become silent, and lost.
func TestAgentsWhileTheTrialWaits(t *testing.T) {
	dir := t.TempDir()
	pub, err := live.Open(dir, func(live.Order) (string, error) { return "", errors.New("no") })
	if err != nil {
		t.Fatal(err)
	}
	all := &crew{}
	one := fleet.AgentState{
		Name:  "agent 1 of 2",
		Users: 5,
		Lag:   2500 * time.Microsecond,
		CPU:   0.25,
		Ahead: -time.Millisecond,
		Heard: 100 * time.Millisecond,
	}
	two := one
	two.Name = "agent 2 of 2"
	all.set(one, two)
	a := &Viewers{pub: pub, fleet: all, ended: make(chan struct{})}
	a.wg.Go(func() { a.wait(5*time.Millisecond, 10*time.Millisecond) })
	defer func() { close(a.ended); a.wg.Wait(); pub.Close(live.Ending{State: "ended"}) }()
	c, err := live.Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(c)
	until := func(state string) live.Frame {
		t.Helper()
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				t.Fatalf("no agent became %s: %v", state, err)
			}
			var f live.Frame
			if err := json.Unmarshal(line, &f); err != nil {
				t.Fatal(err)
			}
			if len(f.Agents) == 2 && f.Agents[1].State == state {
				return f
			}
		}
	}
	for end := time.Now().Add(20 * time.Second); !a.Watched(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody watches")
		}
	}
	a.Publish(&live.Frame{V: live.Version, Kind: live.KindRun, Seq: 7, At: 7})
	f := until(live.Here)
	if got, want := f.Agents[0], (live.AgentRow{
		Name:  "agent 1 of 2",
		Users: 5,
		Lag:   2.5,
		CPU:   0.25,
		Clock: -1,
		Heard: 0.1,
		State: live.Here,
	}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	one.Heard = 3900 * time.Millisecond // it has answered, and is not asked again
	two.Heard, two.Owes = live.SilentAfter+time.Second, live.SilentAfter+time.Millisecond
	all.set(one, two)
	if f = until(live.Silent); f.Seq != 7 || f.Agents[1].Heard != 4 ||
		f.Agents[0].State != live.Here {
		t.Errorf("%+v", f)
	}
	two.Lost = true
	all.set(one, two)
	until(live.Lost)
	two.Lost, two.Ended = false, true
	all.set(one, two)
	until(live.Ended)
}

// TestOrdersAfterTheTestAreRefused: what the trial would not carry out any more is not accepted.
func TestOrdersAfterTheTestAreRefused(t *testing.T) {
	a := &Viewers{most: 100, phase: "measure", like: live.Frame{Storms: []string{"rush"}}}
	orders := []live.Order{{
		Do:    live.OrderUsers,
		Users: 5,
	}, {Do: live.OrderStorm, Kind: "rush", Share: 0.5}}
	for _, o := range orders {
		if done, err := a.order(o); err != nil || done == "" {
			t.Fatalf("%+v: %q, %v", o, done, err)
		}
	}
	if last := a.LastOrders(); !slices.Equal(last, orders) {
		t.Errorf("%+v, want %+v", last, orders)
	}
	for _, o := range orders {
		if done, err := a.order(o); err == nil || !strings.Contains(err.Error(), "it has ended") {
			t.Errorf("%+v: %q, %v", o, done, err)
		}
	}
	if more := a.LastOrders(); len(more) > 0 {
		t.Errorf("%+v was accepted", more)
	}
}
