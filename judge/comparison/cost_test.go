package comparison

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// costly returns a reader of the milliseconds of CPU that each operation of an arm costs; an arm
// that is not in cost shows none.
func costly(c *record.Comparison, cost map[string]float64) Reader {
	return func(r *record.Run) ([]SecondaryValue, error) {
		for i, run := range c.Runs {
			if v := cost[run.Arm]; run.Run == r.Manifest.ID && v > 0 {
				return []SecondaryValue{{
					Name:   "cost(app)",
					Unit:   "ms",
					Better: plan.Lower,
					Value:  v * (1 + 0.001*float64(i%3)),
					Alone:  true,
				}}, nil
			}
		}
		return nil, nil
	}
}

func resultOf(t *testing.T, v verdict.Verdict, name string) verdict.Result {
	t.Helper()
	for _, r := range v.Results {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("%s was not judged", name)
	return verdict.Result{}
}

// TestCostDecides compares builds of which one takes a tenth more CPU time for each operation, and
// is as fast and as large as the other.
func TestCostDecides(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	arms, _ := b.judge(c, costly(c, map[string]float64{"base": 2, "new": 2.2}))
	for _, j := range arms {
		r := resultOf(t, j.Verdict, "cost(app)")
		if j.Verdict.Kind != verdict.Worse || r.Kind != verdict.Worse || r.N != 6 ||
			r.Unit != "ms" ||
			r.Margin != 0.05 {
			t.Errorf("%s: %s, cost(app) %s of %d pairs", j.Engine, j.Verdict.Kind, r.Kind, r.N)
		}
		if slices.ContainsFunc(
			slices.Concat(j.Secondary.Worsened, j.Secondary.Unclear),
			func(m verdict.Secondary) bool {
				return m.Name == "cost(app)"
			},
		) {
			t.Errorf("%s: cost(app) is among the further metrics too", j.Engine)
		}
	}
}

// TestCostThatIsNotVisibleIsLeftOut keeps the other endpoints where the processes of no arm are
// visible, and warns. Where the processes of one arm alone are not visible, nothing is known, and
// the verdict is invalid.
func TestCostThatIsNotVisibleIsLeftOut(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	arms, _ := b.judge(c)
	if j := arms[0]; j.Verdict.Kind != verdict.Same ||
		!strings.Contains(j.Skipped["cost(db)"], "role db is not visible") {
		t.Errorf("%s, skipped %q", j.Verdict.Kind, j.Skipped)
	}
	arms, _ = b.judge(c, costly(c, map[string]float64{"base": 2}))
	r := resultOf(t, arms[0].Verdict, "cost(app)")
	if arms[0].Verdict.Kind != verdict.Invalid ||
		!warned(r, "6 of 6 runs of new: the CPU time of the role app is not visible here") {
		t.Errorf("%s, cost(app) %s, warnings %q", arms[0].Verdict.Kind, r.Kind, r.Warnings)
	}
}
