package verdict_test

import (
	"math"
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
		return verdict.Judge(plan.Endpoint{
			Name:   "capacity",
			Better: plan.Higher,
			Margin: 0.05,
			Unit:   "users",
		}, pairs, verdict.Options{})
	}
	far, near := noisy(60), noisy(5)
	if far.Kind != verdict.Inconclusive ||
		far.PairsNeeded <= verdict.MostBlocks && far.PairsNeeded != 0 ||
		!far.OutOfReach() ||
		!strings.Contains(far.Sentence, "not even 100 pairs would be enough") {
		t.Errorf("%d pairs needed: %s", far.PairsNeeded, far.Sentence)
	}
	if near.Kind != verdict.Inconclusive || near.OutOfReach() ||
		!strings.Contains(near.Sentence, "more are needed") {
		t.Errorf("%d pairs needed: %s", near.PairsNeeded, near.Sentence)
	}
}

// Where no run had an error, operations are missing: the advice gives the pairs that supply them,
// and no detectable change, because nothing varies.
func TestAdviceOnTooFewOperations(t *testing.T) {
	var pairs []verdict.Pair
	for b := 1; b <= 6; b++ {
		pairs = append(pairs, verdict.Pair{Block: b, BaseOps: 100, NewOps: 100})
	}
	r := verdict.Judge(plan.Endpoint{
		Name:     "errors",
		Better:   plan.Lower,
		Margin:   0.1,
		Unit:     "%",
		Absolute: true,
	}, pairs, verdict.Options{})
	if r.Kind != verdict.Inconclusive || r.PairsNeeded != 30 {
		t.Errorf(
			"%s, %d pairs needed, want 30: 3000 operations exclude 0.1 pp",
			r.Kind,
			r.PairsNeeded,
		)
	}
	if s := r.Sentence; strings.Contains(s, "could find a change of 0") ||
		!strings.Contains(s, "about 24 more pairs are needed") {
		t.Error(s)
	}
}

// TestTheSentenceNamesTheLook holds the words for a look among others, and for the last that there
// was time for.
func TestTheSentenceNamesTheLook(t *testing.T) {
	var worse, open []verdict.Pair
	for i, v := range []float64{80, 81, 79, 80.5, 79.5, 80.2} {
		worse = append(worse, verdict.Pair{Block: i + 1, Base: 100, New: v})
		open = append(open, verdict.Pair{Block: i + 1, Base: 100, New: 100 + 20*float64(i%3-1)})
	}
	for _, tt := range []struct {
		pairs      []verdict.Pair
		over       bool
		want, lack string
	}{
		{worse, false, "6 pairs, look 1 of 9)", "next"},
		{open, false, "look 2 of 9 is next", "was over"},
		{open, true, "6 pairs, look 1 of 9): ", "is next"},
		{open, true, "the time was over before another look", "is next"},
	} {
		e := plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}
		r := verdict.Judge(e, tt.pairs, verdict.Options{
			Alpha:  0.0147,
			Blocks: 6,
			Look:   1,
			Looks:  9,
			Over:   tt.over,
		})
		if !strings.Contains(r.Sentence, tt.want) || strings.Contains(r.Sentence, tt.lack) {
			t.Errorf("got %q, want %q", r.Sentence, tt.want)
		}
	}
}

// TestMixInWords writes what the mixes of the arms make of a cost.
func TestMixInWords(t *testing.T) {
	got := verdict.RemovedMix{Kinds: 24, Removed: math.Log(1.0164)}.Sentence()
	if want := "each of 24 kinds of operations counts by what it costs both arms; " +
		"their mixes alone make +1.6 %, which is not in it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
