package stats

import (
	"math"
	"slices"
)

// MostCondition is the condition number above which columns count as nearly collinear: their coefficients cannot be
// told apart.
//
// Source: Belsley, Kuh and Welsch, Regression Diagnostics (1980), 3.2, for columns of unit length.
const MostCondition = 30

// mostColumns bounds [NonNegative], which tries every subset of the columns.
const mostColumns = 8

// NonNegative fits sums to rows·each by least squares, with no coefficient below 0. Rows have one number for each
// coefficient, all of them 0 or more. condition is the condition number of the columns at unit length, also where it
// forbids the fit: ok is false above [MostCondition], with fewer rows than columns, and with a column of zeros.
func NonNegative(rows [][]float64, sums []float64) (each []float64, condition float64, ok bool) {
	n := len(rows)
	if n == 0 || n != len(sums) || len(rows[0]) == 0 || len(rows[0]) > min(n, mostColumns) {
		return nil, math.NaN(), false
	}
	columns, unit := make([][]float64, len(rows[0])), make([][]float64, len(rows[0]))
	for j := range columns {
		for _, row := range rows {
			columns[j] = append(columns[j], row[j])
		}
		length := math.Sqrt(dot(columns[j], columns[j]))
		if !(length > 0) || math.IsInf(length, 1) {
			return nil, math.NaN(), false
		}
		for _, x := range columns[j] {
			unit[j] = append(unit[j], x/length)
		}
	}
	shortest, longest := math.Inf(1), 0.0
	turned, _ := upright(unit)
	for _, c := range turned {
		length := math.Sqrt(dot(c, c))
		shortest, longest = min(shortest, length), max(longest, length)
	}
	if condition = longest / shortest; !(condition <= MostCondition) {
		return nil, condition, false
	}
	best := math.Inf(1)
	for set := 1; set < 1<<len(columns); set++ { // the best fit has the least squares of its own columns, all positive
		fit, residual, good := fitSome(columns, sums, set)
		if good && residual < best {
			best, each = residual, fit
		}
	}
	return each, condition, each != nil
}

// fitSome fits with a subset of the columns, given as bits. It reports false where a coefficient is below 0.
func fitSome(columns [][]float64, sums []float64, set int) (each []float64, residual float64, ok bool) {
	var of []int
	var some [][]float64
	for j, c := range columns {
		if set&(1<<j) != 0 {
			of, some = append(of, j), append(some, c)
		}
	}
	turned, turns := upright(some)
	each, rest := make([]float64, len(columns)), slices.Clone(sums)
	for i, c := range turned {
		share := dot(c, rest) / dot(c, c)
		for n, x := range c {
			rest[n] -= share * x
		}
		for n, x := range turns[i] {
			each[of[n]] += share * x
		}
	}
	for _, x := range each {
		if !(x >= 0) {
			return nil, 0, false
		}
	}
	return each, math.Sqrt(dot(rest, rest)), true
}

// upright turns columns among themselves until each two are at a right angle: turned[j] is the sum of
// turns[j][i]·columns[i]. Their lengths are the singular values of the columns.
//
// Source: the one-sided method of Jacobi; Golub and Van Loan, Matrix Computations (2013), 8.6.3.
func upright(columns [][]float64) (turned, turns [][]float64) {
	for j, c := range columns {
		turned, turns = append(turned, slices.Clone(c)), append(turns, make([]float64, len(columns)))
		turns[j][j] = 1
	}
	for sweep, again := 0, true; again && sweep < 30; sweep++ { // a handful of sweeps is usual
		again = false
		for j := range turned {
			for i := range j {
				a, b, ab := dot(turned[i], turned[i]), dot(turned[j], turned[j]), dot(turned[i], turned[j])
				if !(math.Abs(ab) > 1e-13*math.Sqrt(a*b)) {
					continue
				}
				again = true
				cot := (b - a) / (2 * ab) // of twice the angle
				tan := math.Copysign(1, cot) / (math.Abs(cot) + math.Hypot(1, cot))
				turn(turned[i], turned[j], tan)
				turn(turns[i], turns[j], tan)
			}
		}
	}
	return turned, turns
}

// turn turns two columns by the angle of that tangent.
func turn(x, y []float64, tan float64) {
	cos := 1 / math.Hypot(1, tan)
	for n := range x {
		x[n], y[n] = cos*(x[n]-tan*y[n]), cos*(tan*x[n]+y[n])
	}
}

func dot(x, y []float64) (sum float64) {
	for n := range x {
		sum += x[n] * y[n]
	}
	return sum
}
