package stats

import (
	"math"
	"slices"
	"sort"
)

// MinTrend is the smallest number of values of which [TrendOf] gives a trend.
const MinTrend = 8

// A Trend is the monotone trend of values at equal distances in time.
type Trend struct {
	// N is the number of values.
	N int
	// Slope is the estimate of Theil and Sen, per step: the median of the slopes between all pairs.
	// Lo and Hi are its interval.
	Slope, Lo, Hi float64
	// P is the two-sided p-value of the test of Mann and Kendall, corrected for autocorrelation.
	P float64
	// Inflation is the factor by which autocorrelation widened the variance of the test; at least
	// 1.
	Inflation float64
}

// Known reports whether there were values enough.
func (t Trend) Known() bool { return !math.IsNaN(t.P) }

// TrendOf returns the trend of the values in the order of time; unknown fields are NaN, as are all
// below [MinTrend] values. level is the confidence of the interval, such as 0.95.
//
// Values in time depend on their neighbors, and a test that takes them for independent finds trends
// in noise. The variance of S is therefore multiplied by the factor of Hamed and Rao (J. Hydrology
// 204, 1998), over those autocorrelations of the ranks of the detrended values that are significant
// at 5 % and positive: negative ones would narrow the variance, which in a short series they do by
// chance. The interval is Sen's (JASA 63, 1968) with the same variance.
func TrendOf(values []float64, level float64) Trend {
	n := len(values)
	nan := math.NaN()
	t := Trend{N: n, Slope: nan, Lo: nan, Hi: nan, P: nan, Inflation: nan}
	if n < MinTrend || slices.ContainsFunc(values, func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	}) || !(level > 0 && level < 1) {
		return t
	}
	s := 0
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, a := range values {
		for j := i + 1; j < n; j++ {
			switch b := values[j]; {
			case b > a:
				s++
			case b < a:
				s--
			}
			slopes = append(slopes, (values[j]-a)/float64(j-i))
		}
	}
	sort.Float64s(slopes)
	t.Slope = Median(slopes)
	rest := make([]float64, n)
	for i, v := range values {
		rest[i] = v - t.Slope*float64(i)
	}
	t.Inflation = inflation(ranks(rest))
	sigma := math.Sqrt(kendallVariance(values) * t.Inflation)
	if sigma == 0 { // all values are one
		t.Lo = 0
		t.Hi = 0
		t.P = 1
		return t
	}
	z := 0.0
	switch {
	case s > 0:
		z = float64(s-1) / sigma
	case s < 0:
		z = float64(s+1) / sigma
	}
	t.P = math.Erfc(math.Abs(z) / math.Sqrt2)
	half := -normalQuantile((1-level)/2) * sigma
	last := len(slopes) - 1
	t.Lo = slopes[min(max(int(math.RoundToEven((float64(len(slopes))-half)/2))-1, 0), last)]
	t.Hi = slopes[max(min(int(math.RoundToEven((float64(len(slopes))+half)/2)), last), 0)]
	return t
}

// kendallVariance is the variance of S for independent values, with ties.
func kendallVariance(values []float64) float64 {
	term := func(k int) float64 { return float64(k) * float64(k-1) * float64(2*k+5) }
	v := term(len(values))
	for _, k := range repeats(values) {
		v -= term(k)
	}
	return v / 18
}

// repeats returns how often each value is there.
func repeats(values []float64) []int {
	sorted := slices.Sorted(slices.Values(values))
	var out []int
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		out = append(out, j-i)
		i = j
	}
	return out
}

// ranks returns the ranks of the values from 1; ties share the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return a - b
	})
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// inflation is the factor of Hamed and Rao from ranks.
func inflation(r []float64) float64 {
	n := float64(len(r))
	mean, ss := (n+1)/2, 0.0
	for _, v := range r {
		ss += (v - mean) * (v - mean)
	}
	if ss == 0 {
		return 1
	}
	bound := -normalQuantile(0.025) / math.Sqrt(n)
	sum := 0.0
	for k := 1; k < len(r); k++ {
		c := 0.0
		for i := range len(r) - k {
			c += (r[i] - mean) * (r[i+k] - mean)
		}
		if rho := c / ss; rho > bound {
			m := n - float64(k)
			sum += m * (m - 1) * (m - 2) * rho
		}
	}
	return 1 + 2/(n*(n-1)*(n-2))*sum
}
