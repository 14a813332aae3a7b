package comparison

import (
	"math"
	"strings"
	"testing"

	"plimsoll/record"
	"plimsoll/verdict"
)

// An unstable search is no number in a pair: not its zero, nor one of its levels, nor silence.
func TestAnUnstableSearchIsNoNumber(t *testing.T) {
	b := newBench(t)
	b.unstable = map[string]bool{"2 new mysql": true}
	c := b.compare(t.Context(), 0)
	arms, _, err := Judge(c, parse(t), b.load)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, arm := range arms {
		for _, r := range arm.Verdict.Results {
			if r.Name != "capacity" {
				continue
			}
			seen++
			want := 6
			if arm.Engine == "mysql" {
				want = 5
			}
			if r.N != want || math.Abs(r.New.Mean/500-1) > 0.05 {
				t.Errorf("%s: %d pairs, mean %.0f of the new arm; want %d and about 500", arm.Engine, r.N, r.New.Mean, want)
			}
			if said := strings.Contains(strings.Join(r.Warnings, "; "), "two levels"); said != (want == 5) {
				t.Errorf("%s: warnings %q", arm.Engine, r.Warnings)
			}
		}
	}
	if seen != 2 {
		t.Errorf("capacity was judged %d times, want on both engines", seen)
	}
}

// A new build that has more unstable searches than the base is neither the same nor better, by whatever is left.
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
		both := make([]numbersPair, 10)
		for i := range 8 {
			pairs = append(pairs, verdict.Pair{Block: i + 1, Base: 500 + float64(i%3), New: tt.effect * (500 + float64(i%2))})
		}
		for i := range tt.base {
			both[i].base = Numbers{Unstable: true, Why: map[string]string{"capacity": "two levels"}}
		}
		for i := range tt.new {
			both[9-i].fresh = Numbers{Unstable: true, Why: map[string]string{"capacity": "two levels"}}
		}
		r := verdict.Judge(verdict.Endpoint{Name: "capacity", Better: verdict.Higher, Margin: 0.05}, pairs, verdict.Options{})
		warnUnstable(&r, both, [2]string{"base", "new"})
		if r.Kind != tt.want || (len(r.Warnings) > 0) != (tt.base+tt.new > 0) {
			t.Errorf("%s: got %s (%s), warnings %q; want %s", tt.name, r.Kind, r.Reason, r.Warnings, tt.want)
		}
	}
}

// TestSearchesBeginBelowWhatThePilotReached: a start that rests on a bound alone is so low that a short search ends in its ramp again.
func TestSearchesBeginBelowWhatThePilotReached(t *testing.T) {
	for _, tt := range []struct {
		c    record.Capacity
		want int
	}{
		{record.Capacity{Kind: record.Unstable, Reached: 3000, Held: 1800}, 1080},
		{record.Capacity{Kind: record.Unstable, Reached: 3000}, 1800},
		{record.Capacity{Kind: record.Unstable}, 0},
		{record.Capacity{Kind: record.AtLeast, Users: 108, Reached: 211}, 127},
		{record.Capacity{Kind: record.AtLeast, Users: 108}, 65},
		{record.Capacity{Kind: record.Estimate, Users: 200}, 120},
	} {
		if got, ok := searchStart(&tt.c); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%+v: got %d, %v; want %d", tt.c, got, ok, tt.want)
		}
	}
}
