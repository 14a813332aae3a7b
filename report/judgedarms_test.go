package report

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// Each verdict of a comparison of three arms is of its own arm, in every form.
func TestJudgedArms(t *testing.T) {
	of := func(arm string, loss float64) verdict.Verdict {
		var pairs []verdict.Pair
		for b := 1; b <= 6; b++ {
			base := 1000 + 5*float64(b%3)
			pairs = append(pairs, verdict.Pair{Block: b, Base: base, New: base * (1 - loss) * (1 + 0.002*float64(b%2))})
		}
		r := verdict.Judge(plan.Endpoint{Name: "capacity", Better: plan.Higher, Margin: 0.05, Unit: "users"}, pairs, verdict.Options{BaseName: "base", NewName: arm})
		v := verdict.Combine("postgresql", []verdict.Result{r})
		v.Database = "postgresql " + arm
		return v
	}
	d := FromRows(JudgeInput{Names: [2]string{"base", "b, c"}, Verdicts: []verdict.Verdict{of("b", 0.12), of("c", 0)},
		Of: []JudgedOf{{Engine: "postgresql", Arm: "b"}, {Engine: "postgresql", Arm: "c"}}}).Document()
	if len(d.Arms) != 3 || len(d.Engines) != 1 || d.Verdicts[0].Arm != "b" || d.Verdicts[1].Arm != "c" {
		t.Fatalf("%+v, %+v", d.Arms, d.Engines)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"csv": func(b *bytes.Buffer) error { return CSV(b, d) }, "junit": func(b *bytes.Buffer) error { return JUnit(b, d) }, "comment": func(b *bytes.Buffer) error { return Comment(b, d) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Contains(s, "b, c is") || strings.Contains(s, `"b, c"`) || !strings.Contains(s, "postgresql") {
			t.Errorf("%s:\n%s", name, s)
		}
	}
	var csv bytes.Buffer
	if err := CSV(&csv, d); err != nil || !strings.Contains(csv.String(), "\npostgresql,b,base,capacity") || !strings.Contains(csv.String(), "\npostgresql,c,base,capacity") {
		t.Errorf("%v\n%s", err, csv.String())
	}
}
