package rig

import (
	"strings"
	"testing"

	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// TestRunsHaveTheSameAgents: the runs of an invocation are on the same hosts, whichever agent answers first.
func TestRunsHaveTheSameAgents(t *testing.T) {
	for _, tt := range []struct {
		name       string
		count      int
		crew, lost string
		there      string // the agents that answer; those that are busy with a star
		want       string // those of the run; empty: it waits
	}{
		{"the first run", 2, "", "", "a b c", "a b"},
		{"the first run, one is busy", 2, "", "", "a* b c", "b c"},
		{"the first run of all", 0, "", "", "a b", "a b"},
		{"the first run of all, one is busy", 0, "", "", "a b*", ""},
		{"the next run", 2, "b c", "", "a b c", "b c"},
		{"a spare one answers first", 2, "a b", "", "b c", ""},
		{"one still ends its users, and a spare one is free", 2, "a b", "", "a* b c", ""},
		{"one of all still ends its users", 0, "a b", "", "a b*", ""},
		{"one was lost", 2, "a b", "b", "a c", "a"},
		{"all were lost", 2, "a b", "a b", "a c", "c"},
	} {
		j := &joined{crew: strings.Fields(tt.crew), lost: strings.Fields(tt.lost)}
		var all []join.Member
		for name := range strings.FieldsSeq(tt.there) {
			m := join.Member{Name: strings.TrimSuffix(name, "*")}
			m.Busy = m.Name != name
			all = append(all, m)
		}
		var got []string
		if run, ok := j.chosen(&plan.Agents{Count: tt.count}, all, 0); ok {
			for _, m := range run {
				got = append(got, m.Name)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: the run has %q, want %q", tt.name, text, tt.want)
		}
	}
}
