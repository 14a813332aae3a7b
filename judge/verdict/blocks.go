package verdict

import (
	"math"

	"plimsoll/stats"
)

// RunSDs are the spreads between runs of one build for which [Result.BlocksForSame] is tabulated,
// relative to the number itself: 1 % is a quiet laboratory, 5 % an ordinary cloud.
func RunSDs() []float64 { return []float64{0.01, 0.02, 0.03, 0.05} }

// A Blocks is the number of blocks needed to find two arms the same.
type Blocks struct {
	// RunSD is the spread of the number between runs of one build, relative to itself.
	RunSD float64 `json:"run_sd"`
	// Blocks is the smallest number of which four in five comparisons find the same; 0 with Never
	// or TooMany.
	Blocks int `json:"blocks"`
	// Never is true when the difference lies outside the margin: no number of blocks makes the arms
	// the same.
	Never bool `json:"never,omitempty"`
	// TooMany is true when more than stats.MaxPairs blocks are needed.
	TooMany bool `json:"too_many,omitempty"`
}

// BlocksForSame returns, for each spread of [RunSDs], the number of blocks needed to conclude that
// the arms are the same within the margin, if their true difference is the observed one: the
// smallest number, at least stats.MinPairs, at which four in five comparisons with one look at the
// level of 5 % conclude that. Two runs of a block vary independently here, so that their difference
// varies √2 times as much as a run; blocks also cancel drift that both runs share, which is not
// counted here. It is nil where the size of the difference is not known or rests on bounds, and for
// absolute endpoints, whose runs have no relative spread.
func (r Result) BlocksForSame() []Blocks {
	if !r.HasEffect() || r.Censored() || r.Absolute {
		return nil
	}
	var out []Blocks
	mean, limit := r.Scale(r.Effect), r.Limit()
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
