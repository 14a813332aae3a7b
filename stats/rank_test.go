package stats_test

import (
	"math"
	"testing"

	"plimsoll/stats"
)

// TestSpearman checks against scipy.stats.spearmanr 1.11.
func TestSpearman(t *testing.T) {
	for _, tt := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 1},
		{[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1},
		{[]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, 0.8207826816681233},
		{[]float64{86, 97, 99, 100, 101, 103, 106, 110, 112, 113}, []float64{2, 20, 28, 27, 50, 29, 7, 17, 6, 12}, -0.17575757575757575},
		{[]float64{1, 2, 3}, []float64{7, 7, 7}, math.NaN()},
		{[]float64{1}, []float64{1}, math.NaN()},
	} {
		got := stats.Spearman(tt.x, tt.y)
		if math.IsNaN(got) != math.IsNaN(tt.want) || math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Spearman(%v, %v) = %v, want %v", tt.x, tt.y, got, tt.want)
		}
	}
}
