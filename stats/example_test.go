package stats_test

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// Six blocks measured base and new once each. The sample is the logarithm of each block's ratio;
// six values are the fewest that carry an interval of 95 %.
func ExampleHodgesLehmann() {
	percent := func(x float64) float64 { return 100 * (math.Exp(x) - 1) }
	for _, n := range []int{6, 5} {
		base := []float64{997, 1011, 1003, 989, 1020, 1005}[:n]
		changed := []float64{952, 968, 951, 949, 966, 962}[:n]
		ratios, err := stats.LogRatios(base, changed)
		if err != nil {
			fmt.Println(err)
			return
		}
		center := stats.HodgesLehmann(ratios, 0.95)
		fmt.Printf("%d blocks: %.1f %%", ratios.N(), percent(center.Estimate))
		if center.Interval.Known() {
			fmt.Printf(
				", %.1f to %.1f %%",
				percent(center.Interval.Lo),
				percent(center.Interval.Hi),
			)
		}
		p, smallest := stats.SignFlip(ratios)
		fmt.Printf("; p = %.3f, at least %.3f\n", p, smallest)
	}
	// Output:
	// 6 blocks: -4.6 %, -5.3 to -4.0 %; p = 0.031, at least 0.031
	// 5 blocks: -4.7 %; p = 0.062, at least 0.062
}
