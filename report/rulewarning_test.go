package report

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/run/record"
)

// A rule that only warns breaks nothing: the report says in how many runs it did not hold, the next steps stay those of
// a comparison that broke no rule, and no CI system is red. The same rule without the word does all of that.
func TestAWarningBreaksNothing(t *testing.T) {
	s := scenes()["aa"]
	without := From(s.input())
	junit := func(d Document) string { return string(render(t, func(w io.Writer) error { return JUnit(w, d) })) }
	if strings.Contains(junit(without), "<failure") {
		t.Fatal("the scene is red without the rule")
	}
	for rule, noData := range map[string]bool{"cpu(db) < 85%": false, "cpu(proxy) < 85%": true} {
		for _, level := range []string{record.Amber, ""} {
			in := s.input()
			if level == record.Amber {
				rule += " warning"
			}
			for i := range in.Runs {
				in.Runs[i].Events = append(in.Runs[i].Events, record.Event{At: 18 * time.Second, Kind: "slo", Rule: rule, Value: 0.9, Limit: 0.85,
					Phase: measuredPhase, Violated: !noData, NoData: noData, Level: level})
			}
			d := From(in)
			red := strings.Contains(junit(d), "<failure") || strings.Contains(junit(d), "<error")
			if want := level == ""; red != want || slices.Equal(d.Actions, without.Actions) == want {
				t.Errorf("%s, level %q: JUnit is red: %v, actions %q", rule, level, red, d.Actions)
			}
			if !slices.ContainsFunc(d.Comments, func(c string) bool { return strings.Contains(c, rule) }) {
				t.Errorf("%s, level %q: no comment names it: %q", rule, level, d.Comments)
			}
			if got := strings.Contains(strings.Join(d.Comments, "\n"), "went beyond "+rule+", which only warns, in "); got != (level == record.Amber && !noData) {
				t.Errorf("%s, level %q: a comment says that it only warns: %v", rule, level, got)
			}
			rule = strings.TrimSuffix(rule, " warning")
		}
	}
}
