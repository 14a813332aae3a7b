package verdict

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/stats"
)

// A sample is the differences of some pairs on the scale of the test, with the estimate of their
// mean. Where the order of the runs is known and balanced enough, both are free of its effect
// ([stats.Crossover]).
type sample struct {
	stats.Sample
	stats.Estimate
	sd    float64
	order *stats.Estimate // nil: not allowed for
}

// interval returns the two-sided t interval of the mean.
func (s sample) interval(level float64) stats.Interval {
	if s.order == nil {
		return stats.TInterval(s.Sample, level)
	}
	return s.Estimate.Interval(level)
}

// mde returns the smallest effect that would be found in four of five cases.
func (s sample) mde(alpha float64) float64 {
	if s.order == nil {
		return stats.MDE(s.sd, s.N(), alpha)
	}
	return s.Estimate.MDE(alpha)
}

// raw returns the differences of the pairs, which were checked, as they are.
func (r *Result) raw(pairs []Pair) stats.Sample {
	base, fresh := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		base[i], fresh[i] = p.Base, p.New
	}
	if r.Absolute {
		return mustSample(stats.Differences(base, fresh))
	}
	return mustSample(stats.LogRatios(base, fresh))
}

// differences returns the sample that is judged.
func (r *Result) differences(pairs []Pair) sample {
	s := r.raw(pairs)
	if c, ok := stats.NewCrossover(s, orders(pairs)); ok {
		return sample{Sample: c.Adjusted, Estimate: c.Estimate, sd: c.SD, order: &c.Order}
	}
	return sample{Sample: s, Estimate: s.Estimate(), sd: s.SD()}
}

// orders returns +1 where the base came first, -1 where the new arm did, 0 where it is not known.
func orders(pairs []Pair) []int {
	out := make([]int, len(pairs))
	for i, p := range pairs {
		switch p.First {
		case FirstBase:
			out[i] = 1
		case FirstNew:
			out[i] = -1
		}
	}
	return out
}

// An OrderEffect is the difference of the run that came second in a pair from the first, whichever
// arm it was: Effect is a ratio minus one, or in points. P is of no effect.
type OrderEffect struct {
	Effect float64 `json:"effect"`
	P      float64 `json:"p"`
}

// orderLevel is the largest p-value at which an effect of the order is worth a warning. The
// comparison allows for it at any p-value.
const orderLevel = 0.01

// tellOrder fills in the effect of the order, or the reason why it counts as noise.
func (r *Result) tellOrder(s sample) {
	known := orders(r.Pairs)
	switch {
	case s.order != nil:
		r.Order = &OrderEffect{Effect: r.Unscale(s.order.Mean), P: s.order.Test()}
		if r.Order.P <= orderLevel {
			word := "lower"
			if r.Order.Effect > 0 {
				word = "higher"
			}
			r.Warn(RunOrder, fmt.Sprintf(
				"the run that came second in its pair was %s %s than the first, whichever arm it was (%s); the comparison allows for it (crossover)",
				size(r.Endpoint, r.Order.Effect),
				word,
				pText(r.Order.P),
			))
		}
	case r.N >= stats.MinPairs && !slices.Contains(known, 0):
		n := 0
		for _, o := range known {
			if o > 0 {
				n++
			}
		}
		r.Warn(UntoldOrder, fmt.Sprintf(
			"%s came first in %d of %s: the effect of coming second cannot be told from that of the arm",
			r.Base.Name,
			n,
			Count(r.N, "pair"),
		))
	}
}

// A Spread holds the standard deviation between runs of each arm, of the logarithms (0.02 is about
// 2 %). P is of equal spreads, by the test of Pitman and Morgan; Found is true if it is at most 5
// %, its sign-flip twin agrees, and the larger of the two is a quarter of the margin or more. It
// decides no verdict.
type Spread struct {
	Base  float64 `json:"base"`
	New   float64 `json:"new"`
	P     float64 `json:"p"`
	Found bool    `json:"found,omitempty"`
}

// tellSpread compares the spreads of the arms, and warns when one varies more.
func (r *Result) tellSpread(s sample) {
	if r.N < stats.MinPairs || r.Absolute { // of few events the higher rate varies more by itself
		return
	}
	base, fresh := make([]float64, r.N), make([]float64, r.N)
	for i, p := range r.Pairs {
		base[i], fresh[i] = math.Log(p.Base), math.Log(p.New)
	}
	c := stats.CompareSpreads(
		mustSample(stats.NewSample(base...)),
		mustSample(stats.NewSample(fresh...)),
		s.Sample,
		s.order != nil,
	)
	if math.IsNaN(c.P) {
		return
	}
	matters := max(c.Before, c.After) >= r.Limit()/4
	r.Spread = &Spread{
		Base:  c.Before,
		New:   c.After,
		P:     c.P,
		Found: matters && c.P <= stats.FixedAlpha && c.FlipP <= stats.FixedAlpha,
	}
	if r.Spread.Found {
		r.Warn(UnlikeSpread, r.spreadText())
	}
}

// spreadText writes the finding.
func (r *Result) spreadText() string {
	more := r.New.Name
	less := r.Base.Name
	x := r.Spread.New
	y := r.Spread.Base
	if y > x {
		more, less, x, y = less, more, y, x
	}
	return fmt.Sprintf(
		"runs of %s vary more than runs of %s: sd %s %% against %s %% (Pitman and Morgan, %s)",
		more,
		less,
		number(100*x, 1),
		number(100*y, 1),
		pText(r.Spread.P),
	)
}

// holdSpreads leaves those findings on spreads that hold among all results (Holm).
func holdSpreads(results []Result) {
	p := make([]float64, len(results))
	for i, r := range results {
		if p[i] = math.NaN(); r.Spread != nil {
			p[i] = r.Spread.P
		}
	}
	for i, adjusted := range stats.Holm(p) {
		if r := &results[i]; r.Spread != nil && r.Spread.Found && !(adjusted <= stats.FixedAlpha) {
			spread := *r.Spread
			spread.Found = false
			r.Spread = &spread
			r.unwarn(UnlikeSpread)
		}
	}
}
