package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// exactFlips is the largest sample for which all 2^n sign changes are counted.
	exactFlips = 40
	// sampledFlips is the number of sign changes drawn above that, from a fixed stream.
	sampledFlips = 100_000
	// exactRanks is the largest sample for which the signed-rank distribution is counted exactly.
	exactRanks = 60
	// exactCoins is the largest number of throws whose binomial coefficients a float64 holds.
	exactCoins = 1000
)

// SignFlip returns the two-sided p-value of the sign-flip permutation test of symmetry about zero
// with the mean as its statistic, and the smallest p-value that a sample of this size can reach,
// 2^(1-n). Up to 40 values all sign changes are counted; above that 100,000 are drawn from a stream
// that depends on n alone, so the answer is the same on every call. Both are NaN for an empty
// sample.
func SignFlip(s Sample) (p, smallest float64) {
	n := s.N()
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	var observed, scale float64
	for _, v := range s.Values {
		observed += v
		scale += math.Abs(v)
	}
	// Sums that are equal on paper differ by rounding; such ties count as reaching the observed
	// sum.
	limit := math.Abs(observed) - 1e-12*scale
	if n <= exactFlips {
		return exactSignFlip(s.Values, limit), math.Pow(2, float64(1-n))
	}
	return sampledSignFlip(s.Values, limit), max(math.Pow(2, float64(1-n)), 1.0/(sampledFlips+1))
}

// exactSignFlip counts the sign changes of all values from the sorted sums of either half: for each
// sum of one, those of the other that reach the limit with it are at the end of the list.
func exactSignFlip(values []float64, limit float64) float64 {
	if limit <= 0 {
		return 1
	}
	a, b := signedSums(values[:len(values)/2]), signedSums(values[len(values)/2:])
	reached, from := 0, len(b)
	for _, sum := range a {
		for from > 0 && sum+b[from-1] >= limit {
			from--
		}
		reached += len(b) - from
	}
	return math.Ldexp(float64(reached), 1-len(values)) // as many reach -limit
}

// signedSums returns the sums of all sign changes of the values, in ascending order. The list is
// its own mirror image, so that each value merges its lower half alone.
func signedSums(values []float64) []float64 {
	sums, next := make([]float64, 1, 1<<len(values)), make([]float64, 1<<len(values))
	for _, v := range values {
		v = math.Abs(v)
		n := len(sums)
		next = next[:2*n]
		minus, plus := 0, 0
		for k := range n {
			least := sums[minus] - v
			if other := sums[plus] + v; other < least {
				least = other
				plus++
			} else {
				minus++
			}
			next[k], next[2*n-1-k] = least, -least
		}
		sums, next = next, sums[:cap(sums)]
	}
	return sums
}

func sampledSignFlip(values []float64, limit float64) float64 {
	rng := rand.New(rand.NewPCG(0x5157464c4950, uint64(len(values))))
	reached := 1 // the arrangement that was observed
	for range sampledFlips {
		var sum float64
		var bits uint64
		for i, v := range values {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 0 {
				sum += v
			} else {
				sum -= v
			}
			bits >>= 1
		}
		if math.Abs(sum) >= limit {
			reached++
		}
	}
	return float64(reached) / float64(sampledFlips+1)
}

// SignTest returns the two-sided p-value of plus against minus under a fair coin, exact up to 1000
// throws. Ties are left out by the caller. It is 1 when both counts are zero and NaN when one is
// negative.
func SignTest(plus, minus int) float64 {
	if plus < 0 || minus < 0 {
		return math.NaN()
	}
	n, k := plus+minus, min(plus, minus)
	if n > exactCoins {
		z := (float64(n)/2 - float64(k) - 0.5) / (math.Sqrt(float64(n)) / 2)
		return min(1, math.Erfc(z/math.Sqrt2))
	}
	ways, tail := 1.0, 0.0 // n over i, and its sum
	for i := 0; i <= k; i++ {
		tail += ways
		ways *= float64(n-i) / float64(i+1)
	}
	return min(1, math.Ldexp(tail, 1-n))
}

// Location is an estimate of the center of a symmetric population with its interval. Exact is the
// level that the interval really has, which is at least the requested level; the ranks of few
// values allow only a few levels.
type Location struct {
	Estimate float64
	Interval Interval
	Exact    float64
}

// HodgesLehmann returns the median of all means of two values (each value with itself included) and
// the interval that inverts the Wilcoxon signed-rank test: its ends are the k-th smallest and the
// k-th largest of these means. Up to 60 values the distribution of ranks is counted exactly, above
// that it is taken as normal. The interval is unknown when the sample is too small for the level:
// 0.95 needs six values, 0.90 five. The estimate is NaN for an empty sample.
//
// Source: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 3.2 and 3.3.
func HodgesLehmann(s Sample, level float64) Location {
	n := s.N()
	loc := Location{Estimate: math.NaN(), Interval: unknownInterval(level), Exact: math.NaN()}
	if n == 0 {
		return loc
	}
	means := make([]float64, 0, n*(n+1)/2)
	for i, a := range s.Values {
		for _, b := range s.Values[i:] {
			means = append(means, a+(b-a)/2)
		}
	}
	slices.Sort(means)
	loc.Estimate = Median(means)
	if n < MinInterval || !(level > 0 && level < 1) {
		return loc
	}
	k, exact := walshRank(n, level)
	if k < 1 {
		return loc
	}
	loc.Interval.Lo = means[k-1]
	loc.Interval.Hi = means[len(means)-k]
	loc.Exact = exact
	return loc
}

// walshRank returns the largest k for which the interval from the k-th smallest to the k-th largest
// Walsh average has at least the level, and the level it has. k is 0 when there is none.
func walshRank(n int, level float64) (k int, exact float64) {
	tail := (1 - level) / 2
	if n > exactRanks {
		mean := float64(n*(n+1)) / 4
		sd := math.Sqrt(float64(n*(n+1)*(2*n+1)) / 24)
		return int(mean + normalQuantile(tail)*sd), level
	}
	below := 0.0 // P(W < k)
	for w, p := range signedRanks(n) {
		if below+p > tail+1e-12 {
			return w, 1 - 2*below
		}
		below += p
	}
	return 0, math.NaN()
}

// signedRanks returns P(W = w) for w from 0 to n(n+1)/2, where W is the sum of those of the ranks 1
// to n whose coin shows heads.
func signedRanks(n int) []float64 {
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for w := rank * (rank + 1) / 2; w >= 0; w-- {
			with := 0.0
			if w >= rank {
				with = p[w-rank]
			}
			p[w] = (p[w] + with) / 2
		}
	}
	return p
}

// outlierFactor is 3.5 robust standard deviations: 1.4826·MAD estimates the standard deviation of a
// normal population.
const outlierFactor = 3.5 * 1.4826

// MinOutliers is the smallest sample in which [Outliers] finds any.
const MinOutliers = 6

// Outliers returns the positions, counted from 0, of the values that are further from the median
// than 3.5·1.4826·MAD, where MAD is the median distance from the median. Below [MinOutliers] values
// it returns none. They are there to be named and to test how much a conclusion hangs on them,
// never to be deleted: among six values of a normal population at least one is flagged in 15 of 100
// samples.
func Outliers(s Sample) []int {
	if s.N() < MinOutliers {
		return nil
	}
	middle := s.Median()
	distance := make([]float64, s.N())
	for i, v := range s.Values {
		distance[i] = math.Abs(v - middle)
	}
	// The floor keeps rounding errors of equal values from being called outliers.
	limit := max(outlierFactor*Median(distance), 1e-9)
	var out []int
	for i, d := range distance {
		if d > limit {
			out = append(out, i)
		}
	}
	return out
}
