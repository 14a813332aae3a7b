package compare

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
)

// A config is a comparison before it runs: its description, and the functions that carry it out.
type config struct {
	id, tool string
	build    string // digest of the program
	plan     *plan.Plan
	setup    []record.Row
	aa       bool               // all arms are one build
	before   *record.Before     // the statement before the first run; may be nil
	levels   []record.UserLevel // that pilots found for the plan; nil for none
	modeWhy  string             // the reason for the mode; may be empty
	now      func() time.Time

	// quiet waits until the host is quiet, for most at the longest, before something void is run
	// again; nil for no wait. It ends with ctx.
	quiet func(ctx context.Context, most time.Duration) error
	// run carries out one cell and leaves a sealed run. An error means that the tool failed and
	// ends the comparison; an invalid run is not an error.
	run func(ctx context.Context, c cell) (cellRun, error)
	// runBlock carries out all cells of a block at the same time, a duet, and leaves a sealed run
	// of each; then run is called for pilots only. The results stand in the order of the cells. If
	// one is missing, the block is cut. It is nil for a sequence.
	runBlock func(ctx context.Context, cells []cell) ([]cellRun, error)
	// save puts the comparison on disk; it is called after every run, and in a duet after every
	// block.
	save func(*record.Comparison) error
	// load opens a run by its id. Planned looks and resumptions need it; without it no endpoint is
	// left out.
	load comparison.Load
	// readers add metrics to each run that a planned look judges.
	readers []comparison.Reader
	// foresaw is called when the changes that the plan can find of its percentiles are known, and
	// looked after each planned look, counted from 1; both may be nil.
	foresaw func([]record.Expected)
	looked  func(n int, l record.Look)
}

// A cellRun is the run of a cell. The zero value is for a cell without a run.
type cellRun struct {
	record.ComparisonRun
	capacity *record.Capacity
}

// begin carries out a comparison: pilots where a search has no start, all blocks, and void
// blocks again. With planned looks it judges the finished blocks at each of them, and ends when
// every verdict is decided, or with a budget every endpoint, or when the rest of the budget is too
// short for the blocks up to the next look; it never judges at another moment. When ctx ends it
// returns the comparison so far, in state Interrupted, without an error.
func begin(ctx context.Context, cfg config) (*record.Comparison, error) {
	p := cfg.plan
	mode := plan.ModeSequence
	if cfg.runBlock != nil {
		mode = plan.ModeDuet
	}
	c := &record.Comparison{
		ID: cfg.id, Name: p.Name, Tool: cfg.tool, Build: cfg.build,
		Plan: p.String(), PlanDigest: p.Digest(), UsersAt: p.Workload.UsersAt,
		ScriptAt: p.Workload.ScriptAt,
		Started:  cfg.now(), State: record.Running,
		Arms: comparison.ArmNames(p), Engines: comparison.Engines(p), Blocks: p.Compare.Blocks,
		Looks: comparison.PlannedLooks(p), Budget: p.Compare.Budget,
		AA: cfg.aa, Before: cfg.before, UserLevels: cfg.levels, Setup: cfg.setup,
		Mode: mode, ModeWhy: cfg.modeWhy,
	}
	if c.InTurns() {
		c.Slice = p.Compare.Slice
	}
	r := &runner{config: cfg, c: c}
	if err := r.saveNow(); err != nil {
		return c, err
	}
	return r.carryOut(ctx)
}

// A runner carries out one comparison.
type runner struct {
	config
	c *record.Comparison
	// past are the runs of a comparison that was cut, which are not made again; see recall.
	past []record.ComparisonRun
	// behind is true while the file on disk does not yet record that the comparison goes on.
	behind bool
	// foreseen is true when the first whole block was read; see foresee.
	foreseen bool
}

// carryOut does everything that is left to do, and ends the comparison.
func (r *runner) carryOut(ctx context.Context) (*record.Comparison, error) {
	c := r.c
	c.Start = map[string]int{}
	c.Unguided = nil
	err := r.all(ctx)
	if errors.Is(err, errStray) {
		return c, err // the files on disk are left alone
	}
	c.Ended = r.now()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errOver):
		c.State, err = record.Sealed, nil
	case cause != nil:
		c.State, c.Why, err = record.Interrupted, cause.Error(), nil
	default:
		c.State, c.Why = record.Interrupted, err.Error()
	}
	return c, errors.Join(err, r.saveNow())
}

func (r *runner) saveNow() error {
	r.c.Saved = r.now()
	return r.save(r.c)
}

// errOver reports that nothing was left to do, even if the context has ended since.
var errOver = errors.New("the comparison is over")

// all finds the starts of searches, and runs the blocks up to each planned look. It returns errOver
// at the end.
func (r *runner) all(ctx context.Context) error {
	if err := r.pilots(ctx); err != nil {
		return err
	}
	blocks := order(r.plan.Seed, r.c.Blocks, r.c.Arms, r.c.Engines)
	made := 0
	looks := r.c.Looks
	if len(looks) == 0 {
		looks = []record.Look{{Blocks: len(blocks)}}
	}
	for k, look := range looks {
		upTo := look.Blocks
		later := len(blocks) - upTo
		if r.c.Budget > 0 { // nobody knows how many blocks follow the next look
			later = 0
		}
		if err := r.stage(ctx, blocks[made:upTo], later); err != nil {
			return err
		}
		made = upTo
		over, err := r.look(ctx, k)
		if err != nil {
			return err
		}
		if over {
			break
		}
	}
	if len(r.past) > 0 {
		return r.stray("%d runs of it lie beyond its end", len(r.past))
	}
	return errOver
}

// stage runs the blocks up to the next look, and then repeats the void ones among them. later is
// the number of blocks that follow.
func (r *runner) stage(ctx context.Context, blocks [][]cell, later int) error {
	var void [][]cell
	for i, block := range blocks {
		remaining := len(blocks) - 1 - i + len(void) + later
		valid, err := r.block(ctx, block, remaining)
		if err != nil {
			return err
		}
		if !valid {
			void = append(void, block)
		}
	}
	return r.repeat(ctx, void, later)
}

// repeat runs void blocks again, in turn until each is valid, while the plan's time for that lasts.
// later is the number of blocks that follow.
func (r *runner) repeat(ctx context.Context, void [][]cell, later int) error {
	for tries := 0; len(void) > 0; tries++ {
		block := void[0]
		number := block[0].block
		isOf := func(run record.ComparisonRun) bool { return run.Block == number }
		ok, err := r.again(ctx, tries, isOf)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		void = void[1:]
		r.drop(number, "another run of the block was not valid")
		valid, err := r.block(ctx, repeated(block), len(void)+later)
		if err != nil {
			return err
		}
		if !valid {
			void = append(void, block)
		}
	}
	for _, block := range void {
		r.drop(block[0].block, "a run of the block was not valid, "+
			"and the time for running voided blocks again (compare.retry) was used up")
	}
	return nil
}

// block runs one block and reports whether all of its runs are valid; remaining is the number of
// blocks that follow.
func (r *runner) block(ctx context.Context, cells []cell, remaining int) (valid bool, err error) {
	cells = slices.Clone(cells)
	runsAfter := remaining * len(cells)
	for i := range cells {
		cells[i].start = r.c.Start[cells[i].engine]
		cells[i].left = runsAfter + len(cells) - 1 - i
	}
	if r.c.InTurns() {
		valid, err = r.duet(ctx, cells)
	} else {
		valid, err = r.sequence(ctx, cells)
	}
	if err != nil || !valid {
		return false, err
	}
	return true, r.foresee(cells[0].block)
}

// sequence runs the cells of a block one after the other.
func (r *runner) sequence(ctx context.Context, cells []cell) (valid bool, err error) {
	valid = true
	for _, cell := range cells {
		run, err := r.runCell(ctx, cell)
		if err != nil {
			return false, err
		}
		valid = valid && run.Valid
	}
	return valid, nil
}

// runCell makes the run of a cell, or recalls it, and records it.
func (r *runner) runCell(ctx context.Context, cell cell) (cellRun, error) {
	if run, ok, err := r.recall(cell); ok || err != nil {
		return run, err
	}
	if err := context.Cause(ctx); err != nil {
		return cellRun{}, err
	}
	began := r.now()
	run, err := r.run(ctx, cell)
	if run.Run == "" {
		return run, err
	}
	run.book(cell, began)
	if cell.again {
		r.c.Retried += r.now().Sub(began)
	}
	cause := context.Cause(ctx)
	if cause != nil && !run.Valid { // it was under way; a resumption makes its cell again
		run.Cut, run.Dropped = true, true
	}
	r.c.Runs = append(r.c.Runs, run.ComparisonRun)
	err = errors.Join(err, r.saveNow())
	if run.Cut {
		err = errors.Join(err, cause)
	}
	return run, err
}

// book records the run in its cell, as the comparison stores it. It is void if something outside
// the arm ended its search.
func (r *cellRun) book(c cell, began time.Time) {
	if cause, why := comparison.EndedSearch(r.capacity); cause != "" && r.Valid && !c.pilot {
		r.Valid, r.Why = false, why
		r.Cause = cause
		r.Disturbed = cause == record.ByHost
	}
	c.mark(&r.ComparisonRun)
	r.Began = began
}

// drop takes a block's runs out of the judgement.
func (r *runner) drop(block int, reason string) {
	for i := range r.c.Runs {
		run := &r.c.Runs[i]
		if run.Block != block || run.Pilot || run.Dropped {
			continue
		}
		run.Dropped, run.Why = true, cmp.Or(run.Why, reason)
	}
}

// cut marks a run of a block that is made again whole.
func cut(run *record.ComparisonRun, reason string) {
	run.Cut, run.Dropped, run.Why = true, true, cmp.Or(run.Why, reason)
}
