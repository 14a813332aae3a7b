package stats_test

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// An opTimes holds response times by operation.
type opTimes map[string][]float64

// bruteShift returns the shift of the logarithms from one sample to another, as the median of all
// pairs (Hodges and Lehmann 1963) and as the difference of the medians. The median of an even
// number is the mean of its middle two.
func bruteShift(base, changed []float64) (pairs, medians float64) {
	logs := func(x []float64) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = math.Log(v)
		}
		return out
	}
	middle := func(x []float64) float64 {
		slices.Sort(x)
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	a, b := logs(base), logs(changed)
	var all []float64
	for _, x := range a {
		for _, y := range b {
			all = append(all, y-x)
		}
	}
	return middle(all), middle(b) - middle(a)
}

// bruteTypical returns the mean shift of the operations that both arms have, each with the weight
// of its two counts.
func bruteTypical(
	base, changed opTimes, weight func(base, changed int) float64,
) (pairs, medians float64) {
	total := 0.0
	for _, op := range slices.Sorted(maps.Keys(base)) {
		a, b := base[op], changed[op]
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		w := weight(len(a), len(b))
		p, m := bruteShift(a, b)
		pairs += w * p
		medians += w * m
		total += w
	}
	return pairs / total, medians / total
}

// many returns so many times the value.
func many(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// shiftCases are inputs whose shifts follow by hand, with weights of both counts together.
var shiftCases = []struct {
	name           string
	base, changed  opTimes
	pairs, medians float64
}{
	{"the same", opTimes{"post": {3, 1, 2}}, opTimes{"post": {2, 3, 1}}, 0, 0},
	{"one response each", opTimes{"post": {3}}, opTimes{"post": {6}}, math.Ln2, math.Ln2},
	{"all a tenth slower", opTimes{"post": {1, 2, 3, 4}, "read": {50, 60}},
		opTimes{"post": {1.1, 2.2, 3.3, 4.4}, "read": {55, 66}}, math.Log(1.1), math.Log(1.1)},
	{"another mix of the same", opTimes{"post": many(9, 100), "read": {1}},
		opTimes{"post": {100}, "read": many(9, 1)}, 0, 0},
	{"weights of 3 and 1", opTimes{"post": many(15, 10), "read": many(5, 10)},
		opTimes{"post": many(15, 12), "read": many(5, 9)},
		0.75*math.Log(1.2) + 0.25*math.Log(0.9), 0.75*math.Log(1.2) + 0.25*math.Log(0.9)},
	{"an operation of one arm", opTimes{"post": {1, 2}, "old": many(50, 7)},
		opTimes{"post": {2, 4}, "new": many(50, 70)}, math.Ln2, math.Ln2},
	// In powers of 2 the pairs differ by -1, 0, 0, 1, 1, 2 and three large numbers.
	{"an outlier", opTimes{"post": {1, 2, 4}}, opTimes{"post": {2, 4, 800}}, math.Ln2, math.Ln2},
	{"middle of the logarithms", opTimes{"post": {1, 4}}, opTimes{"post": {2, 2}}, 0, 0},
	// Of 100 pairs 16 are shorter, 48 equal and 36 longer.
	{"two modes", opTimes{"post": append(many(6, 1), many(4, 100)...)},
		opTimes{"post": append(many(4, 1), many(6, 100)...)}, 0, math.Log(100)},
	{"the slowest tenth", opTimes{"post": append(many(9, 1), 2)},
		opTimes{"post": append(many(9, 1), 20)}, 0, 0},
}

// TestBruteTypical holds the reference to shifts that follow by hand.
func TestBruteTypical(t *testing.T) {
	both := func(a, b int) float64 { return float64(a + b) }
	for _, c := range shiftCases {
		t.Run(c.name, func(t *testing.T) {
			pairs, medians := bruteTypical(c.base, c.changed, both)
			if math.Abs(pairs-c.pairs) > 1e-12 || math.Abs(medians-c.medians) > 1e-12 {
				t.Errorf("pairs %.6f and medians %.6f, want %.6f and %.6f",
					pairs, medians, c.pairs, c.medians)
			}
		})
	}
}
