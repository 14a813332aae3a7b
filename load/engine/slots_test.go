package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/race"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// An agent that drives one user in a thousand of a million keeps slots for its own.
func TestSlotsOfAnAgentsOwnUsers(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates too")
	}
	const users, agents = 1_000_000, 1000
	synctest.Test(t, func(t *testing.T) {
		d := &diary{fake: fake{service: time.Millisecond}}
		l, err := New(t.Context(), Config{Env: workload.Env{Registry: measure.NewRegistry(1), Ledger: workload.NewLedger(0, 3), Pace: 1, Seed: 3, URL: "a"}, Clock: clock.New(time.Now()), Agent: 7, Agents: agents,
			Mix: []Part{{Behavior: &diary{fake: fake{service: time.Millisecond}}, Share: 0.3}, {Behavior: d, Share: 0.7}}})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := l.SetUsers(users, time.Hour); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		got := after.TotalAlloc - before.TotalAlloc
		const budget = users / agents * 12 << 10 // an own user's streams, timer and channels
		t.Logf("%.1f MB for %d users of %d", float64(got)/1e6, users/agents, users)
		if got > budget {
			t.Errorf("%d bytes for %d users of %d, budget %d", got, users/agents, users, budget)
		}
		l.Stop(0)
	})
}
