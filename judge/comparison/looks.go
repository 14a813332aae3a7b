package comparison

import (
	"context"
	"fmt"

	"plimsoll/judge/stats"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/run/record"
)

// planned returns how the runs that there are may be judged: with planned looks at that of the last that was taken,
// or the first when none was, and only its blocks.
func planned(c *record.Comparison) (opt verdict.Options, blocks int) {
	if len(c.Looks) == 0 {
		return verdict.Fixed(c.Blocks), c.Blocks
	}
	k := max(c.Taken()-1, 0)
	return verdict.Options{Alpha: c.Looks[k].Alpha, Blocks: c.Looks[k].Blocks, Look: k + 1, Looks: len(c.Looks)}, c.JudgedBlocks()
}

// look takes the k-th planned look, from 0, unless it was taken before the comparison was cut, and reports whether
// every verdict is decided. Without planned looks it does nothing.
func (r *runner) look(ctx context.Context, k int) (decided bool, err error) {
	if len(r.c.Looks) == 0 {
		return false, nil
	}
	l := &r.c.Looks[k]
	if l.Taken() {
		return l.Decided, nil
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
	}
	if r.Looked != nil {
		r.Looked(k+1, *l)
	}
	return l.Decided, r.save()
}

// decides reports whether a verdict ends a comparison: an invalid one does not compare the arms, and more blocks may
// mend it.
func decides(k verdict.Kind) bool {
	return k == verdict.Better || k == verdict.Worse || k == verdict.Same
}

// PlannedLooks returns the plan's looks with their levels; nil for a plan with a declared number of blocks. The plan
// was parsed, so that its looks are those of stats.PocockLooks.
func PlannedLooks(p *plan.Plan) []record.Look {
	if len(p.Compare.Looks) == 0 {
		return nil
	}
	var out []record.Look
	for _, l := range stats.PocockLooks() {
		out = append(out, record.Look{Blocks: l.Pairs, Alpha: l.Alpha})
	}
	return out
}
