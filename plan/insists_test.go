package plan_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// TestInsists: a plan insists on the endpoints that it names, and on those with another margin than
// the usual one. Its canonical form, which lists all margins, insists on the same ones.
func TestInsists(t *testing.T) {
	const text = `name: n
target: {driver: refchat}
workload: {behavior: poster}
bounded: {users: 10}
compare: {arms: {base: {}, new: {}}, %MORE}
`
	for _, tt := range []struct{ more, insists, want string }{
		{"blocks: 6", "", ""},
		{"margin: {p99(op): 15%}", "", ""},
		{"margin: {p99(op): 20%, p99(post): 15%}", "p99(op) p99(post)", ""},
		{"endpoints: [p99(op), p95(post)]", "p95(post) p99(op)", ""},
		{"endpoints: [p99(post)]", "", "5:50: compare.endpoints[0]: \"p99(post)\" is not judged by this plan; want an endpoint with a margin"},
		{"margin: {p99(op): none}, endpoints: [p99(op)]", "", "compare.endpoints[0]: \"p99(op)\" is not judged"},
		{"endpoints: [capacity]", "", "compare.endpoints[0]: \"capacity\" is not judged"},
	} {
		p, err := plan.Parse([]byte(strings.Replace(text, "%MORE", tt.more, 1)))
		if tt.want != "" {
			failure.Says(t, err, tt.want)
			continue
		}
		failure.None(t, err)
		for _, p := range []*plan.Plan{p, plan.ReadAgain(t, p)} {
			var insists []string
			for _, e := range p.Endpoints() {
				if _, quantile := e.Quantile(); quantile && p.Insists(e.Name) {
					insists = append(insists, e.Name)
				}
			}
			slices.Sort(insists)
			if got := strings.Join(insists, " "); got != tt.insists {
				t.Errorf("%s: insists on %q, want %q", tt.more, got, tt.insists)
			}
		}
	}
}
