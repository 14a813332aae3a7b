package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// checkJUnit holds the counts of a text against its cases; golden files have its elements and
// attributes.
func checkJUnit(text string) (problems []string) {
	bad := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	var all junitSuites
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		return []string{err.Error()}
	}
	var whole [3]int
	for _, s := range all.Suites {
		var have [4]int
		names := map[string]bool{}
		for _, c := range s.Cases {
			for i, there := range []bool{true, c.Failure != nil, c.Error != nil, c.Skipped != nil} {
				have[i] += b2i(there)
			}
			if names[c.Name] || !strings.HasPrefix(c.Class, "plimsoll.") ||
				strings.Count(c.Class, ".") != 1 {
				bad(
					"case %q of class %q is there twice, or its class is not one of a package",
					c.Name,
					c.Class,
				)
			}
			names[c.Name] = true
		}
		if said := [4]int{s.Tests, s.Failures, s.Errors, s.Skipped}; said != have {
			bad("a suite says %v and has %v", said, have)
		}
		for i := range whole {
			whole[i] += have[i]
		}
	}
	if said := [3]int{all.Tests, all.Failures, all.Errors}; said != whole {
		bad("the suites say %v and have %v", said, whole)
	}
	return problems
}

func TestJUnit(t *testing.T) {
	all := scenes()
	broken := all["aa"]
	broken.broken = true
	all["broken"] = broken
	for name, want := range map[string]struct{ failures, errors, skipped bool }{
		"full":           {failures: true},
		"aa":             {},
		"one-block":      {skipped: true},
		"interrupted":    {errors: true, skipped: true},
		"invalid":        {errors: true},
		"hostile":        {skipped: true},
		"broken":         {failures: true},
		"external":       {},
		"three-arms":     {failures: true},
		"unbounded-only": {failures: true},
		"bounded-only":   {failures: true},
	} {
		t.Run(name, func(t *testing.T) {
			text := written(t, JUnit, From(all[name].input()))
			for _, p := range checkJUnit(text) {
				t.Error(p)
			}
			// Endpoints that were not judged are skipped in every scene.
			got := map[string]int{}
			for _, kind := range []string{"<failure", "<error", "<skipped"} {
				got[kind] = strings.Count(text, kind)
			}
			notJudged := strings.Count(text, `type="not judged"`)
			if (got["<failure"] > 0) != want.failures || (got["<error"] > 0) != want.errors ||
				(got["<skipped"] > notJudged) != want.skipped {
				t.Errorf("%v, %d not judged: want %+v\n%s", got, notJudged, want, text)
			}
		})
	}
	for _, d := range []Document{{}, From(Input{}), judgedDocument()} {
		text := written(t, JUnit, d)
		for _, p := range checkJUnit(text) {
			t.Errorf("%s: %s", d.Title, p)
		}
		if len(d.Verdicts) == 0 && !strings.Contains(text, "<error") {
			t.Errorf("nothing was judged, and nothing is red:\n%s", text)
		}
	}
}

// TestJUnitFollowsTheVerdict: a worse result is a failure, an unknown one an error, and only an
// undecided one is skipped.
func TestJUnitFollowsTheVerdict(t *testing.T) {
	for kind, want := range map[verdict.Kind]string{
		verdict.Worse:        "failure",
		verdict.Invalid:      "error",
		verdict.Inconclusive: "skipped",
		verdict.Same:         "",
		verdict.Better:       "",
	} {
		c := endpointCase(verdict.Result{
			Endpoint: plan.Endpoint{Name: "capacity"},
			Kind:     kind,
			Reason:   "because",
		})
		got := ""
		switch {
		case c.Failure != nil:
			got = "failure"
		case c.Error != nil:
			got = "error"
		case c.Skipped != nil:
			got = "skipped"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	d := Document{}
	for _, tt := range []struct {
		values []RuleValue
		want   string
	}{
		{[]RuleValue{{Value: 1}}, ""}, {[]RuleValue{{Value: 1}, {Violated: true}, {NoData: true}}, "failure"}, {[]RuleValue{{Value: 1}, {NoData: true}}, "error"}, {[]RuleValue{{TooFew: true}, {Value: 1}}, "skipped"},
	} {
		c := d.ruleCase(RuleRow{Rule: "p99(op) < 2s", Measured: tt.values})
		if got := map[bool]string{
			c.Failure != nil: "failure",
			c.Error != nil:   "error",
			c.Skipped != nil: "skipped",
		}[true]; got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.values, got, tt.want)
		}
	}
}
