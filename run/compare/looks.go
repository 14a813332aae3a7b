package compare

import (
	"context"
	"fmt"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/record"
)

// look takes the k-th planned look, from 0, unless it was taken before the comparison was cut, and
// reports whether the comparison ends with it: because everything is decided, or because the budget
// has no time for the blocks up to the next one. Without planned looks it does nothing.
func (r *runner) look(ctx context.Context, k int) (over bool, err error) {
	if len(r.c.Looks) == 0 {
		return false, nil
	}
	l := &r.c.Looks[k]
	if l.Taken() {
		return l.Decided || l.Over, nil
	}
	if len(r.past) > 0 {
		return false, r.stray("runs come after look %d, which was not taken", k+1)
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	l.At = r.now()
	arms, _, err := comparison.Judge(r.c, r.plan, r.load, r.readers...)
	if err != nil {
		*l = record.Look{Blocks: l.Blocks, Alpha: l.Alpha}
		return false, fmt.Errorf("look %d of %d: %w", k+1, len(r.c.Looks), err)
	}
	budget := r.c.Budget > 0
	comparison.Decide(l, arms, budget)
	if budget {
		each := r.spent(r.firstBlock()) / time.Duration(l.Blocks)
		comparison.Spend(r.c, k, r.spent(r.c.Started), each, arms)
	}
	if r.looked != nil {
		r.looked(k+1, *l)
	}
	return l.Decided || l.Over, r.saveNow()
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

// spent returns the time since since, without interruptions of the comparison, which was running
// then.
func (r *runner) spent(since time.Time) time.Duration {
	d := r.now().Sub(since)
	for _, re := range r.c.Resumed {
		if re.At.After(since) {
			d -= re.At.Sub(re.Cut)
		}
	}
	return max(d, 0)
}

// foresee notes the change that the plan can find of each percentile, from the base's runs of the
// first whole block. It depends on counts and spread of the base alone, never on a difference
// between arms, and on a single block, whose runs were made before anything was judged: a rule that
// looked at both arms, or at the spread of all blocks, would select the endpoints that differ by
// chance. A comparison that is resumed comes to the same result.
func (r *runner) foresee(block int) error {
	if r.foreseen || r.c.Foreseen != nil || r.load == nil {
		return nil
	}
	r.foreseen = true
	at := comparison.LastLook(r.plan, r.c.Before)
	endpoints := r.plan.Endpoints()
	for _, run := range r.c.Runs {
		if run.Block != block || run.Arm != r.c.Arms[0] || !run.Counts() {
			continue
		}
		stored, err := r.load(run.Run)
		if err != nil {
			return err
		}
		base, err := comparison.NumbersOf(stored, endpoints, r.readers...)
		if err != nil {
			return err
		}
		found := comparison.Foreseen(endpoints, r.plan.Insists, base, at)
		for i := range found {
			found[i].Engine = run.Engine
		}
		r.c.Foreseen = append(r.c.Foreseen, found...)
	}
	if r.foresaw != nil && len(r.c.Foreseen) > 0 {
		r.foresaw(r.c.Foreseen)
	}
	return nil
}
