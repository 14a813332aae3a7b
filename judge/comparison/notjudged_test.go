package comparison

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// An endpoint that the plan leaves out is not judged: it has no verdict, costs the others nothing
// of their level, and becomes a further metric.
func TestNotJudgedByThePlan(t *testing.T) {
	b := newBench(t)
	b.capacity["newmysql"] = 0.85
	c := b.compare(0)
	judged := func(p *plan.Plan) Judgement {
		arms, databases := mustJudge(t, c, p, b.load)
		for _, j := range slices.Concat(arms, databases) {
			if _, dropped := j.Skipped["p95(post)"]; dropped != p.Compare.Margin["p95(post)"].None {
				t.Errorf("%s %s: left out %v", j.Engine, j.Arm, j.Skipped)
			}
		}
		return arms[1]
	}
	has := func(j Judgement) bool {
		return slices.ContainsFunc(j.Verdict.Results, func(r verdict.Result) bool {
			return r.Name == "p95(post)"
		})
	}
	// The least of n p-values is multiplied by n.
	factor := func(j Judgement) float64 {
		least := slices.MinFunc(j.Verdict.Results, func(x, y verdict.Result) int {
			switch {
			case math.IsNaN(y.P) || x.P < y.P:
				return -1
			default:
				return 1
			}
		})
		return least.HolmP / least.P
	}
	count := func(j Judgement) int { return j.Secondary.Tested + len(j.Secondary.Refused) }
	p := parse(t)
	all := judged(p)
	p.Compare.Margin["p95(post)"] = plan.MarginValue{None: true}
	less := judged(p)
	if !has(all) || has(less) || len(less.Verdict.Results) != len(all.Verdict.Results)-1 ||
		less.Skipped["p95(post)"] != "by the plan" {
		t.Errorf(
			"%d results, %d with all; left out %v",
			len(less.Verdict.Results),
			len(all.Verdict.Results),
			less.Skipped,
		)
	}
	if got, want := factor(all)-factor(less), 1.0; math.Abs(got-want) > 1e-6 {
		t.Errorf(
			"the least p-value is multiplied by %v, and by %v with all",
			factor(less),
			factor(all),
		)
	}
	// The bench's runs hardly vary, so that its metrics exist and are refused.
	further := func(j Judgement) bool {
		return slices.ContainsFunc(j.Secondary.Refused, func(why string) bool {
			return strings.HasPrefix(why, "p95(post): ")
		})
	}
	if further(all) || !further(less) || count(less) != count(all)+1 {
		t.Errorf("further metrics %+v, with all judged %+v", less.Secondary, all.Secondary)
	}
	if less.Verdict.Kind != verdict.Worse {
		t.Errorf("verdict %s: the loss of capacity is still there", less.Verdict.Kind)
	}
}
