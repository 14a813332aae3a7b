package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/stats"
)

// TestSamePowerAgainstSimulation counts how often simulated pairs are found to be the same by the
// rule itself.
func TestSamePowerAgainstSimulation(t *testing.T) {
	const rounds = 6000
	margin := math.Log(1.05)
	random := rand.New(rand.NewPCG(5, 8))
	for _, tt := range []struct {
		mean, run float64 // the run's sd; that of the differences is √2 times it
		n         int
	}{{0, 0.02, 6}, {0, 0.03, 6}, {0, 0.03, 10}, {0, 0.05, 12}, {0.02, 0.02, 8}, {-0.037, 0.01, 9}, {0.045, 0.03, 6}} {
		sd, found := tt.run*math.Sqrt2, 0
		for range rounds {
			values := make([]float64, tt.n)
			for i := range values {
				values[i] = tt.mean + sd*random.NormFloat64()
			}
			if stats.TInterval(sample(t, values...), 0.90).Inside(-margin, margin) {
				found++
			}
		}
		got, seen := stats.SamePower(tt.mean, sd, margin, tt.n, 0.05), float64(found)/rounds
		if se := math.Sqrt(got*(1-got)/rounds) + 1e-4; math.Abs(got-seen) > 4*se {
			t.Errorf(
				"mean %v, run sd %v, %d pairs: power %.4f, but %.4f of the simulated experiments",
				tt.mean,
				tt.run,
				tt.n,
				got,
				seen,
			)
		}
	}
}

func TestPairsForSame(t *testing.T) {
	margin := math.Log(1.05)
	for _, mean := range []float64{0, 0.01, -0.03, 0.045} {
		for _, run := range []float64{0.01, 0.02, 0.03, 0.05} {
			t.Run(fmt.Sprintf("mean %v, run sd %v", mean, run), func(t *testing.T) {
				sd := run * math.Sqrt2
				n := stats.PairsForSame(mean, sd, margin, 0.05)
				if n < stats.MinPairs {
					t.Fatalf("%d pairs", n)
				}
				if got := stats.SamePower(mean, sd, margin, n, 0.05); got < 0.8 {
					t.Errorf("%d pairs have a power of %v", n, got)
				}
				if n > stats.MinPairs && stats.SamePower(mean, sd, margin, n-1, 0.05) >= 0.8 {
					t.Errorf("%d pairs, but one less is enough", n)
				}
			})
		}
	}
	for _, tt := range []struct {
		mean, sd, margin, alpha float64
		want                    int
	}{
		{0.05, 0.01, 0.05, 0.05, 0},   // on the margin
		{-0.06, 0.01, 0.05, 0.05, 0},  // outside
		{0.0499, 0.05, 0.05, 0.05, 0}, // too near for any plan
		{math.NaN(), 0.01, 0.05, 0.05, 0},
		{0, math.NaN(), 0.05, 0.05, 0},
		{0, 0.01, 0.05, 0.5, 0},
		{0, 0, 0.05, 0.05, 6},
		{0, 0.001, 0.05, 0.05, 6},
	} {
		if got := stats.PairsForSame(tt.mean, tt.sd, tt.margin, tt.alpha); got != tt.want {
			t.Errorf("%+v: got %d", tt, got)
		}
	}
	if got := stats.SamePower(0, 0.01, 0.05, 2, 0.05); !math.IsNaN(got) {
		t.Errorf("two pairs have a power of %v", got)
	}
	if a, b := stats.SamePower(0.05, 0, 0.05, 6, 0.05), stats.SamePower(0.04, 0, 0.05, 6, 0.05); a != 0 ||
		b != 1 {
		t.Errorf("without spread: %v on the margin, %v inside", a, b)
	}
}
