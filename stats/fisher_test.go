package stats

import (
	"math"
	"testing"
)

// TestFisher holds the test to tables whose p-values are known: the lady who tastes tea (Fisher
// 1935), and counts by hand.
func TestFisher(t *testing.T) {
	for _, tt := range []struct {
		a, n, b, m int
		want       float64
	}{
		{3, 4, 1, 4, 34.0 / 70}, // 17/70 on either side
		{4, 4, 0, 4, 2.0 / 70},  // all right
		{6, 6, 0, 6, 2.0 / 924}, // C(12, 6)
		{0, 6, 2, 8, 43.0 / 91}, // 28/91 for both in the eight, 15/91 for both in the six
		{0, 6, 0, 6, 1},
		{6, 6, 6, 6, 1},
		{1, 7, 1, 7, 1},
	} {
		if p, q := Fisher(tt.a, tt.n, tt.b, tt.m), Fisher(tt.b, tt.m, tt.a, tt.n); math.Abs(
			p-tt.want,
		) > 1e-9 ||
			math.Abs(p-q) > 1e-12 {
			t.Errorf(
				"%d of %d against %d of %d: p %v and %v, want %v",
				tt.a,
				tt.n,
				tt.b,
				tt.m,
				p,
				q,
				tt.want,
			)
		}
	}
}
