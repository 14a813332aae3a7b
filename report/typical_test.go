package report

import (
	"math"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// TestTypicalIsReported has the shift of all operations in every form: in words where sentences
// are, by its name in tables, and with the share of operations that it is of.
func TestTypicalIsReported(t *testing.T) {
	e, err := plan.ParseEndpoint("typical(op)")
	if err != nil {
		t.Fatal(err)
	}
	e.Margin = 0.05
	in := full().input()
	for i := range in.Arms {
		var pairs []verdict.Pair
		for k := range 6 {
			base := 12 + float64(k)
			pairs = append(pairs, verdict.Pair{Block: k + 1, Base: base, New: base * 1.4 * math.Exp(0.002*float64(k))})
		}
		r := verdict.Judge(e, pairs, verdict.Fixed(6))
		r.Kinds = &verdict.Kinds{Compared: 21, Share: 0.984, Left: []string{"pin", "upload"}, Least: 10}
		v := in.Arms[i].Verdict
		in.Arms[i].Verdict = verdict.Combine(v.Database, append(v.Results, r))
	}
	d := From(in)
	const words, name = "typical response time of all operations +40.7 % [+40.2, +41.3] at 95 %", "typical(op)"
	const kinds = "each of 21 kinds of operations against itself, weighted by counts: 98.4 % of all operations; left out, with fewer than 10 in a run: pin, upload"
	for _, tt := range []struct {
		text string
		want []string
	}{
		{screenText(t, d, 200), []string{words}},
		{reported(t, Markdown, d), []string{words, name, kinds}},
		{written(t, FullMarkdown, d), []string{words, name, kinds}},
		{reported(t, HTML, d), []string{words, name, kinds}},
		{written(t, Comment, d), []string{words, name}},
		{written(t, JUnit, d), []string{name, "typical(op): worse: new is 40.7"}},
		{written(t, CSV, d), []string{name}},
		{reported(t, JSON, d), []string{`"name":"typical(op)"`, `"compared":21,"share":0.984`}},
	} {
		has(t, tt.text, tt.want...)
	}
	var stored struct {
		Verdicts []struct{ Verdict verdict.Verdict }
	}
	readBack(t, d, &stored)
	results := stored.Verdicts[0].Verdict.Results
	if k := results[len(results)-1].Kinds; k == nil || len(k.Left) != 2 {
		t.Errorf("report.json has %+v", k)
	}
}
