package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/engine"
)

// told gathers the panics reported to a coordinator.
type told struct {
	mu   sync.Mutex
	list []*boundary.Panic
	user []int
}

func (c *told) hear(_, user int, err error) {
	if p, ok := errors.AsType[*boundary.Panic](err); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list, c.user = append(c.list, p), append(c.user, user)
	}
}

func (c *told) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}

// A user that panics in another process is reported with its stack, also behind more errors than
// one report holds, and that process ends with an error.
func TestAPanicOfAnAgentsUserReachesTheCoordinator(t *testing.T) {
	var c told
	cfg := config(time.Now())
	cfg.OnError = c.hear
	served, _ := links(
		1,
		&cfg,
		agentOf(&chatter{mute: true}, func(_ Start, _ *Agent, c *engine.Config) {
			for range 2 * mostErrors {
				c.OnError(-1, errors.New("a small thing"))
			}
		}),
	)
	d, err := New(t.Context(), cfg)
	must(t, err)
	must(t, d.SetUsers(3, 0))
	for deadline := time.Now().Add(30 * time.Second); c.seen() < 3 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		must(t, d.Collect(t.Context()))
	}
	d.Stop(0)
	if len(c.list) != 3 || c.list[0].Value != "no voice at all" ||
		!strings.Contains(c.list[0].Stack, "chatterActor") ||
		c.user[0] < 0 {
		t.Errorf("told %v of users %v", c.list, c.user)
	}
	if _, _, failed := d.Users(); failed != 3 {
		t.Errorf("%d users failed", failed)
	}
	if err := <-served; !says(err, "3 panics") {
		t.Errorf("the agent ended with %v", err)
	}
}

// A request that panics is answered and reported, and does not end the agent.
func TestARequestThatPanicsIsAnswered(t *testing.T) {
	var c told
	cfg := config(time.Now())
	cfg.OnError = c.hear
	served, _ := links(
		1,
		&cfg,
		func(context.Context, Start, time.Time, func(int, error)) (*Agent, error) {
			panic("no agent")
		},
	)
	if _, err := New(t.Context(), cfg); !says(err, "panic in a request: no agent") {
		t.Errorf("a fleet without an agent: %v", err)
	}
	if len(c.list) != 1 || c.list[0].Value != "no agent" || c.user[0] != -1 {
		t.Errorf("told %v of users %v", c.list, c.user)
	}
	if err := <-served; !says(err, "1 panics") {
		t.Errorf("the agent ended with %v", err)
	}
}
