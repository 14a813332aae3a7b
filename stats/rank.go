package stats

import "math"

// Spearman returns the rank correlation of x and y, -1 to 1: Pearson's coefficient of their ranks,
// with mean ranks for ties (Spearman, The Proof and Measurement of Association between Two Things,
// 1904). It is NaN when one of them does not vary or when there are fewer than two. It panics if
// the lengths differ.
func Spearman(x, y []float64) float64 {
	if len(x) != len(y) {
		panic("stats: samples of different lengths")
	}
	if len(x) < 2 {
		return math.NaN()
	}
	a, b := ranks(x), ranks(y)
	m := float64(len(x)+1) / 2
	var xy, xx, yy float64
	for i := range a {
		xy += (a[i] - m) * (b[i] - m)
		xx += (a[i] - m) * (a[i] - m)
		yy += (b[i] - m) * (b[i] - m)
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return xy / math.Sqrt(xx*yy)
}
