package capacity

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/stats"
)

// A short series does not show how long its noise lasts, and always looks less correlated than it
// is. So the search begins with a belief about the correlation of neighboring windows that is worth
// some windows of evidence. Both numbers were chosen on the simulations of docs/method/capacity.md,
// so that intervals cover and white noise is still soon recognized.
const (
	priorCorrelation = 0.85
	priorWindows     = 40
)

// correlatedMean is the weighted mean of a series in order of time. Its variance counts the
// correlation of neighbors as that of an AR(1) process, or as five batches show it if that is more;
// df are the degrees of freedom of a t interval, and eff is the number of independent values that
// the series is worth.
//
// The mean of n values of an AR(1) process with variance s² and correlation r has the variance g
// s², with g = ((1+r)/(1-r) - 2r(1-rⁿ)/(n(1-r)²))/n; around the series' own mean only (1-g) s² is
// seen. The estimate of r is corrected for its bias of -(1+3r)/n (Kendall 1954).
func correlatedMean(z, w []float64) (mean, variance, df, eff float64) {
	var sw, sw2 float64
	for i := range z {
		sw += w[i]
		sw2 += w[i] * w[i]
		mean += w[i] * z[i]
	}
	mean /= sw
	n := sw * sw / sw2
	var ss, lag float64
	for i := range z {
		ss += w[i] * (z[i] - mean) * (z[i] - mean)
		if i > 0 {
			lag += math.Sqrt(w[i]*w[i-1]) * (z[i] - mean) * (z[i-1] - mean)
		}
	}
	if ss == 0 {
		return mean, 0, max(1, n-1), n
	}
	r := lag / ss
	r += (1 + 3*r) / n
	r = (n*r + priorWindows*priorCorrelation) / (n + priorWindows)
	r = min(max(r, 0), 0.97)
	g := ((1+r)/(1-r) - 2*r*(1-math.Pow(r, n))/(n*(1-r)*(1-r))) / n
	variance = ss / sw * g / (1 - g)
	df = max(1, n/(1+r)-1)
	eff = n * (1 - r) / (1 + r)
	if v, ok := batchVariance(z, w); ok {
		t5, td := stats.TQuantile(level, 4), stats.TQuantile(level, df)
		if t5*t5*v > td*td*variance {
			return mean, v, 4, eff
		}
	}
	return mean, variance, df, eff
}

// correlatedMedian is the weighted median of a series in order of time, with its 95 % interval. The
// indicator "below the median" is a series of ones and zeros, whose mean has the variance of
// [correlatedMean]; the interval is between the quantiles of the values at the ends of that mean's
// interval, for any distribution (Woodruff 1952).
func correlatedMedian(z, w []float64) (median, lo, hi float64) {
	order := make([]int, len(z))
	total := 0.0
	for i := range z {
		order[i] = i
		total += w[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(z[a], z[b]) })
	quantile := func(p float64) float64 {
		sum := 0.0
		for _, i := range order {
			if sum += w[i]; sum >= p*total {
				return z[i]
			}
		}
		return z[order[len(order)-1]]
	}
	median = quantile(0.5)
	below := make([]float64, len(z))
	for i := range z {
		if z[i] < median {
			below[i] = 1
		}
	}
	_, v, df, _ := correlatedMean(below, w)
	half := stats.TQuantile(level, df) * math.Sqrt(v)
	return median, quantile(0.5 - half), quantile(0.5 + half)
}

// batchVariance is the variance of the mean from five batches of equal weight.
func batchVariance(z, w []float64) (float64, bool) {
	const batches = 5
	if len(z) < 4*batches {
		return 0, false
	}
	total := 0.0
	for _, v := range w {
		total += v
	}
	var sum, weight [batches]float64
	at := 0.0
	for i := range z {
		b := min(batches-1, int((at+w[i]/2)/total*batches))
		at += w[i]
		sum[b] += w[i] * z[i]
		weight[b] += w[i]
	}
	var m, ss float64
	for b := range sum {
		if weight[b] == 0 {
			return 0, false
		}
		m += sum[b] / weight[b] / batches
	}
	for b := range sum {
		d := sum[b]/weight[b] - m
		ss += d * d
	}
	return ss / (batches - 1) / batches, true
}
