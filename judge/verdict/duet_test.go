package verdict_test

import (
	"testing"

	"plimsoll/judge/verdict"
)

// TestPairsMadeAtOnce judges equal builds from six pairs of which neither run came first, as those of a duet: one in
// twenty verdicts is wrong at most.
func TestPairsMadeAtOnce(t *testing.T) {
	for _, five := range []bool{false, true} {
		w := world{five: five, sd: 0.02, blocks: 6, blind: true, margin: 0.0005}
		o := w.simulate(t, comparisons)
		if wrong := o.share(o.kinds[verdict.Worse] + o.kinds[verdict.Better]); wrong > 0.06 {
			t.Errorf("five endpoints %v: %.1f %% of the verdicts on equal builds are worse or better", five, 100*wrong)
		}
	}
}
