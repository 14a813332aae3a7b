package stats

import (
	"math"
	"slices"
)

const (
	// MSERBatch is the number of values that MSER-5 joins before it searches for the cut.
	MSERBatch = 5
	// MinWarmup is the smallest number of values in which MSER-5 searches for a cut: ten batches of
	// five.
	MinWarmup = 10 * MSERBatch
	// A cut must leave mserRest batches and a third of all. The statistic of few is small by
	// chance: with five alone, as is usual, 13 % of steady runs of half an hour were called not
	// stationary, with a third 4 %.
	mserRest = 5
)

// mser returns the statistic of MSER-5 for every cut that it tries, in batches: the squared
// standard error of the mean of the rest, taken over means of five values. It is nil below
// [MinWarmup] values and with values that are not finite. Values at the end that do not fill a
// batch are left out.
//
// Source: White, Simulation 69 (1997); White, Cobb and Spratt, Proc. Winter Simulation Conf. 2000.
func mser(values []float64) []float64 {
	if len(values) < MinWarmup {
		return nil
	}
	means := BatchMeans(values[:len(values)/MSERBatch*MSERBatch], len(values)/MSERBatch)
	if means == nil {
		return nil
	}
	out := make([]float64, len(means)-max(mserRest, len(means)/3)+1)
	// From the end: mean and sum of squared deviations of the values that a cut would leave
	// (Welford's recursion).
	mean, squares := 0.0, 0.0
	for d, v := range slices.Backward(means) {
		n := float64(len(means) - d)
		delta := v - mean
		mean += delta / n
		squares += delta * (v - mean)
		if d < len(out) {
			out[d] = squares / (n * n)
		}
	}
	return out
}

// TrendBatches is the number of means of equal stretches of a run that are tested for a trend.
const TrendBatches = 20

// BatchMeans returns the means of k stretches of equal length. Values that do not fill a stretch
// are left out at the beginning, where the warm-up is. It is nil when k is below 1 or above the
// number of values, or when a value is not finite.
func BatchMeans(values []float64, k int) []float64 {
	if k < 1 || k > len(values) || !finite(values) {
		return nil
	}
	size := len(values) / k
	rest := values[len(values)-k*size:]
	out := make([]float64, k)
	for i := range out {
		out[i] = Sample{Values: rest[i*size : (i+1)*size]}.Mean()
	}
	return out
}

// leastBatches is the smallest number of stretches of [RunDrift].
const leastBatches = 10

// RunDrift returns the trend of a steady phase as its change over the whole of it, in the unit of
// the values (of log latency: 0.02 is 2 %), from the means of [TrendBatches] stretches: Theil and
// Sen's slope with its interval of the given level and the test of Mann and Kendall, as in
// [TrendOf]. Where values depend on each other for longer than a stretch ([LongestTime], of the
// residuals of the trend), stretches are as long as that, but ten are left. Everything is NaN below
// two values to a stretch.
func RunDrift(values []float64, level float64) Trend {
	if len(values) < 2*TrendBatches {
		return TrendOf(nil, level)
	}
	n, k := len(values), TrendBatches
	t := TrendOf(BatchMeans(values, k), level)
	if t.Known() {
		rest := make([]float64, n)
		for i, v := range values {
			rest[i] = v - t.Slope/float64(n/k)*float64(i)
		}
		if most := int(float64(n) / LongestTime(rest)); most < k {
			k = max(most, leastBatches)
			t = TrendOf(BatchMeans(values, k), level)
		}
	}
	whole := float64(n) / float64(n/k) // stretches, with the remainder
	t.Slope *= whole
	t.Lo *= whole
	t.Hi *= whole
	return t
}

// AutocorrelationTime returns how many neighboring values of a stationary series are worth one
// independent value: 1 + 2·(sum of the autocorrelations), twice the integrated autocorrelation
// time. The sum stops at the first lag that is at least five times the integrated time so far
// (Sokal 1997): later terms are noise. It is never below 1: values that repel each other are not
// counted as more than one each. 1 for a series without spread; NaN below four values or with
// values that are not finite.
func AutocorrelationTime(values []float64) float64 {
	n := len(values)
	if n < 4 || !finite(values) {
		return math.NaN()
	}
	d := around(Sample{Values: values})
	squares := sumSquares(d)
	if squares == 0 {
		return 1
	}
	tau := 1.0
	for lag := 1; lag < n; lag++ {
		sum := 0.0
		for i, v := range d[:n-lag] {
			sum += v * d[i+lag]
		}
		tau += 2 * sum / squares
		if float64(lag) >= sokal*max(tau, 1)/2 {
			break
		}
	}
	return max(tau, 1)
}

// LongestTime is [AutocorrelationTime] for short series, which cannot show how long their values
// depend on each other: at least the time of a first-order process with the correlation of
// neighbors, corrected for its bias in so few values (Kendall, Biometrika 41, 1954). It is at most
// the number of values, and NaN where AutocorrelationTime is.
func LongestTime(values []float64) float64 {
	tau, n := AutocorrelationTime(values), float64(len(values))
	if math.IsNaN(tau) {
		return tau
	}
	d := around(Sample{Values: values})
	squares, neighbors := sumSquares(d), 0.0
	for i, v := range d[1:] {
		neighbors += v * d[i]
	}
	if squares == 0 {
		return tau
	}
	rho := neighbors / squares
	rho += (1 + 3*rho) / n
	if rho >= 1 {
		return n
	}
	return min(max(tau, (1+rho)/(1-rho)), n)
}

// sokal is the window of the sum in [AutocorrelationTime], in integrated times.
const sokal = 5

// EffectiveCount returns how many independent operations would determine the share of operations
// above a threshold as precisely as these do, which depend on each other: hit[i] of total[i]
// operations of interval i lie above it. It is the number of operations divided by the design
// effect: the variance of the share over intervals, widened by their autocorrelation, against that
// of independent operations; it is at most the number of operations. It is 0 without any hit, and
// NaN when the lengths differ, below four intervals, or when an interval has more hits than
// operations.
//
// Summed over intervals this is n/(1 + 2·sum of the autocorrelations) of the indicators, which need
// not be kept.
func EffectiveCount(hit, total []uint64) float64 {
	if len(hit) != len(total) || len(hit) < 4 {
		return math.NaN()
	}
	var hits, n uint64
	for i, h := range hit {
		if h > total[i] {
			return math.NaN()
		}
		hits += h
		n += total[i]
	}
	if hits == 0 {
		return 0
	}
	share := float64(hits) / float64(n)
	rest := make([]float64, len(hit))
	for i, h := range hit {
		rest[i] = float64(h) - share*float64(total[i])
	}
	independent := float64(n) * share * (1 - share)
	if independent == 0 {
		return float64(n)
	}
	return float64(n) / max(1, sumSquares(rest)*AutocorrelationTime(rest)/independent)
}

// LeastOps returns how many operations must lie behind the quantile p, in (0, 1), of one run, for
// any distribution: so many that, were the true quantile lower than all of them, it would have
// shown at 99 % (459 for 0.99, as in the early stopping of MLPerf Inference). 0 for a p outside (0,
// 1).
func LeastOps(p float64) uint64 {
	if !(p > 0 && p < 1) {
		return 0
	}
	return uint64(math.Ceil(math.Log(0.01)/math.Log(p) - 1e-9))
}

// TailOps is the number of effective operations that must lie beyond a quantile of one run for it
// to be compared.
const TailOps = 50

// QuantileSupported reports whether n operations, worth effective independent ones, carry the
// quantile p.
func QuantileSupported(p float64, n uint64, effective float64) bool {
	return p > 0 && p < 1 && n >= LeastOps(p) && effective*(1-p) >= TailOps-1e-9
}

func finite(values []float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
