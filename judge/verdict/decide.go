package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/plan"
	"plimsoll/stats"
)

// Numbers outside this range are refused: no rate, latency or capacity in any unit lies there, and
// their ratios would overflow.
const (
	Smallest = 1e-15
	Largest  = 1e15
)

// Judge compares the arms on one endpoint. Bad input (a number that is not finite, or not above
// zero where a ratio is taken, a block that appears twice, an endpoint without direction or margin)
// and an empty sample give a result of kind Invalid whose Reason names the place. The pairs are
// copied.
func Judge(e plan.Endpoint, pairs []Pair, opt Options) Result {
	r := newResult(e, pairs, opt)
	if err := check(e, pairs, opt, r.Alpha); err != nil {
		return r.conclude(Invalid, err.Error())
	}
	r.describeArms()
	r.warnAboutPlan(opt)
	if r.N == 0 {
		return r.conclude(Invalid, "there is no valid pair")
	}
	if r.Censored() {
		return r.judgeBounds()
	}
	s := r.differences(r.Pairs)
	r.warnOfSample(s.Warnings)
	ci, ci90 := r.intervals(s)
	r.measure(s, ci, ci90)
	r.tellOrder(s)
	r.tellSpread(s)
	if r.N < stats.MinPairs {
		return r.indicate()
	}
	kind, reason := r.decide(s, ci, ci90)
	kind, reason = r.withoutOutliers(s, kind, reason)
	kind, reason = r.withoutDifference(kind, reason)
	return r.conclude(kind, reason)
}

func newResult(e plan.Endpoint, pairs []Pair, opt Options) Result {
	nan := math.NaN()
	r := unknown()
	r.Endpoint, r.N, r.Pairs = e, len(pairs), append([]Pair{}, pairs...)
	r.Alpha = cmp.Or(opt.Alpha, stats.FixedAlpha)
	r.Look = opt.Look
	r.Looks = opt.Looks
	r.Over = opt.Over
	r.Base = Summary{Name: cmp.Or(opt.BaseName, "base"), Mean: nan, Lo: nan, Hi: nan}
	r.New = Summary{Name: cmp.Or(opt.NewName, "new"), Mean: nan, Lo: nan, Hi: nan}
	return r
}

// unknown returns a result without numbers.
func unknown() Result {
	nan := math.NaN()
	return Result{
		Effect: nan, Lo: nan, Hi: nan, Lo90: nan, Hi90: nan, P: nan, SignFlipP: nan, HolmP: nan,
		HL: nan, HLLo: nan, HLHi: nan, SD: nan, MDE: nan,
	}
}

func check(e plan.Endpoint, pairs []Pair, opt Options, alpha float64) error {
	if err := e.Check(); err != nil {
		return err
	}
	if !(alpha >= 0.0001 && alpha <= 0.2) {
		return fmt.Errorf("alpha %v: want 0.0001 to 0.2", opt.Alpha)
	}
	seen := make(map[int]bool, len(pairs))
	for _, p := range pairs {
		if p.First != "" && p.First != FirstBase && p.First != FirstNew {
			return fmt.Errorf("pair %d: %q came first: want base or new", p.Block, p.First)
		}
		if seen[p.Block] {
			return fmt.Errorf("pair %d appears twice", p.Block)
		}
		seen[p.Block] = true
		for _, side := range []struct {
			arm   string
			value float64
		}{{"base", p.Base}, {"new", p.New}} {
			if err := checkValue(e, side.value); err != nil {
				return fmt.Errorf("pair %d, %s is %v: %w", p.Block, side.arm, side.value, err)
			}
		}
	}
	return nil
}

func checkValue(e plan.Endpoint, v float64) error {
	switch {
	case math.IsNaN(v) || math.Abs(v) > Largest:
		return fmt.Errorf("want a number up to %g", Largest)
	case !e.Absolute && !(v >= Smallest):
		return fmt.Errorf(
			"a ratio needs numbers above zero (compare rates that may be zero by a margin in pp)",
		)
	default:
		return nil
	}
}

// describeArms fills the summaries of the two arms.
func (r *Result) describeArms() {
	base, fresh := make([]float64, r.N), make([]float64, r.N)
	for i, p := range r.Pairs {
		base[i], fresh[i] = p.Base, p.New
		r.Base.AtLeast = r.Base.AtLeast || p.BaseCensored
		r.New.AtLeast = r.New.AtLeast || p.NewCensored
	}
	r.summarize(&r.Base, base)
	r.summarize(&r.New, fresh)
}

func (r *Result) summarize(arm *Summary, values []float64) {
	inward, outward := math.Log, math.Exp
	if r.Absolute {
		inward = func(v float64) float64 { return v }
		outward = inward
	}
	for i, v := range values {
		values[i] = inward(v)
	}
	s := mustSample(stats.NewSample(values...))
	arm.N, arm.Mean = s.N(), outward(s.Mean())
	if !arm.AtLeast {
		ci := stats.TInterval(s, 1-r.Alpha)
		arm.Lo, arm.Hi = outward(ci.Lo), outward(ci.Hi)
		if r.Absolute && ci.Known() && slices.Min(values) >= 0 {
			arm.Lo = max(arm.Lo, 0) // a rate is never negative
		}
	}
}

// mustSample unwraps a sample of values that were checked before.
func mustSample(s stats.Sample, err error) stats.Sample {
	if err != nil {
		panic("verdict: checked values were refused: " + err.Error())
	}
	return s
}

// intervals returns the two intervals of the rule at the level of the look: the one for a change,
// and the one for sameness.
func (r *Result) intervals(s sample) (ci, ci90 stats.Interval) {
	return s.interval(1 - r.Alpha), s.interval(1 - 2*r.Alpha)
}

// measure fills every number that the sample carries.
func (r *Result) measure(s sample, ci, ci90 stats.Interval) {
	r.fill(s.Estimate.Mean, s.sd, s.Test(), ci, ci90, s.Sample)
	hl := stats.HodgesLehmann(s.Sample, 1-r.Alpha)
	r.HL = r.Unscale(hl.Estimate)
	r.HLLo = r.Unscale(hl.Interval.Lo)
	r.HLHi = r.Unscale(hl.Interval.Hi)
	if r.N >= stats.MinInterval {
		r.SignFlipP, _ = stats.SignFlip(s.Sample)
		r.MDE = r.Unscale(s.mde(r.Alpha))
		r.Widest = r.widest(s.Sample)
	}
}

// fill sets the numbers that bounds leave too; completed is the sample in which pairs may lie
// far from the others.
func (r *Result) fill(mean, sd, p float64, ci, ci90 stats.Interval, completed stats.Sample) {
	r.Effect, r.SD, r.P = r.Unscale(mean), sd, p
	r.Lo, r.Hi = r.Unscale(ci.Lo), r.Unscale(ci.Hi)
	r.Lo90, r.Hi90 = r.Unscale(ci90.Lo), r.Unscale(ci90.Hi)
	if r.Better == plan.Higher {
		r.NonInferior = ci.Above(-r.Limit())
	} else {
		r.NonInferior = ci.Below(r.Limit())
	}
	for _, i := range stats.Outliers(completed) {
		r.Outliers = append(r.Outliers, r.Pairs[i].Block)
	}
}

// pairsNeeded returns how many pairs are needed in all for the margin to be found, and for numbers
// like these to be decided at the level alpha; 0 if that is unknown or out of reach, as for bounds.
func (r *Result) pairsNeeded(alpha float64) int {
	if !r.HasInterval() || r.Censored() {
		return 0
	}
	forMargin := stats.PairsFor(r.SD, r.Limit(), r.Alpha)
	toDecide := stats.PairsToDecide(r.Scale(r.Effect), r.SD, r.Limit(), alpha)
	if forMargin == 0 || toDecide == 0 {
		return 0
	}
	if r.Order != nil { // the order costs a degree of freedom: no more than a pair
		return max(forMargin, toDecide) + 1
	}
	return max(forMargin, toDecide)
}

// widest returns the block that is furthest from the mean, 0 if all are equally far.
func (r *Result) widest(s stats.Sample) int {
	mean := s.Mean()
	far := 0.0
	block := 0
	for i, v := range s.Values {
		if d := math.Abs(v - mean); d > far {
			far, block = d, r.Pairs[i].Block
		}
	}
	return block
}

// decide applies the rule to a sample of any size that carries an interval.
func (r *Result) decide(s sample, ci, ci90 stats.Interval) (Kind, string) {
	shifted := ci.Below(0) || ci.Above(0)
	switch {
	case !ci.Known():
		return Inconclusive, "there are too few pairs for an interval"
	case ci90.Inside(-r.Limit(), r.Limit()):
		if shifted {
			return Same, fmt.Sprintf(
				"the %s interval lies inside the margin; a small real shift",
				r.level90(),
			)
		}
		return Same, fmt.Sprintf("the %s interval lies inside the margin", r.level90())
	case !shifted:
		return Inconclusive, fmt.Sprintf(
			"the %s interval includes no change and reaches past the margin",
			r.level(),
		)
	}
	return r.differs(ci, s.Sample)
}

// differs concludes from an interval that excludes no change, unless the robust twin of the t test
// objects to it on twin.
func (r *Result) differs(ci stats.Interval, twin stats.Sample) (Kind, string) {
	if veto := r.veto(twin); veto != "" {
		return Inconclusive, veto
	}
	kind, side := Worse, "bad"
	if ci.Above(0) == (r.Better == plan.Higher) {
		kind, side = Better, "good"
	}
	return kind, fmt.Sprintf("the %s interval lies on the %s side of no change", r.level(), side)
}

// veto checks whether the robust twin of the t test confirms a difference; it returns its
// objection.
func (r *Result) veto(s stats.Sample) string {
	p, lowest := stats.SignFlip(s)
	if lowest <= r.Alpha {
		if p > r.Alpha {
			return fmt.Sprintf(
				"the t interval excludes no change, but the sign-flip test does not (p = %s)",
				number(p, 4),
			)
		}
		return ""
	}
	for _, v := range s.Values {
		if v*s.Mean() <= 0 {
			return "the t interval excludes no change, but not all pairs point the same way, and they are too few for the sign-flip test"
		}
	}
	return ""
}

// withoutOutliers tests whether the conclusion holds when the flagged pairs are left out.
func (r *Result) withoutOutliers(s sample, kind Kind, reason string) (Kind, string) {
	flagged := stats.Outliers(s.Sample)
	if len(flagged) == 0 {
		return kind, reason
	}
	var pairs []Pair
	for i, p := range r.Pairs {
		if !slices.Contains(flagged, i) {
			pairs = append(pairs, p)
		}
	}
	rest := r.differences(pairs)
	ci, ci90 := r.intervals(rest)
	other, _ := r.decide(rest, ci, ci90)
	text := fmt.Sprintf("%s %s far from the others; without %s the change is %s and the result %s",
		blocks(r.Outliers), plural(len(flagged), "is", "are"), plural(len(flagged), "it", "them"),
		delta(r.Endpoint, r.Unscale(rest.Estimate.Mean)), other)
	r.warn(Warning{FarPairs, text, other})
	return r.sensitive(kind, other, reason)
}

// sensitive returns the conclusion of all pairs where it is also that without those that lie far
// from the others.
func (r *Result) sensitive(kind, other Kind, reason string) (Kind, string) {
	if other == kind {
		return kind, reason
	}
	return Inconclusive, fmt.Sprintf(
		"outlier-sensitive: %s with all pairs, %s without %s",
		kind,
		other,
		blocks(r.Outliers),
	)
}

// withoutDifference reports the rate that could have gone unseen when an absolute endpoint is the
// same number in both runs of every pair: the interval then has no width, which is not evidence. By
// the rule of three, n operations without an error exclude rates above 3/n at 95 %. Where there
// were errors, as many in both arms, the rates may lie as far apart as the two limits of their
// number ([stats.CountLimits]).
func (r *Result) withoutDifference(kind Kind, reason string) (Kind, string) {
	if !r.Absolute {
		return kind, reason
	}
	var baseOps, newOps int64
	var baseErrors, newErrors float64
	none, known := true, true
	for _, p := range r.Pairs {
		if p.New != p.Base {
			return kind, reason
		}
		none = none && p.Base == 0
		known = known && p.BaseOps > 0 && p.NewOps > 0
		baseOps += p.BaseOps
		newOps += p.NewOps
		baseErrors += p.Base / 100 * float64(p.BaseOps)
		newErrors += p.New / 100 * float64(p.NewOps)
	}
	what, unknown := "zero in every run of both arms", "how small a rate would have shown is not known"
	if !none {
		what, unknown = "the same in both runs of every pair", "how small a difference would have shown is not known"
	}
	if none || known { // the operations explain why nothing varies
		r.unwarn(NoSpread)
	}
	if !known { // an interval without a width is not evidence
		r.NonInferior = false
		return Inconclusive, what + "; " + unknown + ": give the numbers of operations (of a CSV in the columns base_ops and new_ops)"
	}
	ops := min(baseOps, newOps)
	if none {
		visible := 100 * 3 / float64(ops)
		if visible > r.Margin {
			r.NonInferior = false
			// with as many operations each
			r.PairsNeeded = int(math.Ceil(float64(r.N) * visible / r.Margin))
			return Inconclusive, fmt.Sprintf(
				"%s, but %d operations could hide a rate of %s pp: the margin of %s takes %.0f",
				what,
				ops,
				number(visible, 4),
				marginText(r.Endpoint),
				math.Ceil(300/r.Margin-1e-9),
			)
		}
		return kind, fmt.Sprintf(
			"%s; a rate above %s pp would have shown in %d operations",
			what,
			number(visible, 4),
			ops,
		)
	}
	errors := max(1, math.Round(max(baseErrors, newErrors)))
	lo, hi := stats.CountLimits(errors, 0.95)
	visible := 100 * (hi - lo) / float64(ops)
	of := fmt.Sprintf("%d operations with %s", ops, Count(int(errors), "error"))
	if visible > r.Margin {
		r.NonInferior = false
		more := visible / r.Margin // the distance falls with the root of the operations
		r.PairsNeeded = int(min(math.Ceil(float64(r.N)*more*more), math.MaxInt32))
		return Inconclusive, fmt.Sprintf(
			"%s, but %s could hide a difference of %s pp",
			what,
			of,
			number(visible, 4),
		)
	}
	return kind, fmt.Sprintf(
		"%s; a difference above %s pp would have shown in %s",
		what,
		number(visible, 4),
		of,
	)
}

func (r *Result) warnAboutPlan(opt Options) {
	switch {
	case opt.Blocks > 0 && r.N > opt.Blocks:
		r.Warn(MissingPairs, fmt.Sprintf(
			"%d pairs where %d were planned: pairs added because of their values spoil the level",
			r.N,
			opt.Blocks,
		))
	case opt.Blocks > 0 && r.N < opt.Blocks:
		r.Warn(MissingPairs, fmt.Sprintf(
			"%d of %d planned pairs: the missing ones must not be missing because of their numbers",
			r.N,
			opt.Blocks,
		))
	}
}

// Withhold returns the result as inconclusive, for a reason that its pairs do not show. A result
// that is worse stays so.
func (r Result) Withhold(reason string) Result {
	if r.Withheld != "" {
		reason = r.Withheld + "; " + reason
	}
	r.Withheld, r.NonInferior = reason, false
	if r.Kind != Same && r.Kind != Better {
		return r
	}
	return r.conclude(Inconclusive, reason)
}

// indicate ends the judgment of too few pairs.
func (r Result) indicate() Result {
	r.Indicative = true
	return r.conclude(Inconclusive, indicative(r.N))
}

// conclude ends a judgment: the kind, the reason and the sentence.
func (r Result) conclude(kind Kind, reason string) Result {
	r.Kind, r.Reason = kind, reason
	if r.Indicative { // too few pairs for any conclusion
		r.NonInferior = false
	}
	if kind == Inconclusive && r.PairsNeeded == 0 {
		r.PairsNeeded = r.pairsNeeded(r.Alpha)
	}
	r.Sentence = r.sentence()
	return r
}
