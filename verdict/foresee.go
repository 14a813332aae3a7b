package verdict

import (
	"math"

	"plimsoll/stats"
)

// Foresee returns what a comparison of so many pairs finds in four of five cases, when runs of one build vary by runSD (relative
// to the number itself, or in points for an absolute endpoint) and independently, so that the differences of pairs vary √2 times
// as much; and how many pairs would find a change of the margin. mde is a ratio minus one, or points; 0 when the pairs are too
// few to say. needed is 0 when no sensible number is enough.
func (e Endpoint) Foresee(runSD float64, pairs int, alpha float64) (mde float64, needed int) {
	sd := runSD * math.Sqrt2
	if d := stats.MDE(sd, pairs, alpha); !math.IsNaN(d) && pairs >= stats.MinPairs {
		mde = e.outward(d)
	}
	return mde, stats.PairsFor(sd, e.limit(), alpha)
}
