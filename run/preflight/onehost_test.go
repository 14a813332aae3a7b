package preflight

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy"
)

// elsewherePlan is a plan of arms at two addresses, with keys of the comparison.
func elsewherePlan(t *testing.T, base, fresh, keys string) *plan.Plan {
	t.Helper()
	p, err := plan.Known{Drivers: []string{plan.External}}.Parse(fmt.Appendf(nil, `name: n
target: {driver: external}
workload: {behavior: poster}
bounded: {users: 5}
compare: {arms: {base: {url: %q}, new: {url: %q}}%s}
`, base, fresh, keys))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Two references to one address are refused in a duet, and warned of in a sequence, without the
// address's password.
func TestReferencesToOneServer(t *testing.T) {
	r := &deploy.Resolver{Secrets: new(plain.Secrets), Env: func(name string) string {
		return map[string]string{
			"A": "http://127.0.0.1:8065",
			"B": "http://127.0.0.1:8065",
			"C": "http://127.0.0.2:8065",
		}[name]
	}}
	for _, tt := range []struct{ base, fresh, keys, err, caution string }{
		{"${ENV:A}", "${ENV:B}", ", mode: duet", "base and new are both at", ""},
		{"${ENV:A}", "${ENV:C}", ", mode: duet", "", "base and new are both on this host"},
		{"${ENV:A}", "${ENV:B}", "", "", "base and new both lead to 127.0.0.1:8065"},
		{"${ENV:A}", "${ENV:C}", "", "", ""},
		{"${ENV:A}", "${ENV:NONE}", "", "compare.arms.new: ", ""},
	} {
		_, cautions, err := ModeHere(r, elsewherePlan(t, tt.base, tt.fresh, tt.keys))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s and %s%s: %v, want %q", tt.base, tt.fresh, tt.keys, err, tt.err)
		}
		if text := strings.Join(cautions, "; "); !strings.Contains(text, tt.caution) ||
			(text == "") != (tt.caution == "") {
			t.Errorf("%s and %s%s: %q, want %q", tt.base, tt.fresh, tt.keys, text, tt.caution)
		}
	}
}
