package verdict

import (
	"math"

	"plimsoll/stats"
)

// Levels are the two parts of the spread of a result's differences: inside blocks, whose runs
// alternated, and between deployments. Relative numbers are ratios; the standard deviations are of
// ln(new/base).
type Levels struct {
	Blocks  int     `json:"blocks"`
	Measure float64 `json:"measure_seconds"` // of a run, the mean
	Within  float64 `json:"sd_within"`
	// 0 where the inside of the blocks explains all of the spread
	Between float64 `json:"sd_between"`
	// MDE is the smallest change that the comparison finds in four of five cases by these two
	// levels, Longer and More that with twice the measured time and with twice the blocks. It is
	// larger than [Result.MDE] where the blocks differ less than their insides make likely.
	MDE    float64 `json:"mde"`
	Longer float64 `json:"mde_twice_the_measure"`
	More   float64 `json:"mde_twice_the_blocks"`
}

// TellLevels sets the Levels of a result from the variances that the insides of its blocks leave,
// by number of the block, of runs of so many seconds. It leaves them out below [stats.MinInterval]
// pairs, with bounds, for absolute endpoints, and where a block has none.
func (r *Result) TellLevels(within map[int]float64, seconds float64) {
	if r.N < stats.MinInterval || r.Absolute || r.Censored() || r.Kind == Invalid {
		return
	}
	var d, w []float64
	for _, p := range r.Pairs {
		v, ok := within[p.Block]
		if !ok {
			return
		}
		d, w = append(d, math.Log(p.New/p.Base)), append(w, v)
	}
	l, ok := stats.NewVariances(d, w)
	if !ok {
		return
	}
	mde := func(blocks int, longer float64) float64 {
		return r.Unscale(l.MDE(blocks, longer, r.Alpha))
	}
	r.Levels = &Levels{
		Blocks:  l.Blocks,
		Measure: seconds,
		Within:  math.Sqrt(l.Within),
		Between: math.Sqrt(l.Between),
		MDE:     mde(l.Blocks, 1),
		Longer:  mde(l.Blocks, 2),
		More:    mde(2*l.Blocks, 1),
	}
}
