package read

import (
	"strings"
	"testing"

	"plimsoll/evidence"
	"plimsoll/judge/limiter"
	"plimsoll/record"
)

// The end of a search that a gate ended, or that is unstable by itself, states its cause once.
func TestOneCauseOnce(t *testing.T) {
	const cause, rest = "the busiest core: 95 %", "every rule held at 30 users, but no level for long"
	other := "every rule held up to 30 users, and after the overload at none"
	for _, tt := range []struct {
		name    string
		c       record.Capacity
		l       limiter.Limiter
		finding record.Finding
		cause   string
		lacks   string
	}{
		{"unstable by a gate", record.Capacity{Kind: record.Unstable, Rule: record.ByGate + "core", Stopped: record.ByHealth + cause, Why: "the load generator was held up: " + cause + "; " + rest},
			limiter.Limiter{Name: limiter.LimitHost, Sentence: "LIMITED BY OTHERS ON THE HOST: core: " + cause + "."}, record.Finding{Gate: "core", Text: cause + "; this ended the search"}, cause, "this ended"},
		{"a bound by a gate", record.Capacity{Kind: record.AtLeast, Users: 30, Rule: record.ByGate + "core", Stopped: record.ByHealth + cause, Why: "the load generator was held up: " + cause},
			limiter.Limiter{Name: limiter.LimitHost, Sentence: "LIMITED BY OTHERS ON THE HOST: core: " + cause + "."}, record.Finding{Gate: "core", Text: cause + "; this ended the search"}, cause, "this ended"},
		{"unstable by itself", record.Capacity{Kind: record.Unstable, Stopped: "budget: the time of 20s is over", Why: other},
			limiter.Limiter{Name: limiter.LimitNone, Sentence: "Nothing limited the run: the search is unstable: " + other + "."}, record.Finding{Gate: "search", Text: "the search is unstable: " + other}, other, "Nothing"},
	} {
		tt.finding.Level = record.Amber
		s := shown{evidence.Shown{Manifest: record.Manifest{ID: "r", Capacity: &tt.c}, Limiter: &tt.l}}
		s.Validity.Add(tt.finding)
		var out strings.Builder
		if err := s.Screen("dir").Write(&out, 1000); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Count(text, tt.cause) != 1 || strings.Contains(text, tt.lacks) ||
			strings.Contains(tt.c.Why, rest) && !strings.Contains(text, "unstable: "+rest) {
			t.Errorf("%s:\n%s", tt.name, text)
		}
	}
}
