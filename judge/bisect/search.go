package bisect

import (
	"fmt"
	"math"

	"plimsoll/judge/attribution"
	"plimsoll/stats"
)

const (
	// Enough is the probability of a build that ends the search.
	Enough = 0.95
	// Several is the probability of more than one change from which on it is reported.
	Several = 0.95
	// Least is the smallest change of the ends that is searched for, as a ratio less 1. Builds that
	// are alike differ by nearly as much, in all blocks of a comparison alike.
	Least = 0.01
	// blocks are measured of the ends, and of a build and its predecessor; twice as many at most.
	blocks = stats.MinPairs
)

// A BuildSearch is a range of builds with what was measured of it. Its methods do not change it, so that
// a search goes on from its stored measurements.
type BuildSearch struct {
	Builds int // at least 2
	// Prior weighs builds as suspects, by index; nil for equal weights.
	Prior    []float64
	Skipped  map[int]bool // builds that cannot be made; neither the first nor the last
	Measured []BlockRatio
}

// A NextStep is the next thing to measure.
type NextStep struct {
	Build, Against int
	Blocks         int
	Purpose        Purpose
}

// A Purpose is the reason for a step.
type Purpose string

// The purposes.
const (
	Ends    Purpose = "ends"
	Probe   Purpose = "probe"
	Confirm Purpose = "confirm"
)

// An Outcome is what a search has found.
type Outcome string

// The outcomes.
const (
	Open      Outcome = "open"      // not over
	Found     Outcome = "found"     // a build, or a range of them behind builds that cannot be made
	Nothing   Outcome = "nothing"   // the ends do not differ by more than [Least] for certain
	Undecided Outcome = "undecided" // the measurements contradict each other
)

// A Diagnosis is the conclusion of a search so far.
type Diagnosis struct {
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"` // of Undecided
	// Build is the most probable first changed build, and Before the last one before it that was
	// made: they are neighbors unless builds between them were skipped.
	Build       int     `json:"build"`
	Before      int     `json:"before"`
	Probability float64 `json:"probability"`
	// Effect is the change of the endpoint between Before and Build by the blocks that were made to
	// confirm it, and Blocks is their number; Ends is the change over the whole range.
	Effect attribution.IntervalEstimate `json:"effect"`
	Ends   attribution.IntervalEstimate `json:"ends"`
	Blocks int                          `json:"blocks"`
	// More is the probability of more than one change.
	More float64 `json:"more"`
}

// excludes0 reports whether an interval is known and does not hold 0.
func excludes0(i attribution.IntervalEstimate) bool { return i.Low > 0 || i.High < 0 }

// Next returns the next step, and the answer so far. There is no step when the outcome is not
// [Open].
func (s *BuildSearch) Next() (NextStep, Diagnosis) {
	last := s.Builds - 1
	ends, n := s.between(last, 0, Ends)
	a := Diagnosis{Outcome: Open, Build: last, Ends: ends}
	if !(ends.Low > Least || ends.High < -Least) {
		if n < 2*blocks {
			return NextStep{last, 0, left(n), Ends}, a
		}
		a.Outcome = Nothing
		return NextStep{}, a
	}
	if n < blocks {
		return NextStep{last, 0, left(n), Ends}, a
	}
	p := s.Posterior()
	a.More = p.More
	a.Before, a.Build, a.Probability = s.likeliest(p)
	own := Confirm
	if a.Before == 0 && a.Build == last {
		own = Ends
	}
	a.Effect, a.Blocks = s.between(a.Build, a.Before, own)
	build, inside := s.median(p)
	switch {
	case a.Probability < Enough && inside && len(s.Measured) < s.most():
		return NextStep{build, 0, 1, Probe}, a
	case a.Probability < Enough && inside:
		a.Outcome = Undecided
		a.Why = fmt.Sprintf("%d blocks do not single out a build", len(s.Measured))
		return NextStep{}, a
	case a.Blocks < blocks || !excludes0(a.Effect) && a.Blocks < 2*blocks:
		return NextStep{a.Build, a.Before, left(a.Blocks), Confirm}, a
	case !excludes0(a.Effect) || (a.Effect.Value > 0) != (a.Ends.Value > 0) && a.More < Several:
		a.Outcome = Undecided
		a.Why = fmt.Sprintf("%d blocks of the most probable build and the one before it do not confirm it", a.Blocks)
		return NextStep{}, a
	}
	a.Outcome = Found
	return NextStep{}, a
}

// left returns how many blocks are missing to six, or behind them to twelve.
func left(n int) int { return blocks - n%blocks }

// most limits the blocks of a search: three times those that a search needs on average where the
// noise is half of the effect.
func (s *BuildSearch) most() int { return 4*blocks + 10*int(math.Ceil(math.Log2(float64(s.Builds)))) }

// Posterior returns the probabilities of the builds.
func (s *BuildSearch) Posterior() Posterior { return posterior(s.Builds, s.Prior, s.Measured) }

// between returns the change between two builds by the blocks that were made for it, and the number
// of these.
func (s *BuildSearch) between(build, against int, of Purpose) (attribution.IntervalEstimate, int) {
	var ratios []float64
	for _, m := range s.Measured {
		if m.Build == build && m.Against == against && m.Purpose == of {
			ratios = append(ratios, m.Ratio)
		}
	}
	sample, err := stats.NewSample(ratios...)
	if err != nil || len(ratios) == 0 {
		return attribution.IntervalEstimate{}, len(ratios)
	}
	ci := stats.TInterval(sample, 1-stats.FixedAlpha)
	i := attribution.IntervalEstimate{Value: math.Expm1(sample.Mean())}
	if ci.Known() {
		i.Low, i.High = math.Expm1(ci.Lo), math.Expm1(ci.Hi)
	}
	return i, len(ratios)
}

// likeliest returns the build that is most probably the first changed one, together with the
// skipped builds before it, the last build before these, and the probability.
func (s *BuildSearch) likeliest(p Posterior) (before, build int, probability float64) {
	from, sum := 0, 0.0
	for j := 1; j < s.Builds; j++ {
		sum += p.First[j]
		if s.Skipped[j] {
			continue
		}
		if sum > probability {
			before, build, probability = from, j, sum
		}
		from, sum = j, 0
	}
	return before, build, probability
}

// median returns the build inside the range at which a measurement is most informative: at which
// the probability that the first change lies at or before it is nearest to 1/2. inside is false if
// none is left inside.
func (s *BuildSearch) median(p Posterior) (build int, inside bool) {
	best, sum := math.Inf(1), 0.0
	for j := 1; j < s.Builds-1; j++ {
		sum += p.First[j]
		if d := math.Abs(sum - 0.5); !s.Skipped[j] && d < best {
			best, build = d, j
		}
	}
	return build, build > 0
}

// Weighted returns the prior of n builds in which half of the probability is given to suspects, by
// their weights, and half to all builds alike; nil for no suspects.
func Weighted(n int, suspects map[int]float64) []float64 {
	all := 0.0
	for _, w := range suspects {
		all += w
	}
	if all <= 0 {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = 0.5/float64(n-1) + 0.5*suspects[i]/all
	}
	return out
}
