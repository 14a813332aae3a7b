package report

import (
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// TestJudgedArms: each verdict of a comparison of three arms names its arm, in every form.
func TestJudgedArms(t *testing.T) {
	of := func(arm string, loss float64) verdict.Verdict {
		var pairs []verdict.Pair
		for b := 1; b <= 6; b++ {
			base := 1000 + 5*float64(b%3)
			pairs = append(pairs, verdict.Pair{
				Block: b,
				Base:  base,
				New:   base * (1 - loss) * (1 + 0.002*float64(b%2)),
			})
		}
		r := verdict.Judge(plan.Endpoint{
			Name:   "capacity",
			Better: plan.Higher,
			Margin: 0.05,
			Unit:   "users",
		}, pairs, verdict.Options{BaseName: "base", NewName: arm})
		v := verdict.Combine("postgresql", []verdict.Result{r})
		v.Database = "postgresql " + arm
		return v
	}
	d := FromRows(JudgeInput{
		Names: [2]string{"base", "b, c"},
		Arms: []Judged{
			{
				Engine:  "postgresql",
				Arm:     "b",
				Verdict: of("b", 0.12),
			}, {Engine: "postgresql", Arm: "c", Verdict: of("c", 0)}},
	})
	if len(d.Arms) != 3 || len(d.Engines) != 1 || d.Verdicts[0].Arm != "b" ||
		d.Verdicts[1].Arm != "c" {
		t.Fatalf("%+v, %+v", d.Arms, d.Engines)
	}
	for name, text := range map[string]string{
		"csv": written(t, CSV, d), "junit": written(t, JUnit, d), "comment": written(t, Comment, d),
	} {
		if strings.Contains(text, "b, c is") || strings.Contains(text, `"b, c"`) ||
			!strings.Contains(text, "postgresql") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	has(t, written(t, CSV, d), "\npostgresql,b,base,capacity", "\npostgresql,c,base,capacity")
}
