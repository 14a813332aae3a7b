package verdict

import (
	"math"

	"plimsoll/stats"
)

// RunSDs are the spreads between runs of one build for which [Result.BlocksForSame] is tabulated, relative to the number
// itself: 1 % is a quiet laboratory, 5 % an ordinary cloud.
func RunSDs() []float64 { return []float64{0.01, 0.02, 0.03, 0.05} }

// A Blocks is how many blocks it takes to find two arms the same.
type Blocks struct {
	// RunSD is how much the number varies between runs of one build, relative to itself.
	RunSD float64 `json:"run_sd"`
	// Blocks is the smallest number of which four in five comparisons find the same; 0 with Never or TooMany.
	Blocks int `json:"blocks"`
	// Never says that the difference lies outside the margin: no number of blocks makes it the same.
	Never bool `json:"never,omitempty"`
	// TooMany says that more than stats.MaxPairs blocks are needed.
	TooMany bool `json:"too_many,omitempty"`
}

// BlocksForSame answers for each spread of [RunSDs] how many blocks it takes to say that the arms are the same within the
// margin, if their true difference is the one that was seen: the smallest number, at least stats.MinPairs, of which
// four in five comparisons of one look at the level of 5 % say so. Two runs of a block vary independently here, so that
// their difference varies √2 times as much as a run; what blocks cancel of a drift that both share comes on top. It is nil
// where the size of the difference is not known or rests on bounds, and for absolute endpoints, whose runs have no relative spread.
func (r Result) BlocksForSame() []Blocks {
	if !r.HasEffect() || r.Censored() || r.Absolute {
		return nil
	}
	var out []Blocks
	mean, limit := r.inward(r.Effect), r.limit()
	for _, sd := range RunSDs() {
		b := Blocks{RunSD: sd, Never: !(math.Abs(mean) < limit)}
		if !b.Never {
			b.Blocks = stats.PairsForSame(mean, sd*math.Sqrt2, limit, stats.FixedAlpha)
			b.TooMany = b.Blocks == 0
		}
		out = append(out, b)
	}
	return out
}
