package stats

import "math"

// Fisher returns the two-sided p-value of Fisher's exact test of two shares: a of n against b of m.
// It is the chance, if both are one share, of a table with these margins that is as unlikely as
// this one or more. With none or all in both it is 1. It panics for counts that are impossible.
//
// Source: Fisher, J. R. Statist. Soc. 98 (1935); two-sided by the sum of the small probabilities
// (Freeman and Halton, Biometrika 38, 1951).
func Fisher(a, n, b, m int) float64 {
	if a < 0 || b < 0 || a > n || b > m {
		panic("stats: Fisher: counts that are impossible")
	}
	k := a + b
	at := func(x int) float64 { return logChoose(n, x) + logChoose(m, k-x) - logChoose(n+m, k) }
	seen, p := at(a), 0.0
	for x := max(0, k-m); x <= min(n, k); x++ {
		if l := at(x); l <= seen+1e-9 { // equal ones differ by rounding
			p += math.Exp(l)
		}
	}
	return min(p, 1)
}
