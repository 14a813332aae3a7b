package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNonNegative finds the costs of two classes whose numbers vary by themselves, and of one that costs nothing.
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
		if theirs, cond := theirFit(rows, sums); math.Abs(condition/cond-1) > 1e-9 {
			t.Errorf("%s: condition %v, by gonum %v", tt.name, condition, cond)
		} else if slices.Min(theirs) > 0 {
			for j, c := range theirs {
				if math.Abs(each[j]/c-1) > 1e-9 {
					t.Errorf("%s: costs %v, by gonum %v", tt.name, each, theirs)
				}
			}
		}
		for j, c := range tt.costs {
			if each[j] < 0 || math.Abs(each[j]-c) > tt.off {
				t.Errorf("%s: costs %v, want %v", tt.name, each, tt.costs)
			}
		}
	}
}

// theirFit is the fit without a bound, and the condition number, by QR and the singular values of gonum.
func theirFit(rows [][]float64, sums []float64) (each []float64, condition float64) {
	x := mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
	var fit mat.VecDense
	if err := fit.SolveVec(x, mat.NewVecDense(len(sums), slices.Clone(sums))); err != nil {
		panic(err)
	}
	for j := range rows[0] {
		column := x.ColView(j)
		length := mat.Norm(column, 2)
		for i := range rows {
			x.Set(i, j, column.AtVec(i)/length)
		}
	}
	return fit.RawVector().Data, mat.Cond(x, 2)
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
		"nothing": {}, "fewer rows than columns": {[][]float64{{1, 2}}, []float64{1}}, "zeros": {[][]float64{{1, 0}, {2, 0}, {3, 0}}, []float64{1, 2, 3}},
		"other lengths": {[][]float64{{1}, {2}}, []float64{1}},
	} {
		if each, _, ok := NonNegative(tt.rows, tt.sums); ok {
			t.Errorf("%s: %v", name, each)
		}
	}
}
