package comparison

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/plan"
	"plimsoll/record"
)

// A BlockRun is what a duet left of one cell of its block. The zero value is for a cell without a run.
type BlockRun struct {
	Run      record.ComparisonRun
	Capacity *record.Capacity
}

// cutInDuet is why a run of a duet is not judged that was not void itself.
const cutInDuet = "the comparison was cut in this block"

// mode returns how a comparison by cfg is carried out.
func (cfg Config) mode() (string, error) {
	switch asked := cfg.Plan.Compare.Mode; {
	case cfg.RunBlock != nil && asked != plan.ModeSequence:
		return plan.ModeDuet, nil
	case cfg.RunBlock == nil && asked != plan.ModeDuet:
		return plan.ModeSequence, nil
	default:
		return "", fmt.Errorf("compare.mode is %s, and the comparison was to be carried out in the other way", asked)
	}
}

// resumedBy returns an error if cfg cannot go on in the mode that the comparison began with.
func (cfg Config) resumedBy(c *record.Comparison) error {
	if c.InTurns() && cfg.RunBlock == nil {
		return fmt.Errorf("comparison %s began as a duet, and cannot go on as one here; begin a new comparison", c.ID)
	}
	return nil
}

// duet carries out a block whose runs are made at the same time. The block is one step: it is saved once, when all of
// its runs have ended, and where the comparison ends in it, all of its runs are cut.
func (r *runner) duet(ctx context.Context, cells []Cell) (valid bool, err error) {
	valid = true
	for i, cell := range cells {
		run, _, ok, err := r.recall(cell)
		if err != nil {
			return false, err
		}
		if !ok && i > 0 {
			return false, fmt.Errorf("comparison %s: %w: it has %d of the %d runs of block %d; begin a new comparison", r.c.ID,
				errStray, i, len(cells), cell.Block)
		}
		if !ok {
			return r.makeBlock(ctx, cells)
		}
		valid = valid && run.Valid
	}
	return valid, nil
}

// makeBlock makes the runs of a block in turns.
func (r *runner) makeBlock(ctx context.Context, cells []Cell) (valid bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	began := r.Now()
	made, err := r.RunBlock(ctx, cells)
	var runs []record.ComparisonRun
	valid = true
	for i, cell := range cells {
		if i >= len(made) || made[i].Run.Run == "" {
			continue
		}
		run := booked(made[i].Run, made[i].Capacity, cell)
		run.Began = began
		valid = valid && run.Valid
		runs = append(runs, run)
	}
	cause := context.Cause(ctx)
	if whole := len(runs) == len(cells); !whole || cause != nil && !valid {
		valid = false
		for i := range runs {
			runs[i].Cut, runs[i].Dropped = true, true
			if runs[i].Why == "" {
				runs[i].Why = cutInDuet
			}
		}
		switch {
		case cause != nil && !errors.Is(err, cause):
			err = errors.Join(err, cause)
		case err == nil:
			err = fmt.Errorf("block %d: %d of its %d runs were made", cells[0].Block, len(runs), len(cells))
		}
	}
	if len(runs) == 0 {
		return false, err
	}
	if cells[0].Again {
		r.c.Retried += r.Now().Sub(began)
	}
	r.c.Runs = append(r.c.Runs, runs...)
	return valid, errors.Join(err, r.save())
}
