package engine

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/race"
	"plimsoll/load/workload"
)

// An agent that drives one user in a thousand of a million keeps slots for its own.
func TestSlotsOfAnAgentsOwnUsers(t *testing.T) {
	race.SkipBudget(t)
	const users, agents = 1_000_000, 1000
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, nil, Config{Env: workload.Env{Ledger: workload.NewLedger(0, 3), Seed: 3,
			URL: "a"}, Agent: 7, Agents: agents, Mix: beside(diary(new([]deed)))})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set(t, l, users, time.Hour)
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
