package plan_test

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// TestErrorMarginIsNotBeyondTheRules refuses a margin of errors that calls a difference harmless
// that breaks a rule by itself, and never creates one.
func TestErrorMarginIsNotBeyondTheRules(t *testing.T) {
	const text = `name: n
target: {driver: refchat}
workload: {behavior: poster}
bounded: {users: 10}
unbounded: {max_users: 90, %SLO}
compare: {arms: {base: {}, new: {}}, margin: {%MARGIN}}
`
	known := plan.Known{Drivers: []string{"refchat"}}
	for _, tt := range []struct {
		name, slo, margin, want string
		value                   float64
	}{
		{"no rules", "", "capacity: 5%", "", 0.00025},
		{"no rate", `"p99(op) < 2s"`, "capacity: 5%", "", 0.00025},
		{"a looser rule", `"rate(errors) < 1%"`, "errors: 1pp", "", 0.01},
		{"the limit itself", `"rate(5xx) < 0.025%"`, "errors: 0.025pp", "", 0.00025},
		{"beyond the strictest", `"rate(errors) < 0.1%", "rate(5xx) < 0.025% min 8000", "rate(timeout) < 2%"`, "errors: 0.1pp",
			"6:55: compare.margin.errors: 0.1pp is more than the rule rate(5xx) < 0.025% min 8000 allows at all", 0},
		{"a default below the usual one", `"rate(errors) < 0.01%"`, "capacity: 5%", "", 0.0001},
		{"a warning limits nothing", `"rate(errors) < 0.01% warning"`, "errors: 0.1pp", "", 0.001},
		{"a fault of messages is no failed operation", `"rate(lost) < 0.01%"`, "errors: 0.1pp", "", 0.001},
	} {
		t.Run(tt.name, func(t *testing.T) {
			slo := ""
			if tt.slo != "" {
				slo = "slo: [" + tt.slo + "]"
			}
			src := strings.NewReplacer("%SLO", slo, "%MARGIN", tt.margin).Replace(text)
			p, err := known.Parse([]byte(src))
			if tt.want != "" {
				failure.Says(t, err, tt.want)
				if _, err := plan.Parse([]byte(src)); err != nil {
					t.Errorf("a stored plan is not readable: %v", err)
				}
				return
			}
			failure.None(t, err)
			if got := p.Compare.Margin["errors"]; got.Value != tt.value {
				t.Errorf("the margin of errors is %v, want %v", got.Value, tt.value)
			}
		})
	}
}

// TestErrorMarginIsNotBeyondTheRulesOfTheBoundedTest: errors are an endpoint of the bounded test,
// whose rules count like the rules of the search.
func TestErrorMarginIsNotBeyondTheRulesOfTheBoundedTest(t *testing.T) {
	const text = `name: n
target: {driver: refchat}
workload: {behavior: poster}
bounded: {users: 10, slo: ["rate(errors) < 0.05%"]}
compare: {arms: {base: {}, new: {}}, margin: {errors: 0.1pp}}
`
	_, err := plan.Known{Drivers: []string{"refchat"}}.Parse([]byte(text))
	if want := "compare.margin.errors: 0.1pp is more than the rule rate(errors) < 0.05% min 4000 allows at all"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestAStoredPlanHasTheMarginsThatItLists reads a plan that was stored before costs and typical(op)
// were endpoints: reading it again adds none.
func TestAStoredPlanHasTheMarginsThatItLists(t *testing.T) {
	p, err := plan.Parse([]byte(
		"name: n\ntarget: {driver: refchat}\nworkload: {behavior: poster}\nbounded: {users: 10}\ncompare: {arms: {base: {}, new: {}}}\n",
	))
	failure.None(t, err)
	delete(p.Compare.Margin, "cost(app)")
	delete(p.Compare.Margin, "cost(db)")
	delete(p.Compare.Margin, "typical(op)")
	delete(p.Compare.Margin, "typical(delivery)")
	old := p.String()
	stored, err := plan.ParseStored([]byte(old))
	if err != nil || len(stored.Compare.Margin) != 5 || stored.String() != old {
		t.Errorf("the stored plan has the margins %v, %v", stored.Compare.Margin, err)
	}
	again, err := plan.Parse([]byte(old)) // as a person's plan it is one of today
	if err != nil || len(again.Compare.Margin) != 9 {
		t.Errorf("a plan of a person has the margins %v, %v", again.Compare.Margin, err)
	}
}

// TestNotJudged: a plan may leave endpoints out that are judged by default, but neither the errors
// nor all.
func TestNotJudged(t *testing.T) {
	const text = `name: n
target: {driver: refchat}
workload: {behavior: poster}
%TESTS
compare: {arms: {base: {}, new: {}}, margin: {%MARGIN}}
`
	known := plan.Known{Drivers: []string{"refchat"}}
	const bounded, search = "bounded: {users: 10}", "unbounded: {max_users: 90}"
	for _, tt := range []struct{ name, tests, margin, dropped, want string }{
		{"one", bounded, "p95(post): none", "p95(post)", ""},
		{"two", bounded + "\n" + search, "p99(op): none, capacity: none", "capacity p99(op)", ""},
		{"one of a test that there is not", search, "p95(post): none", "", ""},
		{"none of them", bounded, "p95(post): 5%", "", ""},
		{"errors", bounded, "errors: none", "", "compare.margin.errors: none is refused, because an arm that fails"},
		{"not a default", bounded, "p99(post): none", "", "none is for endpoints that are judged by default, and"},
		{"all", search, "capacity: none", "", "compare.margin: leaves no endpoint to be judged; remove none of at least one of capacity"},
		{"no margin", bounded, "p95(post): never", "", "compare.margin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.NewReplacer("%TESTS", tt.tests, "%MARGIN", tt.margin).Replace(text)
			p, err := known.Parse([]byte(src))
			if tt.want != "" {
				failure.Says(t, err, tt.want)
				return
			}
			failure.None(t, err)
			if got := strings.Join(p.NotJudged(), " "); got != tt.dropped {
				t.Errorf("not judged: %q, want %q", got, tt.dropped)
			}
			for _, e := range p.Endpoints() {
				if strings.Contains(tt.dropped, e.Name) || !(e.Margin > 0) {
					t.Errorf("%s is judged, with the margin %v", e.Name, e.Margin)
				}
			}
			plan.ReadAgain(t, p)
		})
	}
}
