package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A courseShape says how random runs of two arms look.
type courseShape struct {
	name               string
	kinds, runs, parts int     // the largest numbers, of runs in an arm; all are 1 at least
	noise              float64 // relative to the sum of a part
	sums, things       float64 // scales; 0 is 1
	never, nothing     bool    // the first kind never occurs, costs nothing
	double             bool    // the last kind occurs twice as often as the first
	equal              bool    // all parts of a run are equal
	exact              bool    // the largest numbers, no others
	levels, apart      float64 // standard deviation of ln of the level of an arm, of a run
}

func (s courseShape) pick(rng *rand.Rand, most int) int {
	if s.exact {
		return most
	}
	return 1 + rng.IntN(most)
}

// arms draws random runs of both arms of a shape.
func (s courseShape) arms(rng *rand.Rand) (arms [2][]course) {
	costs := make([]float64, s.pick(rng, s.kinds))
	often := make([]float64, len(costs))
	for k := range costs {
		costs[k] = math.Exp(1.2 * rng.NormFloat64())
		often[k] = 10 + 90*rng.Float64()
	}
	if s.nothing && len(costs) > 1 {
		costs[0] = 0
	}
	if s.never && len(costs) > 1 {
		often[0] = 0
	}
	for arm := range arms {
		level := math.Exp(s.levels * rng.NormFloat64())
		for range s.pick(rng, s.runs) {
			own := level * math.Exp(s.apart*rng.NormFloat64())
			arms[arm] = append(arms[arm], s.course(rng, often, costs, own))
		}
	}
	return arms
}

// course draws a run.
func (s courseShape) course(rng *rand.Rand, often, costs []float64, level float64) (r course) {
	scale := func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return x
	}
	for i := range s.pick(rng, s.parts) {
		row := make([]float64, len(costs))
		sum := 0.0
		for k := range row {
			n := math.Round(max(0, often[k]+math.Sqrt(often[k])*rng.NormFloat64()))
			row[k] = n * scale(s.things)
		}
		if s.double {
			row[len(row)-1] = 2 * row[0]
		}
		if s.equal && i > 0 {
			copy(row, r.done[0])
		}
		for k, n := range row {
			sum += level * n / scale(s.things) * costs[k]
		}
		r.done = append(r.done, row)
		r.sums = append(r.sums, sum*math.Exp(s.noise*rng.NormFloat64())*scale(s.sums))
	}
	return r
}

// momentsOf returns the moments of runs.
func momentsOf(runs []course) (out []CostMoments) {
	for _, r := range runs {
		out = append(out, NewCostMoments(r.done, r.sums))
	}
	return out
}

// unitCosts returns the costs of the implementation that is tested.
func unitCosts(arms [2][]course) ([]float64, bool) {
	return UnitCosts(momentsOf(arms[0]), momentsOf(arms[1]))
}

// farthest returns the largest difference of costs, relative to the mean cost 1 or to the cost,
// whichever is larger.
func farthest(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	most := 0.0
	for k, c := range want {
		off := math.Abs(got[k]-c) / max(1, c)
		if !(off <= most) { // nor is NaN
			most = off
		}
	}
	return most
}

// courseShapes are the shapes of the comparison with subsets.
func courseShapes() []courseShape {
	return []courseShape{
		{name: "usual", kinds: 6, runs: 12, parts: 40, noise: 0.02, levels: 0.01, exact: true},
		{name: "any size", kinds: 6, runs: 6, parts: 30, noise: 0.05, levels: 0.1},
		{name: "levels apart", kinds: 5, runs: 6, parts: 30, noise: 0.02, levels: 1},
		{name: "much noise", kinds: 5, runs: 6, parts: 30, noise: 0.5, levels: 0.1},
		{name: "no noise", kinds: 5, runs: 6, parts: 30, levels: 0.1},
		{name: "no noise, one level", kinds: 5, runs: 6, parts: 30},
		{name: "collinear", kinds: 6, runs: 6, parts: 30, noise: 0.02, levels: 0.01, double: true},
		{name: "collinear, no noise", kinds: 6, runs: 6, parts: 30, double: true},
		{name: "a kind that never occurs", kinds: 5, runs: 6, parts: 30, noise: 0.02, never: true},
		{name: "a kind without costs", kinds: 5, runs: 6, parts: 30, noise: 0.02, nothing: true},
		{name: "runs apart", kinds: 6, runs: 6, parts: 30, noise: 0.02, levels: 0.1, apart: 0.3},
		{name: "one run", kinds: 6, runs: 1, parts: 40, noise: 0.02},
		{name: "one part", kinds: 6, runs: 6, parts: 1, noise: 0.02, levels: 0.1},
		{name: "one part of one run", kinds: 6, runs: 1, parts: 1},
		{name: "equal parts", kinds: 6, runs: 6, parts: 20, noise: 0.02, equal: true},
		{name: "small sums", kinds: 6, runs: 6, parts: 30, noise: 0.02, sums: 1e-9, levels: 0.1},
		{name: "large sums", kinds: 6, runs: 6, parts: 30, noise: 0.02, sums: 1e9, levels: 0.1},
		{name: "few things", kinds: 6, runs: 6, parts: 30, noise: 0.02, things: 1e-9, levels: 0.1},
		{name: "many things", kinds: 6, runs: 6, parts: 30, noise: 0.02, things: 1e9, levels: 0.1},
	}
}

// compareUnitCosts compares the costs of both implementations for random runs of shapes.
func compareUnitCosts(
	t *testing.T,
	seed uint64,
	inputs int,
	shapes []courseShape,
	solve ridgeSolver,
) {
	t.Helper()
	const near = 1e-4
	for i, shape := range shapes {
		rng := rand.New(rand.NewPCG(uint64(i), seed))
		most, wrong, example := 0.0, 0, ""
		for range inputs {
			arms := shape.arms(rng)
			got, ok := unitCosts(arms)
			want, found := secondUnitCosts(arms, solve)
			off := farthest(got, want)
			most = max(most, off)
			if ok != found || !(off <= near) {
				wrong++
				example = fmt.Sprintf("costs %.6f, %v, want %.6f, %v", got, ok, want, found)
			}
		}
		t.Logf("%s: differences up to %.1g", shape.name, most)
		if wrong > 0 {
			t.Errorf("%s: %d of %d inputs differ, up to %.1g: %s",
				shape.name, wrong, inputs, most, example)
		}
	}
}

// TestUnitCostsAgainstSubsets shows that the costs are those of a second implementation, which
// solves each fit for every subset of kinds that may cost something, and takes the best.
func TestUnitCostsAgainstSubsets(t *testing.T) {
	compareUnitCosts(t, 71, 15, courseShapes(), ridgeProblem.bySubsets)
}

// TestUnitCostsAgainstActiveSet shows the same for 20 kinds, among which the second implementation
// finds those that cost nothing one by one.
func TestUnitCostsAgainstActiveSet(t *testing.T) {
	compareUnitCosts(t, 72, 4, []courseShape{
		{name: "usual", kinds: 20, runs: 12, parts: 30, noise: 0.02, levels: 0.01, exact: true},
		{name: "fewer parts than kinds", kinds: 20, runs: 1, parts: 8, noise: 0.02, exact: true},
		{name: "collinear", kinds: 20, runs: 6, parts: 30, noise: 0.02, double: true, exact: true},
		{name: "much noise", kinds: 20, runs: 6, parts: 20, noise: 0.3, levels: 0.1, exact: true},
	}, ridgeProblem.byActiveSet)
}

// TestSecondUnitCostsAgree shows that both ways to solve a fit find the same costs.
func TestSecondUnitCostsAgree(t *testing.T) {
	for i, shape := range courseShapes() {
		rng := rand.New(rand.NewPCG(uint64(i), 73))
		for range 3 {
			arms := shape.arms(rng)
			x, _ := secondUnitCosts(arms, ridgeProblem.bySubsets)
			y, _ := secondUnitCosts(arms, ridgeProblem.byActiveSet)
			if off := farthest(x, y); !(off < 1e-6) {
				t.Errorf("%s: %v by subsets, %v by active set", shape.name, x, y)
			}
		}
	}
}

// TestUnitCostsDependOnNothingElse shows that neither the scale of sums and of things nor the order
// of runs, of parts and of kinds changes the costs, that their mean over all things is 1, and that
// the numbers of the runs and their moments stay as they are.
func TestUnitCostsDependOnNothingElse(t *testing.T) {
	const inputs, near = 40, 1e-6
	wrong, most := map[string]int{}, map[string]float64{}
	rng := rand.New(rand.NewPCG(1, 74))
	shape := courseShape{kinds: 8, runs: 6, parts: 30, noise: 0.05, levels: 0.2, apart: 0.1}
	nothing := func([]float64) {}
	times := func(f float64) func([]float64) {
		return func(x []float64) {
			for i := range x {
				x[i] *= f
			}
		}
	}
	for range inputs {
		arms := shape.arms(rng)
		before := changedArms(arms, nothing, nothing)
		base, fresh := momentsOf(arms[0]), momentsOf(arms[1])
		want, ok := UnitCosts(base, fresh)
		if !ok || math.Abs(meanCost(arms, want)-1) > 1e-9 {
			t.Fatalf("costs %v, %v of mean %v, want 1", want, ok, meanCost(arms, want))
		}
		if !reflect.DeepEqual(arms, before) {
			t.Fatal("the runs were changed")
		}
		if again, _ := UnitCosts(base, fresh); !slices.Equal(again, want) {
			t.Fatal("the moments were changed")
		}
		other := map[string][2][]course{
			"small sums":  changedArms(arms, nothing, times(1e-9)),
			"large sums":  changedArms(arms, nothing, times(1e9)),
			"few things":  changedArms(arms, times(1e-9), nothing),
			"many things": changedArms(arms, times(1e9), nothing),
			"other kinds": changedArms(arms, slices.Reverse[[]float64], nothing),
			"other runs":  changedArms(arms, nothing, nothing),
			"other parts": changedArms(arms, nothing, slices.Reverse[[]float64]),
		}
		for arm := range arms {
			slices.Reverse(other["other runs"][arm])
			for _, r := range other["other parts"][arm] {
				slices.Reverse(r.done)
			}
		}
		for name, changed := range other {
			got, ok := unitCosts(changed)
			if name == "other kinds" {
				slices.Reverse(got)
			}
			if off := farthest(got, want); !ok || !(off <= near) {
				wrong[name]++
				most[name] = max(most[name], off)
			}
		}
	}
	for name, n := range wrong {
		t.Errorf("%s: %d of %d inputs have other costs, by up to %.1g", name, n, inputs, most[name])
	}
}

// changedArms returns a copy of runs of which the things of each part and the sums are changed.
func changedArms(arms [2][]course, things, sums func([]float64)) (out [2][]course) {
	for arm, runs := range arms {
		for _, r := range runs {
			c := course{sums: slices.Clone(r.sums)}
			sums(c.sums)
			for _, row := range r.done {
				row = slices.Clone(row)
				things(row)
				c.done = append(c.done, row)
			}
			out[arm] = append(out[arm], c)
		}
	}
	return out
}

// meanCost returns the mean of costs over all things of both arms.
func meanCost(arms [2][]course, costs []float64) float64 {
	sum, things := 0.0, 0.0
	for _, r := range slices.Concat(arms[0], arms[1]) {
		for _, row := range r.done {
			for k, n := range row {
				sum += n * costs[k]
				things += n
			}
		}
	}
	return sum / things
}

// TestUnitCostsOfPartsThatShowNothing shows that all kinds cost the same in parts with the same
// things, whatever the parts cost.
func TestUnitCostsOfPartsThatShowNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 75))
	var arms [2][]course
	for i := range 8 {
		var r course
		for range 30 {
			r.done = append(r.done, []float64{50, 50, 50})
			r.sums = append(r.sums, float64(100+i%2*30)+20*rng.NormFloat64())
		}
		arms[i%2] = append(arms[i%2], r)
	}
	got, ok := unitCosts(arms)
	if off := farthest(got, []float64{1, 1, 1}); !ok || off > 1e-9 {
		t.Errorf("costs %v, %v, want 1 each", got, ok)
	}
}

// TestUnitCostsOfArmsApart shows that what arms differ in is theirs: the second arm costs twice as
// much and does four times as many things of the second kind, which costs as much as the first.
func TestUnitCostsOfArmsApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 76))
	var arms [2][]course
	for arm := range arms {
		var r course
		level := float64(1 + arm)
		for range 400 {
			row := []float64{math.Round(100 + 40*rng.Float64()), 0}
			row[1] = math.Round(30 * level * level * rng.Float64())
			r.done = append(r.done, row)
			r.sums = append(r.sums, level*(row[0]+row[1])*(1+0.02*rng.NormFloat64()))
		}
		arms[arm] = append(arms[arm], r)
	}
	got, ok := unitCosts(arms)
	if off := farthest(got, []float64{1, 1}); !ok || off > 0.03 {
		t.Errorf("costs %v, %v, want 1 each", got, ok)
	}
}

// TestUnitCostsOfRunsOfAnArm shows that runs of one arm tell kinds apart where all parts of a run
// have the same things.
func TestUnitCostsOfRunsOfAnArm(t *testing.T) {
	var arms [2][]course
	for i := range 8 {
		done := []float64{float64(100 + 10*(i%3)), float64(20 + 7*(i%5))}
		cost := (done[0] + 4*done[1]) * float64(2+i%2)
		r := course{[][]float64{done, done, done}, []float64{cost, cost, cost}}
		arms[i%2] = append(arms[i%2], r)
	}
	got, ok := unitCosts(arms)
	if !ok || math.Abs(got[1]/got[0]-4) > 1e-4 {
		t.Errorf("costs %v, %v, want the second four times the first", got, ok)
	}
}

// TestUnitCostsRefuses arms without things or costs, and numbers that are not finite.
func TestUnitCostsRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := course{[][]float64{{1, 2}, {2, 1}, {3, 3}}, []float64{5, 4, 9}}
	if each, ok := unitCosts([2][]course{{good}, {good}}); !ok || len(each) != 2 {
		t.Fatalf("good runs: %v, %v", each, ok)
	}
	for _, tt := range []struct {
		name string
		runs []course
	}{
		{"no things", []course{{[][]float64{{0, 0}, {0, 0}}, []float64{1, 2}}}},
		{"no costs", []course{{[][]float64{{1, 2}, {2, 1}}, []float64{0, 0}}}},
		{"neither", []course{{[][]float64{{0, 0}}, []float64{0}}}},
		{"things NaN", []course{{[][]float64{{1, nan}, {2, 1}}, []float64{1, 2}}}},
		{"things Inf", []course{{[][]float64{{1, inf}, {2, 1}}, []float64{1, 2}}}},
		{"things -Inf", []course{{[][]float64{{1, -inf}, {2, 1}}, []float64{1, 2}}}},
		{"costs NaN", []course{{[][]float64{{1, 2}, {2, 1}}, []float64{nan, 2}}}},
		{"costs Inf", []course{{[][]float64{{1, 2}, {2, 1}}, []float64{1, inf}}}},
		{"costs -Inf", []course{{[][]float64{{1, 2}, {2, 1}}, []float64{1, -inf}}}},
		{"NaN in a second run", []course{good, {[][]float64{{1, 1}}, []float64{nan}}}},
		{"costs too large", []course{{[][]float64{{1, 1}, {2, 2}}, []float64{1e308, 1e308}}}},
	} {
		for name, arms := range map[string][2][]course{
			"base": {tt.runs, {good}},
			"new":  {{good}, tt.runs},
			"both": {tt.runs, tt.runs},
		} {
			if each, ok := unitCosts(arms); ok {
				t.Errorf("%s in %s: %v", tt.name, name, each)
			}
		}
	}
}
