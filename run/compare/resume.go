package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/record"
)

// errStray reports a record of runs that does not follow its plan.
var errStray = errors.New("the record does not follow its plan")

func (r *runner) stray(format string, args ...any) error {
	return fmt.Errorf(
		"comparison %s: %w: %s; begin a new comparison",
		r.c.ID,
		errStray,
		fmt.Sprintf(format, args...),
	)
}

// resume carries out the rest of an interrupted comparison. Runs that were finished are used as
// they are, in the order in which they were made. A block in which it was cut is run again whole,
// because the runs of a block are adjacent in time; its finished runs are kept and not judged. lost
// names runs that were under way. c is taken over; [comparison.Resumable] must not object to it.
func resume(
	ctx context.Context, cfg config, c *record.Comparison, lost []string,
) (*record.Comparison, error) {
	r := &runner{config: cfg, c: c, past: c.Runs, behind: true}
	c.Resumed = append(c.Resumed, r.prepare(lost))
	c.Runs = nil
	c.State, c.Why = record.Running, ""
	c.Ended = time.Time{}
	return r.carryOut(ctx)
}

// prepare marks the past runs that cannot be used again, and undoes the steps that the replay
// repeats.
func (r *runner) prepare(lost []string) record.Resumption {
	c := r.c
	re := record.Resumption{Cut: c.Saved, At: r.now(), Why: c.Why, Lost: lost}
	for _, run := range slices.Backward(r.past) { // a run that was interrupted
		if !run.Cut {
			break
		}
		re.Block = max(re.Block, run.Block)
		told := func(earlier record.Resumption) bool {
			return slices.Contains(earlier.Runs, run.Run)
		}
		if c.InTurns() && run.Valid && !slices.ContainsFunc(c.Resumed, told) {
			re.Runs = append([]string{run.Run}, re.Runs...)
		}
	}
	if c.State == record.Interrupted && !c.Ended.IsZero() {
		re.Cut = c.Ended
	}
	last := -1 // of the runs that count
	for i := range r.past {
		run := &r.past[i]
		if run.Cut {
			continue
		}
		run.Dropped = false // the replay drops it again
		if !run.Pilot {
			last = i
		}
	}
	if last < 0 || r.past[last].Order >= len(c.Arms)*len(c.Engines) {
		return re
	}
	re.Block = r.past[last].Block
	order := r.past[last].Order
	for i := last; i >= 0 && order > 0; i-- {
		run := &r.past[i]
		if run.Cut || run.Pilot {
			continue
		}
		cut(run, "the comparison was cut in this block, which was run again whole")
		re.Runs = append([]string{run.Run}, re.Runs...)
		order--
	}
	return re
}

// recall returns the run that was made of a cell before the comparison was cut. It saves the
// comparison at the moment at which all of them were recalled, and not before: until then the file
// on disk is the better one.
func (r *runner) recall(c cell) (run cellRun, ok bool, err error) {
	for len(r.past) > 0 && r.past[0].Cut {
		r.c.Runs = append(r.c.Runs, r.past[0])
		r.past = r.past[1:]
	}
	if len(r.past) == 0 {
		if r.behind {
			r.behind = false
			err = r.saveNow()
		}
		return run, false, err
	}
	run.ComparisonRun = r.past[0]
	if !c.matches(run.ComparisonRun) {
		var want record.ComparisonRun
		c.mark(&want)
		return run, false, r.stray("run %s is %s, and %s comes there", run.Run,
			comparison.CellName(run.ComparisonRun), comparison.CellName(want))
	}
	if run.Pilot {
		stored, err := r.load(run.Run)
		if err != nil {
			return run, false, fmt.Errorf("%w: %w", errStray, err)
		}
		run.capacity = stored.Manifest.Capacity
	}
	r.c.Runs = append(r.c.Runs, run.ComparisonRun)
	r.past = r.past[1:]
	return run, true, nil
}

// mark writes the place of the cell into a run.
func (c cell) mark(run *record.ComparisonRun) {
	run.Block, run.Order = c.block, c.order
	run.Arm, run.Engine = c.arm, c.engine
	run.Pilot = c.pilot
}

// matches reports whether a recorded run is one of the cell.
func (c cell) matches(run record.ComparisonRun) bool {
	return run.Block == c.block && run.Order == c.order && run.Pilot == c.pilot &&
		run.Arm == c.arm && run.Engine == c.engine
}
