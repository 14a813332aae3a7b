package comparison

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// planned returns how the runs that there are may be judged: with planned looks at that of the last that was taken,
// or the first when none was, and only its blocks.
func planned(c *record.Comparison) (opt verdict.Options, blocks int) {
	if len(c.Looks) == 0 {
		return verdict.Fixed(c.Blocks), c.Blocks
	}
	k := max(c.Taken()-1, 0)
	return verdict.Options{Alpha: c.Looks[k].Alpha, Blocks: c.Looks[k].Blocks, Look: k + 1, Looks: len(c.Looks), Over: c.Looks[k].Over}, c.JudgedBlocks()
}

// look takes the k-th planned look, from 0, unless it was taken before the comparison was cut, and reports whether
// the comparison ends with it: because everything is decided, or because the budget has no time for the blocks up to
// the next one. Without planned looks it does nothing.
func (r *runner) look(ctx context.Context, k int) (over bool, err error) {
	if len(r.c.Looks) == 0 {
		return false, nil
	}
	l := &r.c.Looks[k]
	if l.Taken() {
		return l.Decided || l.Over, nil
	}
	if len(r.past) > 0 {
		return false, fmt.Errorf("comparison %s: %w: runs come after look %d, which was not taken; begin a new comparison", r.c.ID, errStray, k+1)
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	l.At = r.Now()
	arms, _, err := Judge(r.c, r.Plan, r.Load, r.Readers...)
	if err != nil {
		*l = record.Look{Blocks: l.Blocks, Alpha: l.Alpha}
		return false, fmt.Errorf("look %d of %d: %w", k+1, len(r.c.Looks), err)
	}
	l.Decided = len(arms) > 0
	for _, j := range arms {
		l.Verdicts = append(l.Verdicts, record.LookVerdict{Engine: j.Engine, Arm: j.Arm, Kind: string(j.Verdict.Kind)})
		l.Decided = l.Decided && decides(j.Verdict.Kind)
		if r.c.Budget > 0 { // one endpoint that is worse decides a verdict, and others may still be open
			l.Decided = l.Decided && !slices.ContainsFunc(j.Verdict.Results, open)
		}
	}
	if r.c.Budget > 0 {
		r.spend(k, arms)
	}
	if r.Looked != nil {
		r.Looked(k+1, *l)
	}
	return l.Decided || l.Over, r.save()
}

// open reports whether more pairs could decide an endpoint.
func open(r verdict.Result) bool { return !decides(r.Kind) }

// spend notes at look k how much of the budget is used up, whether the rest has time for the blocks up to the next
// look, as long as those so far were (with their repeats), and the changes that the rest could still find.
//
// The levels hold whatever ends a comparison: looks that are not taken cannot err.
func (r *runner) spend(k int, arms []Judgement) {
	l := &r.c.Looks[k]
	l.Spent = r.spent(r.c.Started)
	if l.Decided || k == len(r.c.Looks)-1 {
		return
	}
	each := r.spent(r.firstBlock()) / time.Duration(l.Blocks)
	last := Reach(r.c.Looks, k, l.Spent, each, r.c.Budget)
	if l.Over = last == k; !l.Over {
		l.Could = stillToFind(arms, r.c.Looks[last])
	}
}

// Reach returns the last of the looks, from 0, whose blocks have time in the budget: look k comes when so much is
// spent, and each further block takes so long. It is k at least.
func Reach(looks []record.Look, k int, spent, each, budget time.Duration) int {
	last := k
	for last+1 < len(looks) && spent+time.Duration(looks[last+1].Blocks-looks[k].Blocks)*each <= budget {
		last++
	}
	return last
}

// firstBlock returns when the first block began.
func (r *runner) firstBlock() time.Time {
	for _, run := range r.c.Runs {
		if !run.Pilot && !run.Began.IsZero() {
			return run.Began
		}
	}
	return r.c.Started
}

// spent returns how long the comparison has been going on since a moment at which it was.
func (r *runner) spent(since time.Time) time.Duration {
	d := r.Now().Sub(since)
	for _, re := range r.c.Resumed {
		if re.At.After(since) {
			d -= re.At.Sub(re.Cut)
		}
	}
	return max(d, 0)
}

// stillToFind returns the changes that the blocks up to a later look could find in four of five cases, of the endpoints
// that are not decided, with the spread that they have now; of several arms on one database the largest.
func stillToFind(arms []Judgement, at record.Look) []record.Expected {
	var out []record.Expected
	for _, j := range arms {
		for _, e := range j.Verdict.Results {
			if !open(e) || !(e.SD > 0) || e.Censored() {
				continue
			}
			x := record.Expected{Engine: j.Engine, Metric: e.Name, Unit: e.Unit, Absolute: e.Absolute, Margin: e.Margin,
				RunSD: e.SD / math.Sqrt2, Blocks: at.Blocks, Alpha: at.Alpha}
			x.MDE, x.Needed = verdict.Foresee(e.Endpoint, x.RunSD, at.Blocks, at.Alpha)
			i := slices.IndexFunc(out, func(o record.Expected) bool { return o.Engine == x.Engine && o.Metric == x.Metric })
			switch {
			case i < 0:
				out = append(out, x)
			case out[i].MDE < x.MDE:
				out[i] = x
			}
		}
	}
	return out
}

// decides reports whether a verdict ends a comparison: an invalid one does not compare the arms, and more blocks may
// mend it.
func decides(k verdict.Kind) bool {
	return k == verdict.Better || k == verdict.Worse || k == verdict.Same
}

// PlannedLooks returns the plan's looks with their levels; nil for a plan with a declared number of blocks. The plan
// was parsed, so that its looks are those of stats.PocockLooks, or of stats.BudgetLooks.
func PlannedLooks(p *plan.Plan) []record.Look {
	planned := stats.PocockLooks()
	switch {
	case p.Compare.Auto():
		planned = stats.BudgetLooks()
	case len(p.Compare.Looks) == 0:
		return nil
	}
	var out []record.Look
	for _, l := range planned {
		out = append(out, record.Look{Blocks: l.Pairs, Alpha: l.Alpha})
	}
	return out
}
