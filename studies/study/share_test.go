package study

import (
	"math"
	"testing"

	"plimsoll/stats"
)

// TestShareInterval compares with values that have a closed form (no success, only successes, one
// try), and with the tables of R's binom.test.
func TestShareInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n   int
		lo, hi float64
	}{
		{0, 10, 0, 1 - math.Pow(0.025, 0.1)},
		{10, 10, math.Pow(0.025, 0.1), 1},
		{1, 1, 0.025, 1},
		{0, 0, 0, 1},
		{5, 10, 0.1870860, 0.8129140},
		{1, 20, 0.001265089, 0.2487328},
		{2, 2, math.Sqrt(0.025), 1},
		{0, 1000, 0, 1 - math.Pow(0.025, 0.001)},
	} {
		got := ShareInterval(tt.k, tt.n, 0.95)
		if math.Abs(got.Lo-tt.lo) > 1e-6 || math.Abs(got.Hi-tt.hi) > 1e-6 {
			t.Errorf(
				"%d of %d: %.7f to %.7f, want %.7f to %.7f",
				tt.k,
				tt.n,
				got.Lo,
				got.Hi,
				tt.lo,
				tt.hi,
			)
		}
	}
	for _, bad := range []stats.Interval{
		ShareInterval(-1, 2, 0.95), ShareInterval(3, 2, 0.95), ShareInterval(1, 2, 1),
	} {
		if !math.IsNaN(bad.Lo) || !math.IsNaN(bad.Hi) {
			t.Errorf("nonsense has the interval %v", bad)
		}
	}
}

// TestShareIntervalCovers adds up, for shares of many sizes, the chances of the counts whose
// interval holds the share.
func TestShareIntervalCovers(t *testing.T) {
	const n = 23
	for p := 0.01; p < 1; p += 0.01 {
		covered, choose := 0.0, 1.0
		for k := range n + 1 {
			if iv := ShareInterval(k, n, 0.95); iv.Lo <= p && p <= iv.Hi {
				covered += choose * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
			}
			choose *= float64(n-k) / float64(k+1)
		}
		if covered < 0.95-1e-9 {
			t.Errorf("a share of %.2f is covered with chance %.4f", p, covered)
		}
	}
}
