package report

import (
	"strings"
	"testing"

	"plimsoll/run/record"
)

// The Setup table has the finding of the pilot beside the number of users.
func TestUsersThatAPilotFound(t *testing.T) {
	in := planned()
	engine := in.Comparison.Engines[0]
	in.Comparison.UserLevels = []record.UserLevel{{Engine: engine, Users: 85, Role: "target", Utilization: 0.31, Why: "at 160 users p99(op) < 2s breaks", Run: "p1"}}
	text := written(t, FullMarkdown, From(in))
	const want = `(auto → 85: target uses 31 % of its cores (at 160 users p99(op)`
	if !strings.Contains(text, want) || strings.Count(text, "pilot p1)") != 1 {
		t.Errorf("the Setup does not have %q once", want)
	}
}
