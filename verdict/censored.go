package verdict

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// judgeOrder judges a sample in which a value is only a lower bound: the order within the pairs is all
// that is left, tested by the sign test on the pairs whose order is known. Whether it is known does not
// depend on which arm is called new, so leaving the others out keeps the level of the test.
func (r Result) judgeOrder() Result {
	var up, down, unknown int
	for _, p := range r.Pairs {
		switch order := p.order(); {
		case order > 0:
			up++
		case order < 0:
			down++
		default:
			unknown++
		}
	}
	r.P = stats.SignTest(up, down)
	r.warn("a search ended at its own limit: such values are lower bounds, and the difference has no size; raise the limit")
	if unknown > 0 {
		r.warn(fmt.Sprintf("%s %s not show which arm is the higher", count(unknown, "pair"), plural(unknown, "does", "do")))
	}
	if r.N < stats.MinPairs {
		r.Indicative = true
		return r.conclude(Inconclusive, indicative(r.N))
	}
	tally := fmt.Sprintf("%s is the higher in %d of %s with a known order (sign test, %s)", r.New.Name, up, count(up+down, "pair"), pText(r.P))
	switch {
	case up+down == 0:
		return r.conclude(Inconclusive, "no pair shows which arm is the higher")
	case r.P > r.Alpha:
		return r.conclude(Inconclusive, tally)
	case (up > down) == (r.Better == Higher):
		return r.conclude(Better, tally)
	default:
		return r.conclude(Worse, tally)
	}
}

// order returns whether the new arm is above (+1) or below (-1) the base, 0 where the bounds leave it open
// or the values are equal.
func (p Pair) order() int {
	switch {
	case p.BaseCensored && p.NewCensored:
		return 0
	case p.New > p.Base && !p.BaseCensored:
		return 1
	case p.New < p.Base && !p.NewCensored:
		return -1
	default:
		return 0
	}
}

// A Delta is the difference of one pair as far as it is known: Lo and Hi are equal when it is, and NaN at
// an end that is open. The scale is that of Result.Effect.
type Delta struct {
	Block  int
	Lo, Hi float64
}

// Deltas returns the differences of the pairs, in their order.
func (r Result) Deltas() []Delta {
	out := make([]Delta, len(r.Pairs))
	for i, p := range r.Pairs {
		d := p.New - p.Base
		if !r.Absolute {
			d = p.New/p.Base - 1
		}
		out[i] = Delta{Block: p.Block, Lo: d, Hi: d}
		if p.BaseCensored { // the base may be higher: the difference is at most d
			out[i].Lo = math.NaN()
		}
		if p.NewCensored {
			out[i].Hi = math.NaN()
		}
	}
	return out
}

// Known reports whether the difference is a number and not a bound.
func (d Delta) Known() bool { return d.Lo == d.Hi }
