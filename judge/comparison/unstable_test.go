package comparison

import (
	"math"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// An unstable search gives no number for a pair: not its zero, nor one of its levels, nor silence.
func TestAnUnstableSearchIsNoNumber(t *testing.T) {
	b := newBench(t)
	b.unstable = map[string]bool{"2 new mysql": true}
	c := b.compare(0)
	arms, _ := b.judge(c)
	if len(arms) != 2 {
		t.Fatalf("%d arms were judged, want one on each engine", len(arms))
	}
	for _, arm := range arms {
		want := map[string]int{"postgresql": 6, "mysql": 5}[arm.Engine]
		r := resultOf(t, arm.Verdict, "capacity")
		if r.N != want || math.Abs(r.New.Mean/500-1) > 0.05 {
			t.Errorf(
				"%s: %d pairs, mean %.0f of the new arm; want %d and about 500",
				arm.Engine,
				r.N,
				r.New.Mean,
				want,
			)
		}
		if warned(r, "two levels") != (want == 5) {
			t.Errorf("%s: warnings %q", arm.Engine, r.Warnings)
		}
	}
}

// A new build that has more unstable searches than the base is neither the same nor better, for any
// results of the other pairs.
func TestMoreUnstableSearchesAreNotTheSame(t *testing.T) {
	for _, tt := range []struct {
		name      string
		base, new int // unstable ones
		effect    float64
		want      verdict.Kind
	}{
		{"none", 0, 0, 1, verdict.Same},
		{"one of the new arm", 0, 1, 1, verdict.Inconclusive},
		{"one of each", 1, 1, 1, verdict.Same},
		{"one of the base", 1, 0, 1, verdict.Same},
		{"better, one of the new arm", 0, 1, 1.3, verdict.Inconclusive},
		{"worse, one of the new arm", 0, 1, 0.7, verdict.Worse},
	} {
		var pairs []verdict.Pair
		l := lack{of: [2]int{10, 10}, unstable: [2]int{tt.base, tt.new}, why: "two levels"}
		for i := range 8 {
			pairs = append(pairs, verdict.Pair{
				Block: i + 1,
				Base:  500 + float64(i%3),
				New:   tt.effect * (500 + float64(i%2)),
			})
		}
		r := verdict.Judge(plan.Endpoint{
			Name:   "capacity",
			Better: plan.Higher,
			Margin: 0.05,
		}, pairs, verdict.Options{})
		l.warnUnstable(&r, [2]string{"base", "new"})
		if r.Kind != tt.want || (len(r.Warnings) > 0) != (tt.base+tt.new > 0) {
			t.Errorf(
				"%s: got %s (%s), warnings %q; want %s",
				tt.name,
				r.Kind,
				r.Reason,
				r.Warnings,
				tt.want,
			)
		}
	}
}

// If others on the host ended a search, its bound is not a number of the arm, whoever reads the
// run; if the generator ended it, the bound is one.
func TestABoundByOthersIsNoNumber(t *testing.T) {
	for gate, void := range map[string]bool{
		"others":       true,
		"steal":        true,
		"target_steal": true,
		"lag":          false,
		"memory":       false,
	} {
		r := &record.Run{Manifest: record.Manifest{
			ID: "r",
			Capacity: &record.Capacity{
				Kind:  record.AtLeast,
				Users: 700,
				Rule:  record.ByGate + gate,
			},
		}}
		n, err := NumbersOf(r, []plan.Endpoint{{Name: "capacity", Stat: "capacity"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Values["capacity"]; math.IsNaN(got) != void || n.Censored == void ||
			(n.Why["capacity"] != "") != void ||
			n.Unstable {
			t.Errorf("%s: %v, a bound %v, why %q", gate, got, n.Censored, n.Why["capacity"])
		}
	}
}
