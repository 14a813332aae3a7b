package compare

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/record"
)

// cutInDuet is the reason why a valid run of a duet is not judged.
const cutInDuet = "the comparison was cut in this block"

// duet carries out a block whose runs are made at the same time. The block is one step: it is saved
// once, when all of its runs have ended, and where the comparison ends in it, all of its runs are
// cut.
func (r *runner) duet(ctx context.Context, cells []cell) (valid bool, err error) {
	valid = true
	for i, cell := range cells {
		run, ok, err := r.recall(cell)
		switch {
		case err != nil:
			return false, err
		case !ok && i == 0:
			return r.runDuet(ctx, cells)
		case !ok:
			return false, r.stray("it has %d of the %d runs of block %d", i, len(cells), cell.block)
		}
		valid = valid && run.Valid
	}
	return valid, nil
}

// runDuet makes the runs of a block in turns, and records them.
func (r *runner) runDuet(ctx context.Context, cells []cell) (valid bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	began := r.now()
	made, err := r.runBlock(ctx, cells)
	var runs []record.ComparisonRun
	valid = true
	for i, cell := range cells {
		if i >= len(made) || made[i].Run == "" {
			continue
		}
		run := made[i]
		run.book(cell, began)
		valid = valid && run.Valid
		runs = append(runs, run.ComparisonRun)
	}
	cause := context.Cause(ctx)
	if whole := len(runs) == len(cells); !whole || cause != nil && !valid {
		valid = false
		for i := range runs {
			cut(&runs[i], cutInDuet)
		}
		switch {
		case cause != nil && !errors.Is(err, cause):
			err = errors.Join(err, cause)
		case err == nil:
			err = fmt.Errorf(
				"block %d: %d of its %d runs were made",
				cells[0].block,
				len(runs),
				len(cells),
			)
		}
	}
	if len(runs) == 0 {
		return false, err
	}
	if cells[0].again {
		r.c.Retried += r.now().Sub(began)
	}
	r.c.Runs = append(r.c.Runs, runs...)
	return valid, errors.Join(err, r.saveNow())
}
