package study

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// ShareInterval is the exact interval of a share by Clopper and Pearson (Biometrika 26, 1934, 404):
// the chances of success p for which k successes in n independent tries, or more, and k or fewer,
// are each as likely as (1-level)/2 at least. It covers the true share with at least the chance
// level, for each n. Without tries it is [0, 1]. k is 0 to n, and level between 0 and 1; else both
// ends are NaN.
func ShareInterval(k, n int, level float64) stats.Interval {
	if k < 0 || n < k || !(level > 0 && level < 1) {
		return stats.Interval{Lo: math.NaN(), Hi: math.NaN(), Level: level}
	}
	tail := (1 - level) / 2
	iv := stats.Interval{Lo: 0, Hi: 1, Level: level}
	if k > 0 {
		iv.Lo = crossing(func(p float64) bool { return 1-binomialAtMost(k-1, n, p) >= tail })
	}
	if k < n {
		iv.Hi = crossing(func(p float64) bool { return binomialAtMost(k, n, p) <= tail })
	}
	return iv
}

// ShareText writes a share of n, in percent, with its interval of 95 %.
func ShareText(k, n int) string {
	iv := ShareInterval(k, n, 0.95)
	return fmt.Sprintf("%.0f [%.0f, %.0f]", 100*float64(k)/float64(max(n, 1)), 100*iv.Lo, 100*iv.Hi)
}

// crossing is the smallest p in [0, 1] for which over holds, when it holds for each p above.
func crossing(over func(p float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		if p := (lo + hi) / 2; over(p) {
			hi = p
		} else {
			lo = p
		}
	}
	return hi
}

// binomialAtMost is the chance of at most k successes in n tries, each with chance p.
func binomialAtMost(k, n int, p float64) float64 {
	switch {
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	sum := 0.0
	all := lgamma(n + 1)
	odds := math.Log(p) - math.Log1p(-p)
	for i := range k + 1 {
		sum += math.Exp(
			all - lgamma(i+1) - lgamma(n-i+1) + float64(i)*odds + float64(n)*math.Log1p(-p),
		)
	}
	return min(sum, 1)
}

// lgamma is the logarithm of the gamma function of a positive number.
func lgamma(x int) float64 {
	v, _ := math.Lgamma(float64(x))
	return v
}
