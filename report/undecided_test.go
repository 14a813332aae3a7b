package report

import (
	"strings"
	"testing"

	"plimsoll/judge/verdict"
)

// TestUndecidedEndpoints: in each form of a report, a verdict names the endpoints that it stands on where the plan could
// not decide all, and those are listed as not judged with what they would take.
func TestUndecidedEndpoints(t *testing.T) {
	const name, takes = "p99(op)", "40 min of load for 15 %; 6 blocks can find 57 %"
	in := full().input()
	for i := range in.Arms {
		j := &in.Arms[i]
		j.Verdict = verdict.Combine(j.Verdict.Database, j.Verdict.Results, name)
		j.Skipped[name] = takes
	}
	d := From(in)
	stands := "judged on capacity, p95(post) and errors; p99(op) could not be decided in this time"
	text := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	forms := map[string]string{
		"screen":   text(screenText(t, d, 100)),
		"markdown": text(written(t, FullMarkdown, d)),
		"comment":  text(written(t, Comment, d)),
		"junit":    text(written(t, JUnit, d)),
		"csv":      text(written(t, CSV, d)),
		"json":     text(reported(t, JSON, d)),
	}
	for form, got := range forms {
		if form != "csv" && !strings.Contains(strings.ReplaceAll(got, `\`, ""), stands) {
			t.Errorf("%s: no verdict that is %s:\n%s", form, stands, got)
		}
		if form != "comment" && !strings.Contains(got, takes) {
			t.Errorf("%s: %s is not listed with %q:\n%s", form, name, takes, got)
		}
	}
	for form, want := range map[string]string{"junit": `<testcase name="p99(op)" classname="plimsoll.PostgreSQL"> <skipped type="not judged" message="` + takes, "csv": ",not judged,"} {
		if !strings.Contains(forms[form], want) {
			t.Errorf("%s: no %s:\n%s", form, want, forms[form])
		}
	}
	for _, f := range d.Verdicts {
		if f.Verdict.Kind != verdict.Same {
			continue
		}
		if got := oneSentence(d, f); !strings.HasSuffix(got, "within the margins of capacity, p95(post) and errors; p99(op) could not be decided in this time") {
			t.Errorf("%q", got)
		}
	}
}
