package comparison

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// TestPilotThatFindsNothingFallsBack makes a pilot that finds nothing once more. When that finds nothing either, the
// searches begin at the plan's start, and the comparison records it; it does not end.
func TestPilotThatFindsNothingFallsBack(t *testing.T) {
	for blind, unguided := range map[int]bool{1: false, 2: true} {
		b := newBench(t)
		b.blind = blind
		c := b.compare(2)
		if c.State != record.Sealed || len(c.Runs) != 2+1+24 {
			t.Fatalf("%d pilots that find nothing: %d runs, %s %s", blind, len(c.Runs), c.State, c.Why)
		}
		why, said := c.Unguided["postgresql"]
		if said != unguided || said && !strings.Contains(why, "the host was busy") || c.Start["mysql"] == 0 {
			t.Errorf("%d pilots that find nothing: unguided %q, starts %v", blind, c.Unguided, c.Start)
		}
		for i, s := range b.starts[3:] {
			if engine := c.Runs[3+i].Engine; (s == 0) != (unguided && engine == "postgresql") {
				t.Errorf("%d pilots that find nothing: a search on %s began at %d", blind, engine, s)
			}
		}
	}
}

// TestVoidBlockWaitsAndIsRunAgain waits for a quiet host before each repeat, until the plan's time is used up: 12
// minutes, of which a wait takes one and a block four. Then the comparison ends with the blocks that it has.
func TestVoidBlockWaitsAndIsRunAgain(t *testing.T) {
	b := newBench(t)
	for try := range 20 {
		b.invalid[fmt.Sprintf("3 new mysql %d", try+1)] = true
	}
	var most []time.Duration
	b.quiet = func(_ context.Context, d time.Duration) error {
		most = append(most, d)
		return nil
	}
	c := b.compare(3)
	if c.State != record.Sealed || len(c.Runs) != 2+24+3*4 || c.Retried != 12*time.Minute {
		t.Fatalf("%d runs, %v for what was run again, %s", len(c.Runs), c.Retried, c.State)
	}
	if fmt.Sprint(most) != "[30s 1m0s 2m0s]" {
		t.Errorf("waits of at most %v", most)
	}
	if arms, _ := b.judge(c); arms[1].Verdict.Results[0].N != 5 {
		t.Errorf("%d pairs judged", arms[1].Verdict.Results[0].N)
	}
}

// TestWaitIsInterrupted ends a comparison that waits.
func TestWaitIsInterrupted(t *testing.T) {
	b := newBench(t)
	b.invalid["3 new mysql 1"] = true
	ctx, cancel := context.WithCancelCause(t.Context())
	b.quiet = func(ctx context.Context, _ time.Duration) error {
		cancel(errors.New("interrupt"))
		return context.Cause(ctx)
	}
	p := parse(t)
	p.Compare.Retry = 12 * time.Minute
	if c := carriedOut(ctx, t, b.config(p)); c.State != record.Interrupted || len(c.Runs) != 2+24 || c.Why != "interrupt" {
		t.Errorf("%s %s, %d runs", c.State, c.Why, len(c.Runs))
	}
}

// TestDisturbedBlocksKeepTheirCost lets a neighbor disturb a run of every block. The cost of an operation is counted
// by process and still decides; nothing else of the blocks is judged, and a cost that is the same leaves the verdict
// open: it does not make builds the same.
func TestDisturbedBlocksKeepTheirCost(t *testing.T) {
	for _, tt := range []struct {
		cost float64
		kind verdict.Kind
	}{{4, verdict.Worse}, {2, verdict.Inconclusive}} {
		b := newBench(t)
		b.cause = record.ByHost
		for block := range 6 {
			b.invalid[fmt.Sprintf("%d base postgresql 1", block+1)] = true
		}
		c := b.compare(0)
		arms, _ := b.judge(c, costly(c, map[string]float64{"base": 2, "new": tt.cost}))
		for _, j := range arms {
			cost, capacity := resultOf(t, j.Verdict, "cost(app)"), resultOf(t, j.Verdict, "capacity")
			if j.Verdict.Kind != tt.kind || cost.N != 6 || capacity.N != 0 {
				t.Errorf("%s: %s, %d pairs of costs and %d of capacities", j.Engine, j.Verdict.Kind, cost.N, capacity.N)
			}
			if capacity.Kind != verdict.Inconclusive || !strings.Contains(capacity.Reason, "others on the host disturbed") {
				t.Errorf("%s: capacity is %s: %s", j.Engine, capacity.Kind, capacity.Reason)
			}
			if why := j.Skipped["typical(op)"]; why != disturbed {
				t.Errorf("%s: typical(op) is not judged because %q", j.Engine, why)
			}
			if !warned(cost, "others on the host disturbed 6 of 6 blocks") {
				t.Errorf("warnings %q", cost.Warnings)
			}
		}
		b.cause = record.ByTarget // its own failures leave nothing to be judged
		for i := range c.Runs {
			c.Runs[i].Disturbed = false
		}
		arms, _ = b.judge(c, costly(c, map[string]float64{"base": 2, "new": tt.cost}))
		if arms[0].Verdict.Kind != verdict.Invalid {
			t.Errorf("blocks that the target voided: %s", arms[0].Verdict.Kind)
		}
	}
}

// TestDisturbedDoesNotExcuseAnArm voids every run of the new arm by a red gate of the target beside a neighbor that was
// noticed: that is not the host alone, and the endpoints without a number are invalid.
func TestDisturbedDoesNotExcuseAnArm(t *testing.T) {
	b := newBench(t)
	b.cause, b.targetToo = record.ByHost, true
	for block := range 6 {
		b.invalid[fmt.Sprintf("%d new postgresql 1", block+1)] = true
	}
	c := b.compare(0)
	arms, _ := b.judge(c, costly(c, map[string]float64{"base": 2, "new": 2}))
	if v := arms[0].Verdict; v.Kind != verdict.Invalid || resultOf(t, v, "capacity").Kind != verdict.Invalid {
		t.Errorf("%s: %s", v.Kind, v.Reason)
	}
}
