package comparison

import (
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// TestDisturbedBlocksKeepTheirCost lets a neighbor disturb a run of every block. The cost of an
// operation is counted by process and still decides; nothing else of the blocks is judged, and a
// cost that is the same leaves the verdict open: it does not make builds the same.
func TestDisturbedBlocksKeepTheirCost(t *testing.T) {
	for _, tt := range []struct {
		cost float64
		kind verdict.Kind
	}{{4, verdict.Worse}, {2, verdict.Inconclusive}} {
		b := newBench(t)
		b.cause = record.ByHost
		b.void("base", "postgresql", 1, 2, 3, 4, 5, 6)
		c := b.compare(0)
		arms, _ := b.judge(c, costly(c, map[string]float64{"base": 2, "new": tt.cost}))
		for _, j := range arms {
			cost := resultOf(t, j.Verdict, "cost(app)")
			capacity := resultOf(t, j.Verdict, "capacity")
			if j.Verdict.Kind != tt.kind || cost.N != 6 || capacity.N != 0 {
				t.Errorf(
					"%s: %s, %d pairs of costs and %d of capacities",
					j.Engine,
					j.Verdict.Kind,
					cost.N,
					capacity.N,
				)
			}
			if capacity.Kind != verdict.Inconclusive ||
				!strings.Contains(capacity.Reason, "others on the host disturbed") {
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

// TestDisturbedDoesNotExcuseAnArm voids every run of the new arm by a red gate of the target beside
// a neighbor that was noticed: that is not the host alone, and the endpoints without a number are
// invalid.
func TestDisturbedDoesNotExcuseAnArm(t *testing.T) {
	b := newBench(t)
	b.cause, b.targetToo = record.ByHost, true
	b.void("new", "postgresql", 1, 2, 3, 4, 5, 6)
	c := b.compare(0)
	arms, _ := b.judge(c, costly(c, map[string]float64{"base": 2, "new": 2}))
	if v := arms[0].Verdict; v.Kind != verdict.Invalid ||
		resultOf(t, v, "capacity").Kind != verdict.Invalid {
		t.Errorf("%s: %s", v.Kind, v.Reason)
	}
}
