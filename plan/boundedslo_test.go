package plan_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/plan"
)

// TestBoundedRules: the rules of a bounded test count wall-clock time, as all its times do; without
// rules it has the rules of the search, as the search runs them.
func TestBoundedRules(t *testing.T) {
	const text = "name: n\ntarget: {driver: server}\nworkload: {behavior: poster, pace: 0.1}\n"
	const own = "bounded: {users: 5, slo: [\"p99(op) < 2s for 10s\", \"promql: x[$window] < 1 grace 20s\"]}\n"
	const searched = "unbounded: {max_users: 9, window: 100s, slo: [\"p99(op) < 1s for 10s\", \"promql: x[$window] < 1\"]}\n"
	show := func(rules []plan.SLO) (list []string) {
		for _, r := range rules {
			list = append(list, r.String())
		}
		return list
	}
	for _, tt := range []struct {
		name, tests string
		want        []string
	}{
		{"none", "bounded: {users: 5}\n", nil},
		{"its own", own, []string{"p99(op) < 2s for 10s", "promql: x[15000ms] < 1 grace 20s"}},
		{"its own, not the search's", own + searched, []string{"p99(op) < 2s for 10s", "promql: x[10000ms] < 1 grace 20s"}},
		{"the search's", "bounded: {users: 5}\n" + searched, []string{"p99(op) < 1s for 1s", "promql: x[10000ms] < 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := mustParse(t, text+tt.tests)
			if got := show(p.BoundedRules()); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(tt.tests, "$window") && !strings.Contains(p.String(), "$window") {
				t.Error("the plan was changed")
			}
		})
	}
}

// TestTheLimitOfFailedOperationsIsStatedOnce: the rule's text is its own canonical form, and its
// limit is read from it.
func TestTheLimitOfFailedOperationsIsStatedOnce(t *testing.T) {
	r := plan.DefaultFailures()
	if r.Source != plan.FailedOperations || r.Threshold != 0.001 || r.Min != 2000 ||
		!r.LimitsErrors() {
		t.Errorf("%+v", r)
	}
	r.Warning = true
	if r.LimitsErrors() {
		t.Error("a warning limits nothing")
	}
}
