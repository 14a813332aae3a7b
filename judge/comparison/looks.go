package comparison

import (
	"math"
	"slices"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// planned returns the options for judging the runs so far, and the number of blocks to judge. With
// planned looks it is the last look that was taken, or else the first, and only its blocks.
func planned(c *record.Comparison) (opt verdict.Options, blocks int) {
	if len(c.Looks) == 0 {
		return verdict.Fixed(c.Blocks), c.Blocks
	}
	k := max(c.Taken()-1, 0)
	return verdict.Options{
		Alpha:  c.Looks[k].Alpha,
		Blocks: c.Looks[k].Blocks,
		Look:   k + 1,
		Looks:  len(c.Looks),
		Over:   c.Looks[k].Over,
	}, c.JudgedBlocks()
}

// Decide notes the verdicts of the arms in a look, and whether they end the comparison. A
// comparison with a budget ends when all endpoints are decided: one that is worse decides a verdict
// while others are open.
func Decide(l *record.Look, arms []Judgement, budget bool) {
	l.Decided = len(arms) > 0
	for _, j := range arms {
		kind := j.Verdict.Kind
		l.Verdicts = append(l.Verdicts, record.LookVerdict{
			Engine: j.Engine,
			Arm:    j.Arm,
			Kind:   string(kind),
		})
		if !decides(kind) || budget && slices.ContainsFunc(j.Verdict.Results, open) {
			l.Decided = false
		}
	}
}

// open reports whether more pairs could decide an endpoint.
func open(r verdict.Result) bool { return !decides(r.Kind) }

// Spend notes in look k, from 0, of a comparison with a budget how much of it is spent, whether the
// rest has time for the blocks up to the next look when each takes as long as those so far, and the
// changes that the rest could still find.
//
// The levels hold whatever ends a comparison: looks that are not taken cannot err.
func Spend(c *record.Comparison, k int, spent, each time.Duration, arms []Judgement) {
	l := &c.Looks[k]
	l.Spent = spent
	if l.Decided || k == len(c.Looks)-1 {
		return
	}
	last := Reach(c.Looks, k, spent, each, c.Budget)
	if l.Over = last == k; !l.Over {
		l.Could = stillToFind(arms, c.Looks[last])
	}
}

// Reach returns the index of the last look whose blocks have time in the budget: look k comes at
// spent, and each further block takes each. The result is k at least.
func Reach(looks []record.Look, k int, spent, each, budget time.Duration) int {
	last := k
	for last+1 < len(looks) && spent+time.Duration(looks[last+1].Blocks-looks[k].Blocks)*each <= budget {
		last++
	}
	return last
}

// stillToFind returns the changes that the blocks up to a later look could find in four of five
// cases. It has the endpoints that are not decided, with their spread so far; of several arms on
// one database the largest change.
func stillToFind(arms []Judgement, at record.Look) []record.Expected {
	var out []record.Expected
	for _, j := range arms {
		for _, e := range j.Verdict.Results {
			if !open(e) || !(e.SD > 0) || e.Censored() {
				continue
			}
			x := expectedOf(j.Engine, e.Endpoint, e.SD/math.Sqrt2, at)
			i := slices.IndexFunc(out, func(o record.Expected) bool {
				return o.Engine == x.Engine && o.Metric == x.Metric
			})
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

// decides reports whether a verdict ends a comparison: an invalid one does not compare the arms,
// and more blocks may mend it.
func decides(k verdict.Kind) bool {
	return k == verdict.Better || k == verdict.Worse || k == verdict.Same
}

// PlannedLooks returns the plan's looks with their levels; nil for a plan with a declared number of
// blocks. A parsed plan has no others than stats.PocockLooks or stats.BudgetLooks.
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

// LastLook returns the last look of a plan's comparison, or all of its blocks where no look is
// planned; with a budget the last look that it has time for by the statement made before it, which
// may be nil.
func LastLook(p *plan.Plan, before *record.Before) record.Look {
	last := record.Look{Blocks: p.Compare.Blocks, Alpha: stats.FixedAlpha}
	for i, l := range PlannedLooks(p) {
		if i == 0 || before == nil || before.Budget == 0 || l.Blocks <= before.Fits {
			last = l
		}
	}
	return last
}
