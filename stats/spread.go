package stats

import "math"

// SpreadTest compares how two arms vary between runs of n pairs: Before and After are their
// standard deviations, P the two-sided p-value of the test of Pitman and Morgan that they are
// equal, FlipP that of its twin.
type SpreadTest struct{ Before, After, P, FlipP float64 }

// CompareSpreads tests whether two arms vary alike: whether the sums of the pairs are correlated
// with their differences, as they are when one of the arms varies more, for any effect that the
// runs of a pair share. differences are after less before; given instead with the effect of the
// order taken out ([Crossover.Adjusted]), one degree of freedom is lost to it. The twin flips the
// signs of the products of both, taken from their medians: of a wild run one product is large,
// which is not a finding; from the means, which it moves, it would make all products positive. P is
// NaN below five pairs or where nothing varies.
//
// Sources: Pitman, Biometrika 31 (1939); Morgan, Biometrika 31 (1939).
func CompareSpreads(before, after, differences Sample, adjusted bool) SpreadTest {
	n := before.N()
	out := SpreadTest{Before: before.SD(), After: after.SD(), P: math.NaN(), FlipP: math.NaN()}
	df := float64(n - 2)
	if adjusted {
		df--
	}
	if n < 5 || after.N() != n || differences.N() != n {
		return out
	}
	sums := make([]float64, n)
	for i, v := range before.Values {
		sums[i] = v + after.Values[i]
	}
	s := Sample{Values: sums}
	both := 0.0
	own := 0.0
	other := 0.0
	products := make([]float64, n)
	for i, v := range sums {
		x, y := v-s.Mean(), differences.Values[i]-differences.Mean()
		products[i] = (v - s.Median()) * (differences.Values[i] - differences.Median())
		both = both + x*y
		own = own + x*x
		other = other + y*y
	}
	if own == 0 || other == 0 {
		return out
	}
	r := both / math.Sqrt(own*other)
	out.P = 0
	if left := 1 - r*r; left > 0 {
		out.P = 2 * tailOf(math.Abs(r)*math.Sqrt(df/left), 1, df)
	}
	out.FlipP, _ = SignFlip(Sample{Values: products})
	return out
}
