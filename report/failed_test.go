package report

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
)

// TestFailedRunsInEveryForm looks for the counts of failed runs, and for the failures, in each form of a
// report.
func TestFailedRunsInEveryForm(t *testing.T) {
	s := full()
	in := s.input()
	for i := range in.Arms {
		v := &in.Arms[i].Verdict
		results := append(v.Results, verdict.JudgeFailed(verdict.Attempts{Runs: 8}, verdict.Attempts{Runs: 8, Failed: 2, What: []string{"stationary in block 3", "start in block 5"}},
			verdict.Options{BaseName: "base", NewName: "new"}))
		*v = verdict.Combine(v.Database, results)
	}
	d := From(in)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"csv": func(b *bytes.Buffer) error { return CSV(b, d) }, "junit": func(b *bytes.Buffer) error { return JUnit(b, d) }, "json": func(b *bytes.Buffer) error { return JSON(b, d) },
		"markdown": func(b *bytes.Buffer) error { return FullMarkdown(b, d) }, "html": func(b *bytes.Buffer) error { return HTML(b, d) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, verdict.FailedRuns) || !strings.Contains(text, "2 of 8 runs of new failed and 0 of 8 of base") {
			t.Errorf("%s does not have the counts", name)
		}
		if name != "csv" && name != "junit" && !strings.Contains(b.String(), "start in block 5") {
			t.Errorf("%s does not name what failed", name)
		}
	}
}
