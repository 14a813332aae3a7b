package verdict_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// costOf judges six pairs in which the new arm costs so many times the CPU time, give or take a
// hundredth.
func costOf(role string, ratio float64) verdict.Result {
	return around(plan.Endpoint{
		Name:   "cost(" + role + ")",
		Better: plan.Lower,
		Margin: 0.05,
		Unit:   "ms",
	}, 2, ratio, 0.01)
}

// around judges six pairs whose ratios lie about one.
func around(e plan.Endpoint, base, ratio, about float64) verdict.Result {
	var pairs []verdict.Pair
	for i, d := range []float64{-1, 1, -0.5, 0.5, -0.2, 0.2} {
		pairs = append(pairs, verdict.Pair{
			Block: i + 1,
			Base:  base,
			New:   base * ratio * math.Exp(d*about),
		})
	}
	return verdict.Judge(e, pairs, verdict.Fixed(len(pairs)))
}

// TestCostImpliesCapacity compares the capacity that a cost implies with the one that searches
// measured.
func TestCostImpliesCapacity(t *testing.T) {
	bound := func(end float64) verdict.Result { // of more than half bounds, with a lower end
		r := around(capacity(), 1000, 1, 0.01)
		r.Effect, r.Lo, r.Hi = math.NaN(), end, math.NaN()
		return r
	}
	void := verdict.Judge(capacity(), nil, verdict.Fixed(6))
	for _, tt := range []struct {
		name     string
		capacity *verdict.Result
		search   string
		want     string
	}{
		{"without a search", nil, "", "users ∝ 1/cost: -4.76 % [-5.48 %, -4.04 %]."},
		{"confirmed", new(around(capacity(), 1000, 1/1.05, 0.01)), verdict.Confirmed, "; the searches confirm it: -4.76 % [-5.48 %, -4.04 %]."},
		{"contradicted", new(around(capacity(), 1000, 1, 0.01)), verdict.Contradicted,
			"; the searches contradict it: +0.00 % [-0.75 %, +0.76 %]. This cost does not set the supported users."},
		{"far below", new(around(capacity(), 1000, 0.8, 0.01)), verdict.Contradicted, "contradict it: -20.00 %"},
		{"too wide", new(around(capacity(), 1000, 1, 0.3)), verdict.Open, "; the searches leave it open: +0.00 % ["},
		{"a bound above", new(bound(-0.01)), verdict.Contradicted, "contradict it: at least -1.00 %."},
		{"a bound below", new(bound(-0.2)), verdict.Open, "leave it open: at least -20.00 %."},
		{"no capacity", &void, "", "users ∝ 1/cost: -4.76 % [-5.48 %, -4.04 %]."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results := []verdict.Result{costOf("app", 1.05)}
			if tt.capacity != nil {
				results = append(results, *tt.capacity)
			}
			r := verdict.Combine("", results).Results[0]
			m := r.Implies
			if m == nil {
				t.Fatal("the cost implies nothing")
			}
			if m.Role != "app" || m.Search != tt.search || !strings.HasPrefix(m.Sentence, "For a limit by the CPU of app, ") ||
				!strings.Contains(m.Sentence, tt.want) ||
				!strings.HasSuffix(r.Sentence, " "+m.Sentence) {
				t.Errorf("search %q, sentence %q, of %q", m.Search, m.Sentence, r.Sentence)
			}
			if !(m.Lo < m.Effect && m.Effect < m.Hi && math.Abs(m.Effect-(1/1.05-1)) < 1e-9) ||
				math.Abs((1+m.Lo)*(1+r.Hi)-1) > 1e-12 {
				t.Errorf("%v [%v, %v]", m.Effect, m.Lo, m.Hi)
			}
			stored, err := json.Marshal(r)
			if err != nil || !strings.Contains(string(stored), `"implies":{"role":"app"`) {
				t.Errorf("%v: %s", err, stored)
			}
			var b strings.Builder
			if err := verdict.Combine("", results).Text(&b); err != nil ||
				!strings.Contains(b.String(), m.Sentence) {
				t.Errorf("%v: %s", err, b.String())
			}
		})
	}
}

// TestCapacityIsNotImplied leaves it out where nothing is decided, and for other endpoints.
func TestCapacityIsNotImplied(t *testing.T) {
	few := verdict.Judge(costOf("app", 1).Endpoint, costOf("app", 1.05).Pairs[:4], verdict.Fixed(4))
	for _, r := range verdict.Combine("", []verdict.Result{few, around(capacity(), 1000, 1, 0.01), around(latency(), 10, 1, 0.01)}).Results {
		if r.Implies != nil {
			t.Errorf("%s implies %q", r.Name, r.Implies.Sentence)
		}
	}
}
