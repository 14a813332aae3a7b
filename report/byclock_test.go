package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCorrectionIsStated names the CPU time that was left out of a cost, from 1 % on, between arms
// and between databases.
func TestCorrectionIsStated(t *testing.T) {
	in := inTurns()
	other := in.Arms[0].Verdict
	other.Results = slices.Clone(other.Results)
	in.Databases = []Judged{{Engine: in.Arms[0].Engine, Verdict: other}}
	for _, verdicts := range [][]Judged{in.Arms, in.Databases} {
		r := &verdicts[0].Verdict.Results[0]
		for _, share := range []float64{0.004, 0.383} {
			r.ByClock = [2]float64{0.006, share}
			d := From(in)
			text := written(t, FullMarkdown, d)
			note := fmt.Sprintf("is left out, in each block by itself: %s 0.6 %% of ", r.Name)
			if got, want := strings.Contains(text, note), share > leastByClock; got != want {
				t.Errorf(
					"with a share of %v the report contains %q: %v, want %v",
					share,
					note,
					got,
					want,
				)
			}
		}
		r.ByClock = [2]float64{}
	}
}
