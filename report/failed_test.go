package report

import (
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
	for name, text := range map[string]string{
		"csv": written(t, CSV, d), "junit": written(t, JUnit, d), "json": reported(t, JSON, d),
		"markdown": written(t, FullMarkdown, d), "html": reported(t, HTML, d),
	} {
		has(t, text, verdict.FailedRuns, "2 of 8 runs of new failed and 0 of 8 of base")
		if name != "csv" && name != "junit" {
			has(t, text, "start in block 5")
		}
	}
}
