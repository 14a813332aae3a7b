package comparison

import (
	"strings"
	"sync"
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
)

// TestMetricThatCouldNotBeGivenHasAReason leaves out a metric with the reader's reason, also where
// one run alone lacks it: the reason may lie in its value, and the rest would be a selection.
func TestMetricThatCouldNotBeGivenHasAReason(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	for _, lacking := range []int{0, 1, 12} {
		var mu sync.Mutex // runs are read several at once
		of := map[string]bool{}
		arms, _ := b.judge(c, func(r *record.Run) ([]SecondaryValue, error) {
			mu.Lock()
			defer mu.Unlock()
			v := SecondaryValue{
				Name:   "cost(app) of post",
				Unit:   "ms",
				Better: plan.Lower,
				Alone:  true,
			}
			if len(of) < lacking {
				of[r.Manifest.ID] = true
			}
			if v.Value = 2 + 0.01*float64(len(r.Manifest.ID)); of[r.Manifest.ID] {
				v.Value, v.Without = 0, "too few seconds"
			}
			return []SecondaryValue{v}, nil
		})
		text := ""
		for _, a := range arms {
			text += strings.Join(a.Secondary.Refused, "; ")
		}
		if has := strings.Contains(text, "cost(app) of post: too few seconds"); has != (lacking > 0) {
			t.Errorf("%d runs lack it: refused %q", lacking, text)
		}
	}
}
