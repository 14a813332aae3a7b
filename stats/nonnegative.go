package stats

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"
)

// MostCondition is the condition number above which columns count as nearly collinear: their
// coefficients cannot be told apart.
//
// Source: Belsley, Kuh and Welsch, Regression Diagnostics (1980), 3.2, for columns of unit length.
const MostCondition = 30

// mostColumns bounds [NonNegative], which tries every subset of the columns.
const mostColumns = 8

// NonNegative fits sums to rows·each by least squares, with no coefficient below 0. Rows have one
// number for each coefficient, all of them 0 or more. condition is the condition number of the
// columns at unit length, also where it forbids the fit: ok is false above [MostCondition], with
// fewer rows than columns, and with a column of zeros.
func NonNegative(rows [][]float64, sums []float64) (each []float64, condition float64, ok bool) {
	n := len(rows)
	if n == 0 || n != len(sums) || len(rows[0]) == 0 || len(rows[0]) > min(n, mostColumns) {
		return nil, math.NaN(), false
	}
	k := len(rows[0])
	x, y := mat.NewDense(n, k, nil), mat.NewVecDense(n, append([]float64(nil), sums...))
	unit := mat.NewDense(n, k, nil)
	for j := range k {
		length := 0.0
		for i := range n {
			x.Set(i, j, rows[i][j])
			length += square(rows[i][j])
		}
		if !(length > 0) || math.IsInf(length, 1) {
			return nil, math.NaN(), false
		}
		for i := range n {
			unit.Set(i, j, rows[i][j]/math.Sqrt(length))
		}
	}
	if condition = mat.Cond(unit, 2); !(condition <= MostCondition) {
		return nil, condition, false
	}
	best := math.Inf(1)
	// the best fit has the least squares of its own columns, all positive
	for set := uint(1); set < 1<<k; set++ {
		fit, residual, good := fitSome(x, y, set)
		if good && residual < best {
			best, each = residual, fit
		}
	}
	return each, condition, each != nil
}

// fitSome fits with a subset of the columns, given as bits. It reports false where a coefficient is
// below 0.
func fitSome(x *mat.Dense, y *mat.VecDense, set uint) (each []float64, residual float64, ok bool) {
	n, k := x.Dims()
	some := mat.NewDense(n, bits.OnesCount(set), nil)
	var of []int
	for j := range k {
		if set&(1<<j) != 0 {
			some.SetCol(len(of), mat.Col(nil, j, x))
			of = append(of, j)
		}
	}
	var fit, rest mat.VecDense
	if err := fit.SolveVec(some, y); err != nil {
		return nil, 0, false
	}
	each = make([]float64, k)
	for i, j := range of {
		if each[j] = fit.AtVec(i); !(each[j] >= 0) {
			return nil, 0, false
		}
	}
	rest.MulVec(some, &fit)
	rest.SubVec(y, &rest)
	return each, mat.Norm(&rest, 2), true
}
