package verdict

import (
	"math"

	"plimsoll/plan"
	"plimsoll/stats"
)

// Foresee returns the smallest change mde that a comparison of so many pairs finds in four of five
// cases, and the number of pairs needed to find a change of the margin. runSD is the spread of runs
// of one build (relative to the number itself, or in points for an absolute endpoint); runs vary
// independently, so that the differences of pairs vary √2 times as much. mde is a ratio minus one,
// or points; 0 when there are too few pairs. needed is 0 when no sensible number is enough.
func Foresee(e plan.Endpoint, runSD float64, pairs int, alpha float64) (mde float64, needed int) {
	sd := runSD * math.Sqrt2
	if d := stats.MDE(sd, pairs, alpha); !math.IsNaN(d) && pairs >= stats.MinPairs {
		mde = e.Unscale(d)
	}
	return mde, stats.PairsFor(sd, e.Limit(), alpha)
}
