package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNonNegative finds the costs of two classes whose numbers vary by themselves, and of one that
// costs nothing.
func TestNonNegative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct {
		name  string
		costs []float64
		noise float64
		off   float64 // by how much an estimate may be wrong
	}{
		{"exact", []float64{3, 0.5}, 0, 1e-9}, {"noise", []float64{3, 0.5}, 2, 0.3}, {"free", []float64{3, 0}, 2, 0.3},
		{"three", []float64{1, 2, 4}, 0, 1e-9}, {"below zero", []float64{3, -0.5}, 0, 0.6},
	} {
		var rows [][]float64
		var sums []float64
		for range 200 {
			row, sum := make([]float64, len(tt.costs)), tt.noise*rng.NormFloat64()
			for j, c := range tt.costs {
				row[j] = float64(20 + rng.IntN(40))
				sum += c * row[j]
			}
			rows, sums = append(rows, row), append(sums, sum)
		}
		each, condition, ok := NonNegative(rows, sums)
		if !ok || !(condition > 1 && condition < MostCondition) {
			t.Errorf("%s: %v, condition %v, %v", tt.name, each, condition, ok)
			continue
		}
		for j, c := range tt.costs {
			if each[j] < 0 || math.Abs(each[j]-c) > tt.off {
				t.Errorf("%s: costs %v, want %v", tt.name, each, tt.costs)
			}
		}
	}
}

// TestNonNegativeRefuses columns that rise and fall together, and too little.
func TestNonNegativeRefuses(t *testing.T) {
	var rows [][]float64
	var sums []float64
	for i := range 50 {
		n := 100 + float64(i%7)
		rows, sums = append(rows, []float64{n, 2*n + 0.1*float64(i%2)}), append(sums, n)
	}
	if each, condition, ok := NonNegative(rows, sums); ok || !(condition > MostCondition) {
		t.Errorf("collinear: %v, condition %v", each, condition)
	}
	for name, tt := range map[string]struct {
		rows [][]float64
		sums []float64
	}{
		"nothing":                 {},
		"fewer rows than columns": {[][]float64{{1, 2}}, []float64{1}},
		"zeros":                   {[][]float64{{1, 0}, {2, 0}, {3, 0}}, []float64{1, 2, 3}},
		"other lengths":           {[][]float64{{1}, {2}}, []float64{1}},
	} {
		if each, _, ok := NonNegative(tt.rows, tt.sums); ok {
			t.Errorf("%s: %v", name, each)
		}
	}
}
