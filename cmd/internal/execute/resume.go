package execute

import (
	"context"
	"errors"
	"os"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/read"
	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/compare"
	"plimsoll/run/deploy"
)

// resumeComparison goes on with a comparison that was cut. With a plan in the job, that must be the
// one that it began with.
func resumeComparison(ctx context.Context, a *app.App, id string, j comparing) error {
	if j.AA {
		return plan.Usagef("-aa and -resume: the stored comparison has its own -aa; leave -aa out")
	}
	if j.Minutes != 0 {
		return plan.Usagef(
			"-minutes and -resume: the stored comparison has its blocks already; leave -minutes out",
		)
	}
	if _, err := os.Stat(j.root); err != nil {
		return plan.UsageError{Err: err}
	}
	st, err := store.Open(j.root)
	if err != nil {
		return err
	}
	c, err := st.Comparison(id)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	// This comes before the lock, which another process of this program needs.
	if stored, err := evidence.Plan(c.Plan); err == nil && stored.Networked() {
		if done, err := a.Program().Isolate(ctx, placed(stored, c), j.root); done || err != nil {
			return err
		}
	}
	unlock, err := st.LockComparison(c.ID)
	if errors.Is(err, store.ErrBusy) {
		return plan.Usagef("%w; wait for it, or end it first", err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if c, err = st.Comparison(c.ID); err != nil { // as it is, now that no other process writes it
		return err
	}
	stored, err := read.PlanOf(a, c)
	if errors.Is(err, comparison.ErrAltered) {
		return err
	}
	if err != nil {
		return plan.Usagef(
			"the stored plan of %s is none that this version reads: %w; begin a new comparison",
			c.ID,
			err,
		)
	}
	switch {
	case j.plan == nil:
		if j.plan, err = a.WithScript(placed(stored, c)); err != nil {
			return err
		}
	case c.AA && j.plan.Compare != nil && stored.Compare != nil && len(stored.Compare.Arms) == 2 && stored.Compare.Arms[1].Name == comparison.Copy:
		j.plan = comparison.Twins(j.plan)
	}
	j.plan = j.plan.WithUsersOf(stored)
	build, err := deploy.BuildDigest()
	if err != nil {
		return err
	}
	if err := comparison.Resumable(c, a.Dialects().WithDefaultRules(j.plan), a.Program().Version, build, st.Run); err != nil {
		return plan.UsageError{Err: err}
	}
	lost, warnings, err := compare.Lost(ctx, st, c)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.Tellf("plimsoll compare: %v\n", w)
	}
	j.Cut = c
	j.Lost = lost
	j.AA = c.AA
	return comparePlan(ctx, a, j)
}

// placed returns a stored plan whose files are where the comparison had them.
func placed(p *plan.Plan, c *record.Comparison) *plan.Plan {
	return p.WithUsersAt(c.UsersAt, "").WithScriptAt(c.ScriptAt, "")
}
