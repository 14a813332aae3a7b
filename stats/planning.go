package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinPairs is the smallest number of pairs that can carry a verdict. With five pairs the exact test
// cannot reach p < 0.05: its smallest value is 2/32 = 0.0625.
const MinPairs = 6

// MaxPairs bounds the search of [PairsFor]: more pairs than this are not a sensible plan.
const MaxPairs = 10_000

// MDE returns the minimum detectable effect at 80 % power of n pairs whose differences have the
// standard deviation sd, tested two-sided at alpha: (t(1-alpha/2, n-1) + t(0.80, n-1))·sd/√n, in
// the unit of sd. It lies 5 % below the exact value (of the non-central t) for three pairs and 0.7
// % below it for six. NaN below [MinInterval] pairs.
func MDE(sd float64, n int, alpha float64) float64 {
	if n < MinInterval || !(alpha > 0 && alpha < 1) {
		return math.NaN()
	}
	df := float64(n - 1)
	return (TQuantile(1-alpha/2, df) + TQuantile(0.80, df)) * sd / math.Sqrt(float64(n))
}

// CountLimits returns the interval of the expected number of events, for a count of independent
// events (Poisson). Each limit holds at the level by itself: 0.95 for one case in twenty beyond it.
// The lower limit of none is 0, and its upper one the rule of three. NaN for a count below 0 or a
// level outside (0, 1).
//
// Source: Garwood, Biometrika 28 (1936).
func CountLimits(events, level float64) (lo, hi float64) {
	if !(events >= 0) || math.IsInf(events, 0) || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN()
	}
	if events > 0 {
		lo = mathext.GammaIncRegInv(events, 1-level)
	}
	return lo, mathext.GammaIncRegInv(events+1, level)
}

// PairsFor returns the smallest number of pairs, at least [MinPairs], whose [MDE] at this sd and
// alpha is at most margin; all three are positive, sd and margin in the same unit. It returns 0
// when even [MaxPairs] are not enough or an argument makes no sense.
func PairsFor(sd, margin, alpha float64) int {
	if !(sd >= 0) || !(margin > 0) || !(alpha > 0 && alpha < 1) {
		return 0
	}
	z := normalQuantile(1-alpha/2) + normalQuantile(0.80)
	return smallestPairs(square(z*sd/margin), func(n int) bool {
		return MDE(sd, n, alpha) <= margin
	})
}

// PairsToDecide returns the smallest number of pairs, at least [MinPairs], with which a mean and sd
// like the ones observed would lead to a conclusion: either the interval of level 1-2·alpha lies
// inside ±margin, or the one of level 1-alpha excludes zero. It returns 0 when even [MaxPairs] are
// not enough.
func PairsToDecide(mean, sd, margin, alpha float64) int {
	if math.IsNaN(mean) || !(sd >= 0) || !(margin > 0) || !(alpha > 0 && alpha < 0.5) {
		return 0
	}
	if sd == 0 {
		return MinPairs // a number that does not vary is inside the margin or beyond zero
	}
	mean = math.Abs(mean)
	start := square(normalQuantile(1-alpha/2) * sd / mean)
	if mean < margin {
		start = min(start, square(normalQuantile(1-alpha)*sd/(margin-mean)))
	}
	return smallestPairs(start, func(n int) bool {
		se, df := sd/math.Sqrt(float64(n)), float64(n-1)
		return mean < margin && mean+TQuantile(1-alpha, df)*se < margin ||
			mean > TQuantile(1-alpha/2, df)*se
	})
}

// smallestPairs returns the smallest n in [MinPairs, MaxPairs] that is enough. Start is the number
// for a normal distribution, which is at most that for Student's t and seldom more than three less.
func smallestPairs(start float64, enough func(n int) bool) int {
	if !(start <= MaxPairs) {
		return 0
	}
	for n := max(MinPairs, int(start)); n <= MaxPairs; n++ {
		if enough(n) {
			return n
		}
	}
	return 0
}

// FixedAlpha is the two-sided level of a comparison whose number of pairs was declared beforehand.
const FixedAlpha = 0.05

// PlannedLook is one planned look at the growing data: after how many pairs, and the nominal
// two-sided level that applies to it.
type PlannedLook struct {
	Pairs int
	Alpha float64
}

// PocockLooks returns the three planned looks of a comparison that may stop early: after 6, 9 and
// 12 pairs, each at the nominal level 0.0221, which keeps the level of all three together at 5 %.
// Looking after every pair at 0.05 would give 18 %.
//
// Source: Pocock, Biometrika 64 (1977), table 1, three looks.
func PocockLooks() []PlannedLook {
	return []PlannedLook{{6, 0.0221}, {9, 0.0221}, {12, 0.0221}}
}

// Holm returns the p-values adjusted for being a family, in the order given: an adjusted value at
// most alpha keeps the chance of any false finding in the family at alpha. NaN stands for a test
// that could not be made; it counts as 1 in the family and stays NaN.
//
// Source: Holm, Scand. J. Statist. 6 (1979).
func Holm(p []float64) []float64 {
	value := func(i int) float64 {
		if math.IsNaN(p[i]) {
			return 1
		}
		return p[i]
	}
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(p)-rank)*value(i)))
		adjusted[i] = largest
		if math.IsNaN(p[i]) {
			adjusted[i] = math.NaN()
		}
	}
	return adjusted
}

func square(x float64) float64 { return x * x }

func normalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
