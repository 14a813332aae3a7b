package verdict

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/plan"
	"plimsoll/stats"
)

// judgeBounds judges a sample in which some values are only lower bounds, so that a conclusion
// holds for any true values behind them ([stats.Spans]). Such a sample is never the same: the true
// value may lie beyond any margin.
func (r Result) judgeBounds() Result {
	spans := r.spans()
	r.Warn(OnlyBounds, fmt.Sprintf(
		"%d of %s %s (a search ended at a limit of its own): the conclusion holds whatever lies behind, and is less sharp for that; "+
			"raise the limit or the budget of the search",
		spans.Hidden(),
		Count(r.N, "pair"),
		plural(spans.Hidden(), "is only a bound", "are only bounds"),
	))
	unknown := 0
	for _, s := range spans {
		if !s.Known() && !(s.Hi < 0) && !(s.Lo > 0) {
			unknown++
		}
	}
	if unknown > 0 {
		r.Warn(OnlyBounds, fmt.Sprintf(
			"%s %s not show which arm is the higher",
			Count(unknown, "pair"),
			plural(unknown, "does", "do"),
		))
	}
	if r.N < stats.MinPairs {
		return r.indicate()
	}
	if !spans.Tested() {
		return r.judgeOrder(spans)
	}
	ci, ci90 := r.measureBounds(spans)
	kind, reason := r.decideBounds(spans, ci, ci90)
	kind, reason = r.boundsWithoutOutliers(spans, kind, reason)
	return r.conclude(kind, reason)
}

// spans returns the differences, each as the interval in which it may lie, on the scale of the
// test.
func (r *Result) spans() stats.Spans {
	out := make(stats.Spans, r.N)
	for i, d := range r.raw(r.Pairs).Values {
		p := r.Pairs[i]
		out[i] = stats.Span{Lo: d, Hi: d}
		if p.BaseCensored { // the base may be higher: the difference is at most d
			out[i].Lo = math.Inf(-1)
		}
		if p.NewCensored {
			out[i].Hi = math.Inf(1)
		}
	}
	return out
}

// boundIntervals returns the two intervals of the rule, which hold the estimate too.
func (r *Result) boundIntervals(s stats.Spans) (ci, ci90 stats.Interval) {
	ci, ci90 = s.Interval(1-r.Alpha), s.Interval(1-2*r.Alpha)
	mean := s.Nearest().Mean()
	for _, i := range []*stats.Interval{&ci, &ci90} {
		i.Lo, i.Hi = min(i.Lo, mean), max(i.Hi, mean)
	}
	return ci, ci90
}

// measureBounds fills the numbers that bounds leave: no smallest effect, no number of pairs and no
// Hodges-Lehmann estimate.
func (r *Result) measureBounds(spans stats.Spans) (ci, ci90 stats.Interval) {
	ci, ci90 = r.boundIntervals(spans)
	nearest := spans.Nearest()
	r.fill(nearest.Mean(), spans.Known().SD(), spans.Test(), ci, ci90, nearest)
	if twin := twinOfBounds(spans, nearest.Mean()); twin.N() > 0 {
		r.SignFlipP, _ = stats.SignFlip(twin)
	}
	r.warnOfSample(spans.Known().Warnings)
	return ci, ci90
}

// decideBounds applies the rule to a sample with bounds. A difference must not be one that a
// completion of the bounds would call the same.
func (r *Result) decideBounds(spans stats.Spans, ci, ci90 stats.Interval) (Kind, string) {
	shifted := ci.Below(0) || ci.Above(0)
	switch {
	case !ci.Known():
		return Inconclusive, "too few pairs are more than a bound"
	case ci90.Inside(-r.Limit(), r.Limit()):
		return Inconclusive, fmt.Sprintf(
			"the %s interval lies inside the margin, but behind a bound the difference may lie beyond it",
			r.level90(),
		)
	case !shifted:
		return Inconclusive, fmt.Sprintf(
			"the %s interval includes no change and reaches past the margin",
			r.level(),
		)
	case spans.MayLieInside(1-2*r.Alpha, r.Limit()):
		return Inconclusive, "the bounds allow the same as well as a difference"
	}
	kind, reason := r.differs(ci, twinOfBounds(spans, spans.Nearest().Mean()))
	if kind != Inconclusive {
		reason += ", whatever lies behind the " + plural(spans.Hidden(), "bound", "bounds")
	}
	return kind, reason
}

// twinOfBounds returns the sample of the sign-flip test for a conclusion with the sign of mean: of
// a bound that shows its side the end towards zero, which gives the largest p-value that the bound
// allows; bounds that do not show it are left out.
func twinOfBounds(spans stats.Spans, mean float64) stats.Sample {
	var values []float64
	for _, s := range spans {
		switch {
		case s.Known():
			values = append(values, s.Lo)
		case mean < 0 && s.Hi < 0:
			values = append(values, s.Hi)
		case mean > 0 && s.Lo > 0:
			values = append(values, s.Lo)
		}
	}
	return mustSample(stats.NewSample(values...))
}

// boundsWithoutOutliers tests whether the conclusion holds when the pairs that lie far from the
// others are left out.
func (r *Result) boundsWithoutOutliers(spans stats.Spans, kind Kind, reason string) (Kind, string) {
	flagged := stats.Outliers(spans.Nearest())
	if len(flagged) == 0 {
		return kind, reason
	}
	var rest stats.Spans
	for i, s := range spans {
		if !slices.Contains(flagged, i) {
			rest = append(rest, s)
		}
	}
	other := Inconclusive
	if rest.Tested() {
		ci, ci90 := r.boundIntervals(rest)
		other, _ = r.decideBounds(rest, ci, ci90)
	}
	text := fmt.Sprintf(
		"%s %s far from the others; without %s the result is %s",
		blocks(r.Outliers),
		plural(len(flagged), "is", "are"),
		plural(len(flagged), "it", "them"),
		other,
	)
	r.warn(Warning{FarPairs, text, other})
	return r.sensitive(kind, other, reason)
}

// judgeOrder judges a sample of which more than half are bounds: the order within the pairs is all
// that is left, and a pair whose order is not known counts against the conclusion. The size of the
// difference has one end at most.
func (r Result) judgeOrder(spans stats.Spans) Result {
	p, below, above, limit := spans.Signs(1 - r.Alpha)
	r.P = p
	up := above > below
	if !math.IsInf(limit, 0) {
		if up {
			r.Lo = r.Unscale(limit)
		} else {
			r.Hi = r.Unscale(limit)
		}
	}
	tally := fmt.Sprintf(
		"%s is the higher in %d and the lower in %d of %s (sign test, %s)",
		r.New.Name,
		above,
		below,
		Count(r.N, "pair"),
		pText(r.P),
	)
	switch {
	case below+above == 0:
		return r.conclude(Inconclusive, "no pair shows which arm is the higher")
	case r.P > r.Alpha:
		return r.conclude(Inconclusive, tally)
	case spans.MayLieInside(1-2*r.Alpha, r.Limit()):
		return r.conclude(Inconclusive, tally+"; the bounds allow the same as well as a difference")
	}
	if end := r.oneEnd(); end != "" {
		tally += ", a change of " + end
	}
	if up == (r.Better == plan.Higher) {
		return r.conclude(Better, tally)
	}
	return r.conclude(Worse, tally)
}

// oneEnd writes the end of an interval of which only one is known: "at most -15.63 %"; empty if
// none is, or both.
func (r Result) oneEnd() string {
	switch lo, hi := !math.IsNaN(r.Lo), !math.IsNaN(r.Hi); {
	case hi && !lo:
		return "at most " + delta(r.Endpoint, r.Hi)
	case lo && !hi:
		return "at least " + delta(r.Endpoint, r.Lo)
	default:
		return ""
	}
}

// A PairDelta is the difference of one pair as far as it is known: Lo and Hi are equal when it is,
// and NaN at an end that is open. The scale is that of Result.Effect.
type PairDelta struct {
	Lo, Hi float64
}

// Deltas returns the differences of the pairs, in their order.
func (r Result) Deltas() []PairDelta {
	out := make([]PairDelta, len(r.Pairs))
	for i, p := range r.Pairs {
		d := p.New - p.Base
		if !r.Absolute {
			d = p.New/p.Base - 1
		}
		out[i] = PairDelta{d, d}
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
func (d PairDelta) Known() bool { return d.Lo == d.Hi }
