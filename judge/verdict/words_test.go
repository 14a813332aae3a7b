package verdict_test

import (
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// Beyond MostBlocks the advice gives no number of blocks.
func TestNoAdviceOfHundreds(t *testing.T) {
	noisy := func(step float64) verdict.Result {
		var pairs []verdict.Pair
		for b := 1; b <= 8; b++ {
			x := 100 + step*float64(b%4-1)
			pairs = append(pairs, verdict.Pair{Block: b, Base: 100, New: x})
		}
		return verdict.Judge(plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}, pairs, verdict.Options{})
	}
	far, near := noisy(60), noisy(5)
	if far.Kind != verdict.Inconclusive || far.PairsNeeded <= verdict.MostBlocks && far.PairsNeeded != 0 || !far.OutOfReach() || !strings.Contains(far.Sentence, "not even 100 pairs would be enough") {
		t.Errorf("%d pairs needed: %s", far.PairsNeeded, far.Sentence)
	}
	if near.Kind != verdict.Inconclusive || near.OutOfReach() || !strings.Contains(near.Sentence, "more are needed") {
		t.Errorf("%d pairs needed: %s", near.PairsNeeded, near.Sentence)
	}
}

// Where no run had an error, operations are missing: the advice gives the pairs that supply them, and no detectable
// change, because nothing varies.
func TestAdviceOnTooFewOperations(t *testing.T) {
	var pairs []verdict.Pair
	for b := 1; b <= 6; b++ {
		pairs = append(pairs, verdict.Pair{Block: b, BaseOps: 100, NewOps: 100})
	}
	r := verdict.Judge(plan.Endpoint{Name: "errors", Better: plan.Lower, Margin: 0.1, Unit: "%", Absolute: true}, pairs, verdict.Options{})
	if r.Kind != verdict.Inconclusive || r.PairsNeeded != 30 {
		t.Errorf("%s, %d pairs needed, want 30: 3000 operations exclude 0.1 pp", r.Kind, r.PairsNeeded)
	}
	if s := r.Sentence; strings.Contains(s, "could find a change of 0") || !strings.Contains(s, "about 24 more pairs are needed") {
		t.Error(s)
	}
}
