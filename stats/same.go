package stats

import "math"

// SamePower returns how probable it is that n pairs are found to be the same: that the interval of
// level 1-2·alpha of their mean difference lies inside ±margin, when their differences are normal
// with this mean and the standard deviation sd. All of mean, sd and margin are in one unit. NaN
// below [MinInterval] pairs or for arguments that make no sense.
//
// It is the power of two one-sided t tests, exact except for the integration over the observed
// standard deviation: given that it is u·sd, the mean has to lie within margin - t·u·sd/√n of zero,
// and n-1 times the square of u is chi-squared with n-1 degrees of freedom. The test holds it
// against simulated experiments.
func SamePower(mean, sd, margin float64, n int, alpha float64) float64 {
	if n < MinInterval || math.IsNaN(mean) || math.IsInf(mean, 0) || !(sd >= 0) || !(margin > 0) ||
		!(alpha > 0 && alpha < 0.5) {
		return math.NaN()
	}
	if sd == 0 {
		if math.Abs(mean) < margin {
			return 1
		}
		return 0
	}
	df := float64(n - 1)
	root := math.Sqrt(float64(n)) / sd
	t := TQuantile(1-alpha, df)
	logGamma, _ := math.Lgamma(df / 2)
	scale := math.Ln2 + df/2*math.Log(df/2) - logGamma
	at := func(u float64) float64 {
		if u <= 0 {
			return 0
		}
		inside := normalCDF((margin-mean)*root-t*u) - normalCDF((-margin-mean)*root+t*u)
		return max(inside, 0) * math.Exp(scale+(df-1)*math.Log(u)-df*u*u/2)
	}
	spread := 10 / math.Sqrt(2*df)
	from, to := max(0, 1-spread), min(1+spread, margin*root/t)
	if to <= from {
		return 0
	}
	const steps = 400 // Simpson's rule
	h, sum := (to-from)/steps, at(from)+at(to)
	for i := 1; i < steps; i++ {
		sum += at(from+float64(i)*h) * float64(2+2*(i%2))
	}
	return min(sum*h/3, 1)
}

// PairsForSame returns the smallest number of pairs, at least [MinPairs], of which four in five
// experiments find the same: whose [SamePower] is at least 0.80. It returns 0 when the mean does
// not lie inside ±margin, so that no number is enough, when even [MaxPairs] are not, or for
// arguments that make no sense.
func PairsForSame(mean, sd, margin, alpha float64) int {
	mean = math.Abs(mean)
	if !(mean < margin) || !(sd >= 0) || !(alpha > 0 && alpha < 0.5) {
		return 0
	}
	// One of the two tests alone, with the sd known, needs no more pairs than both.
	least := square((normalQuantile(1-alpha) + normalQuantile(0.80)) * sd / (margin - mean))
	return smallestPairs(least, func(n int) bool {
		return SamePower(mean, sd, margin, n, alpha) >= 0.80
	})
}

func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
