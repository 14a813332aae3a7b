package workload

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"plimsoll/internal/race"
	"plimsoll/load/measure"
)

// The ledger of an agent that drives one user in a thousand of a million keeps places for its own.
func TestLedgerOfAnAgentsOwnUsers(t *testing.T) {
	race.SkipBudget(t)
	const users, agents, agent, messages = 1_000_000, 1000, 7, 100
	l := NewLedger(0, 1)
	l.Share()
	l.Divide(agent, Evenly(agents))
	rec := measure.NewRegistry(1).Recorder(0)
	name := rec.Name(Delivery)
	now := time.Now()
	l.Settle(now)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for u := agent; u < users; u += agents {
		l.Connected(u, now, false)
		l.Join(u, "c", now)
	}
	for m := range messages {
		id := []byte(fmt.Sprint("m", m))
		sent := now.Add(time.Duration(m+1) * time.Millisecond)
		for u := agent; u < users-agents; u += agents { // the last of them gets nothing
			l.Seen(u, []byte("c"), id, nil, sent.Add(time.Millisecond), rec, name)
		}
		l.Heard(Message{
			ID:      string(id),
			Channel: "c",
			Author:  8,
			Sent:    sent,
			Acked:   sent.Add(2 * time.Millisecond),
		}, sent.Add(2*time.Millisecond))
	}
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	t.Logf(
		"%.2f MB for %d users of %d and %d messages",
		float64(got)/1e6,
		users/agents,
		users,
		messages,
	)
	// Each message has its bitmaps; the list of the events that wait for the acknowledgment is that
	// of the one before.
	const budget = messages*2048 + users/agents*512
	if got > budget {
		t.Errorf(
			"%d bytes for %d users of %d and %d messages, budget %d",
			got,
			users/agents,
			users,
			messages,
			budget,
		)
	}
	l.Settle(now.Add(20 * time.Second))
	if c := l.Count(); c.Seen != messages*(users/agents-1) || c.Lost != messages ||
		c.Judged != messages ||
		c.Duplicated != 0 ||
		c.Misordered != 0 {
		t.Errorf("%+v", c)
	}
}

// Authors and recipients of one agent are the same users with and without the others.
func TestDividedLedgerKnowsItsAuthors(t *testing.T) {
	l := NewLedger(0, 1)
	l.Share()
	l.Divide(1, Evenly(3))
	rec := measure.NewRegistry(1).Recorder(0)
	name := rec.Name(Delivery)
	now := time.Now()
	for _, u := range []int{1, 4, 7} {
		l.Connected(u, now, false)
		l.Join(u, "c", now)
	}
	sent := now.Add(time.Second)
	at := sent.Add(time.Millisecond)
	// to 1 and 7
	l.Acked(Message{ID: "own", Channel: "c", Author: 4, Sent: sent, Acked: at})
	// to all three; 3 / 3 is the place of 4
	l.Heard(Message{ID: "other", Channel: "c", Author: 3, Sent: sent, Acked: at}, at)
	// likewise
	l.Heard(Message{ID: "served", Channel: "c", Author: firstServer + 4, Sent: sent, Acked: at}, at)
	for _, id := range []string{"own", "other", "served"} {
		for _, u := range []int{1, 4, 7} {
			l.Seen(u, []byte("c"), []byte(id), nil, at, rec, name)
		}
	}
	l.Settle(now.Add(20 * time.Second))
	if c := l.Count(); c.Seen != 2+3+3 || c.Lost != 0 || c.Duplicated != 0 {
		t.Errorf("%+v", c)
	}
	if out := l.Outbox(); len(out.Acked) != 1 || out.Acked[0].Author != 4 {
		t.Errorf("%+v", out.Acked)
	}
}
