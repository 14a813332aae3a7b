package verdict_test

import (
	"slices"
	"testing"

	"plimsoll/judge/verdict"
)

// TestCoarseEndpointsWithoutAChange decide nothing; all others hold the verdict open as before.
func TestCoarseEndpointsWithoutAChange(t *testing.T) {
	tail := func(change func(*verdict.Result)) verdict.Result {
		r := of(verdict.Inconclusive, 0.4)
		r.Endpoint = latency()
		r.Effect, r.Lo, r.Hi, r.Coarse = 0.01, -0.2, 0.26, "4 min of load for 10 %"
		change(&r)
		return r
	}
	cost, errors := of(verdict.Same, 0.6), of(verdict.Same, 1)
	errors.Endpoint = failures()
	for _, tt := range []struct {
		name  string
		tail  func(*verdict.Result)
		other verdict.Result
		want  verdict.Kind
		aside bool
	}{
		{"no change", func(*verdict.Result) {}, cost, verdict.Same, true},
		{"not coarse", func(r *verdict.Result) { r.Coarse = "" }, cost, verdict.Inconclusive, false},
		{"a sign of a change", func(r *verdict.Result) { r.Lo = 0.01 }, cost, verdict.Inconclusive, false},
		{"a sign of another", func(r *verdict.Result) { r.Hi = -0.01 }, cost, verdict.Inconclusive, false},
		{"a change", func(r *verdict.Result) { r.Kind, r.P = verdict.Worse, 0.001 }, cost,
			verdict.Worse, false},
		{"within its margin", func(r *verdict.Result) { r.Kind = verdict.Same }, cost,
			verdict.Same, false},
		{"withheld", func(r *verdict.Result) { r.Withheld = "by a test" }, cost,
			verdict.Inconclusive, false},
		{"too few pairs", func(r *verdict.Result) { r.N = 5 }, cost, verdict.Inconclusive, false},
		{"more looks come", func(r *verdict.Result) { r.Look, r.Looks = 1, 3 }, cost,
			verdict.Inconclusive, false},
		{"the last look", func(r *verdict.Result) { r.Look, r.Looks = 3, 3 }, cost, verdict.Same, true},
		{"the last that has time", func(r *verdict.Result) { r.Look, r.Looks, r.Over = 1, 3, true }, cost,
			verdict.Same, true},
		{"errors alone would be left", func(*verdict.Result) {}, errors, verdict.Inconclusive, false},
	} {
		v := verdict.Combine("", []verdict.Result{tail(tt.tail), tt.other}, "p95(delivery)")
		is := func(r verdict.Result) bool { return r.Name == "p95(post)" }
		aside := slices.ContainsFunc(v.Aside, is)
		if v.Kind != tt.want || aside != tt.aside || slices.ContainsFunc(v.Results, is) == aside ||
			slices.Contains(v.Undecided, "p95(post)") != aside || v.Undecided[0] != "p95(delivery)" {
			t.Errorf("%s: %s, aside %v, undecided %v: %s", tt.name, v.Kind, aside, v.Undecided, v.Lead)
		}
		if aside && v.NotJudged()["p95(post)"] !=
			"no change seen, of -20.00 % to +26.00 %; 4 min of load for 10 %" {
			t.Errorf("%s: %q", tt.name, v.NotJudged()["p95(post)"])
		}
	}
	// Holm's method counts the endpoint that is set aside: p = 0.03 of two is no change.
	v := verdict.Combine("",
		[]verdict.Result{tail(func(*verdict.Result) {}), of(verdict.Worse, 0.03)})
	if v.Kind != verdict.Inconclusive {
		t.Errorf("p = 0.03 of two endpoints: %s", v.Lead)
	}
}
