package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"plimsoll/plan"
)

// TestUnknown lets an endpoint that the host left without a pair keep a verdict open, and hide none
// that is worse.
func TestUnknown(t *testing.T) {
	errorRate := plan.Endpoint{
		Name:     "errors",
		Better:   plan.Lower,
		Margin:   0.1,
		Unit:     "%",
		Absolute: true,
	}
	r := Unknown(errorRate, "the host was busy", Options{
		Alpha:    0.05,
		Blocks:   6,
		BaseName: "base",
		NewName:  "new",
	})
	if r.Kind != Inconclusive || r.Indicative || r.N != 0 || r.PairsNeeded != 0 ||
		!math.IsNaN(r.Effect) ||
		!strings.Contains(r.Sentence, "errors: inconclusive: the host was busy") {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	cost := plan.Endpoint{Name: "cost(app)", Better: plan.Lower, Margin: 0.05, Unit: "ms"}
	pairs := func(ratio float64) (out []Pair) {
		for i := range 6 {
			base := 2 + 0.01*float64(i%3)
			out = append(out, Pair{
				Block: i + 1,
				Base:  base,
				New:   base * (ratio + 0.001*float64(i%2)),
			})
		}
		return out
	}
	for ratio, want := range map[float64]Kind{1: Inconclusive, 1.25: Worse, 0.75: Inconclusive} {
		v := Combine("PostgreSQL", []Result{Judge(cost, pairs(ratio), Fixed(6)), r})
		if v.Kind != want || v.Indicative {
			t.Errorf(
				"a cost of %v beside it: %s, indicative %v, want %s",
				ratio,
				v.Kind,
				v.Indicative,
				want,
			)
		}
	}
}
