package stats_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"plimsoll/stats"
)

// ar returns n values of a stationary series whose neighbors have the correlation rho, mean 0 and
// sd 1.
func ar(rng *rand.Rand, n int, rho float64) []float64 {
	out := make([]float64, n)
	x := rng.NormFloat64()
	for i := range out {
		out[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	return out
}

// TestNoDriftInSteadyRuns tests steady runs for a trend: at 5 % it may be found in 5 % of them.
// Where neighbors depend on each other for longer than a stretch, it is found more often:
// significance alone is not a finding, a drift must also matter.
func TestNoDriftInSteadyRuns(t *testing.T) {
	t.Parallel()
	for i, rho := range []float64{0, 0.5, 0.8} {
		rng := rand.New(rand.NewPCG(112, uint64(i)))
		found := 0
		for range comparisons {
			if stats.RunDrift(ar(rng, 180, rho), 0.95).P <= 0.05 {
				found++
			}
		}
		within(
			t,
			"drift of steady runs, correlation "+strconv.Itoa(int(100*rho))+" %",
			found,
			comparisons,
			0.02,
			[]float64{0.06, 0.08, 0.14}[i],
		)
	}
}

// latencies makes the intervals of one run: ops log-normal latencies in each, around a level that
// wanders, in steps of 2 % as a histogram has them.
func latencies(rng *rand.Rand, n, ops int, level, wander, rho float64) []stats.SparseCounts {
	const step = 0.02
	out := make([]stats.SparseCounts, n)
	bins := map[int]uint32{}
	for i, x := range ar(rng, n, rho) {
		clear(bins)
		lo, hi := math.MaxInt, math.MinInt
		for range ops {
			b := int(math.Round((level + wander*x + 0.4*rng.NormFloat64()) / step))
			bins[b]++
			lo, hi = min(lo, b), max(hi, b)
		}
		for b := lo; b <= hi; b++ {
			if k := bins[b]; k > 0 {
				out[i].Value = append(out[i].Value, math.Exp(float64(b)*step))
				out[i].N = append(out[i].N, k)
			}
		}
	}
	return out
}

// TestBlockBootstrapCovers holds the intervals of one run against the true quantiles of its steady
// state.
func TestBlockBootstrapCovers(t *testing.T) {
	t.Parallel()
	const n, ops, times = 180, 40, 250
	probs := []float64{0.5, 0.95}
	z := []float64{0, 1.6448536269514722}
	for i, rho := range []float64{0, 0.6} {
		rng := rand.New(rand.NewPCG(114, uint64(i)))
		var covered [2]int
		for range times {
			const wander = 0.1
			w, err := stats.BlockBootstrap(
				latencies(rng, n, ops, 4, wander, rho),
				probs,
				0.95,
				rng.Uint64(),
			)
			if err != nil {
				t.Fatal(err)
			}
			for k := range probs {
				truth := 4 + z[k]*math.Hypot(0.4, wander)
				// Half a step of the histogram belongs to neither side.
				if math.Log(w.Intervals[k].Lo)-0.01 <= truth &&
					truth <= math.Log(w.Intervals[k].Hi)+0.01 {
					covered[k]++
				}
			}
		}
		for k, p := range probs {
			within(
				t,
				"block bootstrap covers p"+strconv.Itoa(int(100*p))+", correlation "+strconv.Itoa(
					int(100*rho),
				)+" %",
				covered[k],
				times,
				0.87,
				1,
			)
		}
	}
}

// TestEffectiveCountIsTrue compares the error of a share by the effective count with the real
// variation of the share between runs.
func TestEffectiveCountIsTrue(t *testing.T) {
	t.Parallel()
	const n, ops, times = 180, 100, 1000
	for i, wander := range []float64{0, 0.3} {
		rng := rand.New(rand.NewPCG(115, uint64(i)))
		var shares, said []float64
		for range times {
			hit, total := make([]uint64, n), make([]uint64, n)
			sum := uint64(0)
			for j, x := range ar(rng, n, 0.7) {
				total[j] = ops
				for range ops {
					if rng.NormFloat64()+wander*x > 1.6448536269514722 {
						hit[j]++
					}
				}
				sum += hit[j]
			}
			share := float64(sum) / (n * ops)
			shares = append(shares, share)
			said = append(said, share*(1-share)/stats.EffectiveCount(hit, total))
		}
		really, claimed := sample(t, shares...).SD(), math.Sqrt(sample(t, said...).Mean())
		t.Logf("wander %v: really ±%.5f, claimed ±%.5f", wander, really, claimed)
		if r := claimed / really; r < 0.85 || r > 1.2 {
			t.Errorf(
				"wander %v: the share varies by %.5f, the effective count says %.5f",
				wander,
				really,
				claimed,
			)
		}
	}
}

// TestShiftBandCovers compares a build with itself: the whole of the band must hold "no shift" in
// 95 % of cases, at all quantiles at once.
func TestShiftBandCovers(t *testing.T) {
	t.Parallel()
	probs := []float64{0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99}
	for _, n := range []int{6, 9, 12} {
		const times = 150
		rng := rand.New(rand.NewPCG(116, uint64(n)))
		covered, factor := 0, 0.0
		for range times {
			pairs := make([]stats.RunPair, n)
			for i := range pairs {
				hour := 0.04 * rng.NormFloat64()
				pairs[i] = stats.RunPair{
					Base: latencies(rng, 30, 30, 4+hour+0.03*rng.NormFloat64(), 0.05, 0.5),
					New:  latencies(rng, 30, 30, 4+hour+0.03*rng.NormFloat64(), 0.05, 0.5),
				}
			}
			s, err := stats.ShiftFunction(pairs, probs, 0.95, rng.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			holds := true
			for k := range s.D {
				holds = holds && s.Lo[k] <= 0 && 0 <= s.Hi[k]
			}
			if holds {
				covered++
			}
			factor += min(s.Factor, 99) / times
		}
		t.Logf("%d pairs: factor %.1f on average", n, factor)
		within(t, "shift band covers, pairs "+strconv.Itoa(n), covered, times, 0.90, 1)
	}
}

// family simulates many metrics of n pairs: noise of their own, partly shared by all metrics of a
// pair, around true changes.
func family(
	t *testing.T,
	rng *rand.Rand,
	n int,
	shared float64,
	sd func() float64,
	truth []float64,
) []stats.Sample {
	t.Helper()
	hour := ar(rng, n, 0)
	out := make([]stats.Sample, len(truth))
	for g, d := range truth {
		s, v := sd(), make([]float64, n)
		for i := range v {
			v[i] = d + s*(math.Sqrt(shared)*hour[i]+math.Sqrt(1-shared)*rng.NormFloat64())
		}
		out[g] = sample(t, v...)
	}
	return out
}

func twoNoises(rng *rand.Rand) func() float64 {
	return func() float64 {
		if rng.IntN(2) == 0 {
			return 0.04
		}
		return 0.12
	}
}

// TestModeratedTHoldsItsLevel tests metrics without change, with noises as the model has them and
// with two kinds of them.
func TestModeratedTHoldsItsLevel(t *testing.T) {
	t.Parallel()
	for name, inverse := range map[string]bool{
		"noises of the model": true,
		"noises 4 and 12 %":   false,
	} {
		rng := rand.New(rand.NewPCG(117, uint64(len(name))))
		sd := twoNoises(rng)
		if inverse {
			sd = func() float64 { // s0² = 0.05², 6 prior degrees of freedom
				chi2 := 0.0
				for range 6 {
					chi2 += math.Pow(rng.NormFloat64(), 2)
				}
				return 0.05 * math.Sqrt(6/chi2)
			}
		}
		var found, beyond, of int
		for range 60 {
			truth := make([]float64, 120)
			got, _ := stats.ModeratedT(family(t, rng, 6, 0, sd, truth), truth)
			floor := make([]float64, 120)
			for i := range floor {
				floor[i], truth[i] = 0.03, 0.03
			}
			atFloor, _ := stats.ModeratedT(family(t, rng, 6, 0, sd, truth), floor)
			for i := range got {
				of++
				if got[i].P <= 0.05 {
					found++
				}
				if atFloor[i].P <= 0.05 {
					beyond++
				}
			}
		}
		within(t, name+": no change", found, of, 0.04, 0.06)
		within(t, name+": a change of just the floor", beyond, of, 0.03, 0.06)
	}
}

// TestFalseDiscoveries holds the share of false findings among 120 metrics, ten of which are 10 %
// slower: at most 11 %, also when the others lie just on the floor, and when the metrics of a run
// rise and fall together.
func TestFalseDiscoveries(t *testing.T) {
	t.Parallel()
	floor := make([]float64, 120)
	for i := range floor {
		floor[i] = math.Log(1.03)
	}
	for _, tt := range []struct {
		name   string
		floor  []float64
		null   float64
		shared float64
		power  float64
	}{
		{"no floor", make([]float64, 120), 0, 0, 0.35},
		{"no floor, metrics move together", make([]float64, 120), 0, 0.5, 0.25},
		{"floor 3 %", floor, 0, 0, 0.1},
		{"floor 3 %, the others on it", floor, math.Log(1.03), 0, 0.1},
	} {
		rng := rand.New(rand.NewPCG(118, uint64(len(tt.name))))
		const times = 400
		var share, found float64
		for range times {
			truth := make([]float64, 120)
			for i := range truth {
				truth[i] = tt.null
			}
			for i := range 10 {
				truth[i] = math.Log(1.10)
			}
			tests, _ := stats.ModeratedT(
				family(t, rng, 6, tt.shared, twoNoises(rng), truth),
				tt.floor,
			)
			p := make([]float64, len(tests))
			for i, m := range tests {
				p[i] = m.P
			}
			var hits, wrong float64
			for i, q := range stats.BenjaminiHochberg(p) {
				switch {
				case q > 0.10:
				case i < 10:
					hits++
				default:
					wrong++
				}
			}
			share += wrong / max(1, hits+wrong) / times
			found += hits / 10 / times
		}
		t.Logf(
			"%-40s %5.1f %% of findings false, %4.1f %% of changes found",
			tt.name,
			100*share,
			100*found,
		)
		if share > 0.11+0.01 { // 0.01 is about two standard errors
			t.Errorf("%s: %.1f %% of the findings are false", tt.name, 100*share)
		}
		if found < tt.power {
			t.Errorf("%s: %.1f %% of the changes were found", tt.name, 100*found)
		}
	}
}
