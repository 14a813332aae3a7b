package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/stats"
)

// TestQuantileSD compares the spread by the counts of single runs with the real one of the
// quantiles of many.
func TestQuantileSD(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		p float64
		n int
	}{{0.5, 200}, {0.95, 200}, {0.95, 1000}, {0.99, 1000}} {
		const runs = 300
		values, spreads := make([]float64, runs), 0.0
		for i := range values {
			times := make([]float64, tt.n)
			for k := range times {
				times[k] = math.Exp(rng.NormFloat64())
			}
			slices.Sort(times)
			quantile := func(p float64) float64 { return times[int(math.Ceil(p*float64(tt.n)))-1] }
			values[i] = math.Log(quantile(tt.p))
			spreads += stats.QuantileSD(tt.p, float64(tt.n), quantile) / runs
		}
		s, err := stats.NewSample(values...)
		if err != nil {
			t.Fatal(err)
		}
		if ratio := spreads / s.SD(); ratio < 0.85 || ratio > 1.25 {
			t.Errorf(
				"p%v of %d operations: the counts give %.4f, and the quantiles vary by %.4f",
				100*tt.p,
				tt.n,
				spreads,
				s.SD(),
			)
		}
	}
	none := func(float64) float64 { return 0 }
	for _, tt := range [][2]float64{{0, 9}, {1, 9}, {0.5, 0}, {0.5, 9}} {
		if sd := stats.QuantileSD(tt[0], tt[1], none); !math.IsNaN(sd) && !math.IsInf(sd, 0) {
			t.Errorf("p %v of %v operations: %v", tt[0], tt[1], sd)
		}
	}
}
