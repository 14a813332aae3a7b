package comparison

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/record"
)

// errStray reports a record of runs that does not follow its plan.
var errStray = errors.New("the record does not follow its plan")

// Resumable returns the reason why the comparison cannot go on with cfg, nil if it can: because it is complete,
// because plan or program are not those that it began with, or because a run of it cannot be read or was changed. cfg
// needs Plan, Tool, Build and Load.
func Resumable(c *record.Comparison, cfg Config) error {
	switch {
	case c.State == record.Sealed:
		return fmt.Errorf("comparison %s is complete: there is nothing to resume; plimsoll report %s renders it again", c.ID, c.ID)
	case c.Tool != cfg.Tool:
		return fmt.Errorf("comparison %s began with plimsoll %s, and this is %s: go on with that version, or begin a new comparison", c.ID, c.Tool, cfg.Tool)
	case c.Build != cfg.Build:
		return fmt.Errorf("comparison %s began with another build of plimsoll %s (%s, this is %s): go on with that binary, or begin a new comparison",
			c.ID, c.Tool, shortDigest(c.Build), shortDigest(cfg.Build))
	case c.PlanDigest != cfg.Plan.Digest():
		return fmt.Errorf("comparison %s began with the plan %s, and this one is %s: leave the plan out to go on with the one that it began with, or begin a new comparison",
			c.ID, c.PlanDigest, cfg.Plan.Digest())
	}
	if what := notOfPlan(c, cfg.Plan); what != "" {
		return fmt.Errorf("comparison %s %w: %s; bring comparison.json back as it was, or begin a new comparison", c.ID, ErrAltered, what)
	}
	for _, run := range c.Runs {
		if run.Cut {
			continue // it is not judged
		}
		if err := intact(c, run, cfg.Load); err != nil {
			return fmt.Errorf("comparison %s: run %s (%s) %w; bring it back as it was, or begin a new comparison", c.ID, run.Run, cellName(run), err)
		}
	}
	return nil
}

func shortDigest(s string) string {
	s = strings.TrimPrefix(s, "sha256:")
	if s == "" {
		return "unknown"
	}
	return s[:min(12, len(s))]
}

func cellName(run record.ComparisonRun) string {
	what := fmt.Sprintf("block %d, run %d", run.Block, run.Order)
	if run.Pilot {
		what = "pilot"
	}
	if run.Engine != "" {
		return what + ", " + run.Arm + " on " + run.Engine
	}
	return what + ", " + run.Arm
}

// intact returns an error if a recorded run is not the one in the store.
func intact(c *record.Comparison, run record.ComparisonRun, load func(string) (*record.Run, error)) error {
	r, err := load(run.Run)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if err := unaltered(r, run.Digest, r.Verify); err != nil {
		return err
	}
	return played(c, run, r)
}

// Resume carries out the rest of an interrupted comparison. Runs that were finished are used as they are, in the
// order in which they were made. A block in which it was cut is run again whole, because the runs of a block are
// adjacent in time; its finished runs are kept and not judged. lost names runs that were under way. c is taken
// over; Resumable must not object to it.
func Resume(ctx context.Context, cfg Config, c *record.Comparison, lost []string) (*record.Comparison, error) {
	if err := cfg.resumedBy(c); err != nil {
		return c, err
	}
	r := &runner{Config: cfg, c: c, past: c.Runs}
	c.Resumed = append(c.Resumed, r.prepare(lost))
	c.Runs, c.State, c.Why = nil, record.Running, ""
	c.Ended, r.behind = time.Time{}, true
	return r.carryOut(ctx)
}

// prepare marks the past runs that cannot be used again, and undoes the steps that the replay repeats.
func (r *runner) prepare(lost []string) record.Resumption {
	c := r.c
	re := record.Resumption{Cut: c.Saved, At: r.Now(), Why: c.Why, Lost: lost}
	for _, run := range slices.Backward(r.past) { // a run that was interrupted
		if !run.Cut {
			break
		}
		re.Block = max(re.Block, run.Block)
		told := func(earlier record.Resumption) bool { return slices.Contains(earlier.Runs, run.Run) }
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
		if run.Pilot {
			continue
		}
		last = i
	}
	if last < 0 || r.past[last].Order >= len(c.Arms)*len(c.Engines) {
		return re
	}
	re.Block = r.past[last].Block
	for i, order := last, r.past[last].Order; i >= 0 && order > 0; i-- {
		run := &r.past[i]
		if run.Cut || run.Pilot {
			continue
		}
		run.Cut, run.Dropped = true, true
		if run.Why == "" {
			run.Why = "the comparison was cut in this block, which was run again whole"
		}
		re.Runs = append([]string{run.Run}, re.Runs...)
		order--
	}
	return re
}

// recall returns the run that was made of a cell before the comparison was cut. It saves the comparison at the moment
// at which all of them were recalled, and not before: until then the file on disk is the better one.
func (r *runner) recall(cell Cell) (run record.ComparisonRun, capacity *record.Capacity, ok bool, err error) {
	for len(r.past) > 0 && r.past[0].Cut {
		r.c.Runs, r.past = append(r.c.Runs, r.past[0]), r.past[1:]
	}
	if len(r.past) == 0 {
		if r.behind {
			r.behind = false
			err = r.save()
		}
		return run, nil, false, err
	}
	run = r.past[0]
	if run.Block != cell.Block || run.Order != cell.Order || run.Arm != cell.Arm || run.Engine != cell.Engine || run.Pilot != cell.Pilot {
		want := record.ComparisonRun{Block: cell.Block, Order: cell.Order, Arm: cell.Arm, Engine: cell.Engine, Pilot: cell.Pilot}
		return run, nil, false, fmt.Errorf("comparison %s: %w: run %s is %s, and %s comes there; begin a new comparison", r.c.ID, errStray, run.Run, cellName(run), cellName(want))
	}
	if run.Pilot {
		stored, err := r.Load(run.Run)
		if err != nil {
			return run, nil, false, fmt.Errorf("%w: %w", errStray, err)
		}
		capacity = stored.Manifest.Capacity
	}
	r.c.Runs, r.past = append(r.c.Runs, run), r.past[1:]
	return run, capacity, true, nil
}
