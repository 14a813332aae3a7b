package report

import (
	"math"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// TestImpliedCapacityIsReported has what a cost means for the supported users in every form that people read, and in
// JSON.
func TestImpliedCapacityIsReported(t *testing.T) {
	in := full().input()
	for i := range in.Arms {
		var pairs []verdict.Pair
		for k := range 6 {
			pairs = append(pairs, verdict.Pair{Block: k + 1, Base: 2, New: 2.3 * math.Exp(0.002*float64(k))})
		}
		e := plan.Endpoint{Name: "cost(app)", Better: plan.Lower, Margin: 0.05, Unit: "ms"}
		v := in.Arms[i].Verdict
		in.Arms[i].Verdict = verdict.Combine(v.Database, append(v.Results, verdict.Judge(e, pairs, verdict.Fixed(6))))
	}
	d := From(in)
	if kind := d.Verdicts[0].Verdict.Results[len(d.Verdicts[0].Verdict.Results)-1].Implies.Search; kind != verdict.Confirmed {
		t.Fatalf("the searches on PostgreSQL: %s", kind)
	}
	bounded := d // which leaves more room on a screen
	bounded.Capacity, bounded.Limiters, bounded.Warnings, bounded.WarningGroups = nil, nil, nil, nil
	for _, text := range []string{
		screenText(t, bounded, 200), written(t, FullMarkdown, d), reported(t, Markdown, d), reported(t, HTML, d),
		written(t, Comment, d), written(t, JUnit, d),
	} {
		has(t, text, "For a limit by the CPU of app, users ∝ 1/cost: -13.", "the searches confirm it: -1", "the searches contradict it: ")
	}
	var stored struct {
		Verdicts []struct {
			Verdict struct {
				Results []struct{ Implies *verdict.Implied }
			}
		}
	}
	readBack(t, d, &stored)
	results := stored.Verdicts[1].Verdict.Results
	if m := results[len(results)-1].Implies; m == nil || m.Search != verdict.Contradicted || !(m.Effect < -0.13) {
		t.Errorf("report.json has %+v", m)
	}
}
