package comparison

import (
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/run/record"
)

// TestMetricThatCouldNotBeGivenHasAReason keeps the reason of a reader, unless some pair has the metric.
func TestMetricThatCouldNotBeGivenHasAReason(t *testing.T) {
	b := newBench(t)
	c := b.compare(t.Context(), 0)
	for _, known := range []bool{false, true} {
		arms, _, err := Judge(c, parse(t), b.load, func(r *record.Run) ([]SecondaryValue, error) {
			v := SecondaryValue{Name: "cost(app) of post", Unit: "ms", Better: plan.Lower, Alone: true}
			if v.Value = 2 + 0.01*float64(len(r.Manifest.ID)); !known {
				v.Value, v.Without = 0, "too few seconds"
			}
			return []SecondaryValue{v}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(arms[0].Secondary.Refused, "; ")
		if has := strings.Contains(text, "cost(app) of post: too few seconds"); has == known {
			t.Errorf("known %v: refused %q", known, text)
		}
	}
}
