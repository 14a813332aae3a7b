package stats_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"plimsoll/stats"
)

// comparisons is the number of simulated comparisons each calibration makes; 4,000 show a true rate
// of 5 % with a standard error of 0.34 points.
const comparisons = 4000

// runs simulates n pairs of runs as they happen on a drifting machine: both runs of a pair share
// the drift and the level of the hour, each has its own noise of the given run-to-run standard
// deviation. The new arm is shift higher (on the log scale).
func runs(rng *rand.Rand, n int, sd, shift float64) (base, fresh []float64) {
	base, fresh = make([]float64, n), make([]float64, n)
	level := math.Log(16000)
	for i := range base {
		level += 0.01*rng.NormFloat64() - 0.04/float64(n)
		base[i] = math.Exp(level + sd*rng.NormFloat64())
		fresh[i] = math.Exp(level + shift + sd*rng.NormFloat64())
	}
	return base, fresh
}

func pairs(t *testing.T, rng *rand.Rand, n int, sd, shift float64) stats.Sample {
	t.Helper()
	s, err := stats.LogRatios(runs(rng, n, sd, shift))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func within(t *testing.T, what string, hits, of int, lo, hi float64) {
	t.Helper()
	rate := float64(hits) / float64(of)
	t.Logf("%s: %.2f %%", what, 100*rate)
	if rate < lo || rate > hi {
		t.Errorf("%s: %.2f %% of %d, want %.2f to %.2f %%", what, 100*rate, of, 100*lo, 100*hi)
	}
}

// TestDetectableEffect checks that an effect of the size of the MDE is found in four of five cases.
func TestDetectableEffect(t *testing.T) {
	for _, n := range []int{6, 9, 12} {
		rng := rand.New(rand.NewPCG(104, uint64(n)))
		shift := stats.MDE(0.03*math.Sqrt2, n, 0.05)
		var found int
		for range comparisons {
			if stats.TTest(pairs(t, rng, n, 0.03, shift)) <= 0.05 {
				found++
			}
		}
		within(t, "found at the MDE, n "+strconv.Itoa(n), found, comparisons, 0.77, 0.83)
	}
}

// TestCoverage checks that the intervals cover the true difference as often as their level.
func TestCoverage(t *testing.T) {
	for _, level := range []float64{0.90, 0.95, 0.9779} {
		rng := rand.New(rand.NewPCG(105, uint64(1e4*level)))
		var student, rank int
		for range comparisons {
			s := pairs(t, rng, 9, 0.03, -0.1)
			if ci := stats.TInterval(s, level); !ci.Below(-0.1) && !ci.Above(-0.1) {
				student++
			}
			if ci := stats.HodgesLehmann(s, level).Interval; !ci.Below(-0.1) && !ci.Above(-0.1) {
				rank++
			}
		}
		within(t, "t interval covers", student, comparisons, level-0.01, level+0.01)
		within(t, "rank interval covers", rank, comparisons, level-0.01, 1)
	}
}
