package report

import (
	"encoding/json"
	"io"
	"math"
	"strings"
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
		form  string
		write func(io.Writer) error
		want  []string
	}{
		{"screen", func(w io.Writer) error { return Screen(w, d, 200) }, []string{words}},
		{"markdown", func(w io.Writer) error { return Markdown(w, d) }, []string{words, name, kinds}},
		{"full", func(w io.Writer) error { return FullMarkdown(w, d) }, []string{words, name, kinds}},
		{"html", func(w io.Writer) error { return HTML(w, d) }, []string{words, name, kinds}},
		{"comment", func(w io.Writer) error { return Comment(w, d) }, []string{words, name}},
		{"junit", func(w io.Writer) error { return JUnit(w, d) }, []string{name, "typical(op): worse: new is 40.7"}},
		{"csv", func(w io.Writer) error { return CSV(w, d) }, []string{name}},
		{"json", func(w io.Writer) error { return JSON(w, d) }, []string{`"name":"typical(op)"`, `"compared":21,"share":0.984`}},
	} {
		text := string(render(t, tt.write))
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q", tt.form, want)
			}
		}
	}
	var stored struct {
		Verdicts []struct{ Verdict verdict.Verdict }
	}
	if err := json.Unmarshal(render(t, func(w io.Writer) error { return JSON(w, d) }), &stored); err != nil {
		t.Fatal(err)
	}
	results := stored.Verdicts[0].Verdict.Results
	if k := results[len(results)-1].Kinds; k == nil || len(k.Left) != 2 {
		t.Errorf("report.json has %+v", k)
	}
}
