package comparison_test

import (
	"slices"
	"testing"

	"plimsoll/plan"
)

// The order of endpoints does not depend on the order of a map: the usual ones come first.
func TestOrderOfEndpoints(t *testing.T) {
	p, err := plan.Parse([]byte("name: n\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 1}\nunbounded: {max_users: 5}\n" +
		"compare: {arms: {base: {}, new: {}}, margin: {p95(login): 10%, mean(a): 10%}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"capacity", "cost(app)", "cost(db)", "typical(op)", "typical(delivery)", "p95(post)", "p99(op)", "p95(delivery)", "mean(a)", "p95(login)", "errors"}
	for range 200 {
		var got []string
		for _, e := range p.Endpoints() {
			got = append(got, e.Name)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
