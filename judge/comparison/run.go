package comparison

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// pilotShare is where searches begin, as a share of the discarded pilot's capacity.
const pilotShare = 0.6

// Config is a comparison before it runs.
type Config struct {
	ID, Tool string
	// Build is the digest of the program, for resuming an interrupted comparison.
	Build string
	Plan  *plan.Plan
	Setup []record.Row
	// AA is true if all arms are one build.
	AA bool
	// Before is the statement made before the first run; it may be nil.
	Before *record.Before
	// UserLevels are the numbers of users of Plan that a pilot found; nil for none.
	UserLevels []record.UserLevel
	// Quiet waits until the host is quiet, for most at the longest, before something is run again that was void; nil
	// for no wait. It ends with ctx.
	Quiet func(ctx context.Context, most time.Duration) error
	// Run carries out one cell and leaves a sealed run. An error means that the tool failed and ends the comparison;
	// an invalid run is not an error.
	Run func(ctx context.Context, c Cell) (record.ComparisonRun, *record.Capacity, error)
	// RunBlock carries out all cells of a block at the same time, a duet, and leaves a sealed run of each; then Run is
	// called for pilots only. The results stand in the order of the cells. If one is missing, the block is cut. nil for
	// a sequence. ModeWhy is the reason for the mode; it may be empty.
	RunBlock func(ctx context.Context, cells []Cell) ([]BlockRun, error)
	ModeWhy  string
	// Save puts the comparison on disk; it is called after every run, and in a duet after every block.
	Save func(*record.Comparison) error
	// Load opens a run by its id. Planned looks and [Resume] need it; without it no endpoint is left out.
	Load func(id string) (*record.Run, error)
	// Readers add metrics to each run that a planned look judges; [Judge] should be given at least the same readers
	// at the end.
	Readers []Reader
	// Foresaw is called when it is known what the plan can find of its percentiles; it may be nil.
	Foresaw func([]record.Expected)
	// Looked is called after each planned look, counted from 1; it may be nil.
	Looked func(n int, l record.Look)
	// Now is the clock.
	Now func() time.Time
}

// Run carries out the comparison: pilots where a search has no start, all blocks, and voided blocks again. With
// planned looks it judges the finished blocks at each of them, and ends when every verdict is decided, or with a
// budget every endpoint, or when the rest of the budget is too short for the blocks up to the next look; it never
// judges at another moment. When ctx ends it returns the comparison so far, in state Interrupted, without an
// error.
func Run(ctx context.Context, cfg Config) (*record.Comparison, error) {
	p := cfg.Plan
	mode, err := cfg.mode()
	if err != nil {
		return nil, err
	}
	c := &record.Comparison{ID: cfg.ID, Name: p.Name, Tool: cfg.Tool, Build: cfg.Build, Plan: p.String(), PlanDigest: p.Digest(), UsersAt: p.Workload.UsersAt, Started: cfg.Now(),
		State: record.Running, Arms: armNames(p), Engines: Engines(p), Blocks: p.Compare.Blocks, Looks: PlannedLooks(p), Budget: p.Compare.Budget,
		AA: cfg.AA, Before: cfg.Before, UserLevels: cfg.UserLevels, Setup: cfg.Setup, Mode: mode, ModeWhy: cfg.ModeWhy}
	if c.InTurns() {
		c.Slice = p.Compare.Slice
	}
	r := &runner{Config: cfg, c: c}
	if err := r.save(); err != nil {
		return c, err
	}
	return r.carryOut(ctx)
}

type runner struct {
	Config
	c *record.Comparison
	// past are the runs of a comparison that was cut, which are not made again; see recall.
	past []record.ComparisonRun
	// behind is true while the file on disk does not yet record that the comparison goes on.
	behind bool
	// foresaw is true when the first whole block was read; see foresee.
	foresaw bool
}

// carryOut does everything that is left to do, and ends the comparison.
func (r *runner) carryOut(ctx context.Context) (*record.Comparison, error) {
	c := r.c
	c.Start, c.Unguided = map[string]int{}, nil
	err := r.all(ctx)
	if errors.Is(err, errStray) {
		return c, err // the files on disk are left alone
	}
	c.Ended, c.State = r.Now(), record.Sealed
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errOver) {
		c.State, c.Why, err = record.Interrupted, cause.Error(), nil
	} else if err != nil && !errors.Is(err, errOver) {
		c.State, c.Why = record.Interrupted, err.Error()
	}
	if errors.Is(err, errOver) {
		err = nil
	}
	return c, errors.Join(err, r.save())
}

func (r *runner) save() error {
	r.c.Saved = r.Now()
	return r.Save(r.c)
}

// errOver reports that nothing was left to do, even if the context has ended since.
var errOver = errors.New("the comparison is over")

func (r *runner) all(ctx context.Context) error {
	if err := r.pilots(ctx); err != nil {
		return err
	}
	blocks := Order(r.Plan.Seed, r.c.Blocks, r.c.Arms, r.c.Engines)
	done := 0
	for k, to := range r.stages() {
		var voided []int
		for i := done; i < to; i++ {
			ok, err := r.block(ctx, blocks[i], false, r.ahead(len(blocks), to)-i-1+len(voided))
			if err != nil {
				return err
			}
			if !ok {
				voided = append(voided, i)
			}
		}
		done = to
		for tries := 0; len(voided) > 0; tries++ {
			i := voided[0]
			ok, err := r.again(ctx, tries, func(next record.ComparisonRun) bool { return next.Block == i+1 })
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			voided = voided[1:]
			r.drop(i+1, "another run of the block was not valid")
			if ok, err = r.block(ctx, blocks[i], true, r.ahead(len(blocks), to)-done+len(voided)); err != nil {
				return err
			}
			if !ok {
				voided = append(voided, i)
			}
		}
		for _, i := range voided {
			r.drop(i+1, "a run of the block was not valid, and the time for running voided blocks again (compare.retry) was used up")
		}
		if over, err := r.look(ctx, k); err != nil {
			return err
		} else if over {
			break
		}
	}
	if len(r.past) > 0 {
		return fmt.Errorf("comparison %s: %w: %d runs of it lie beyond its end; begin a new comparison", r.c.ID, errStray, len(r.past))
	}
	return errOver
}

// ahead returns the block up to which the remaining time is reckoned: the last, or with a budget that of the next look.
func (r *runner) ahead(last, look int) int {
	if r.c.Budget > 0 {
		return look
	}
	return last
}

// stages returns after how many blocks the comparison is judged.
func (r *runner) stages() []int {
	if len(r.c.Looks) == 0 {
		return []int{r.c.Blocks}
	}
	var out []int
	for _, l := range r.c.Looks {
		out = append(out, l.Blocks)
	}
	return out
}

// pilots finds where the searches begin. A pilot that finds nothing is made once more, when the host is quiet and
// there is time; after that the searches begin at the plan's start.
func (r *runner) pilots(ctx context.Context) error {
	u := r.Plan.Unbounded
	if u == nil {
		return nil
	}
	for i, e := range r.c.Engines {
		if n, ok := u.StartFor(e); ok {
			r.c.Start[e] = n
			continue
		}
		for tries := range 2 { // and then without a start: at the plan's
			if tries > 0 {
				ok, err := r.again(ctx, tries-1, func(next record.ComparisonRun) bool { return next.Pilot && next.Engine == e })
				if err != nil {
					return err
				}
				if !ok {
					break
				}
			}
			run, capacity, err := r.run(ctx, Cell{Arm: r.c.Arms[0], Engine: e, Pilot: true, Again: tries > 0, Index: i + 1, Of: len(r.c.Engines),
				Left: r.c.Blocks*len(r.c.Arms)*len(r.c.Engines) + len(r.c.Engines) - i - 1})
			if err != nil {
				return err
			}
			if start, ok := searchStart(capacity); ok {
				r.c.Start[e] = start
				delete(r.c.Unguided, e)
				break
			}
			if r.c.Unguided == nil {
				r.c.Unguided = map[string]string{}
			}
			r.c.Unguided[e] = fmt.Sprintf("pilot %s found no capacity: %s", run.Run, why(capacity))
		}
	}
	return nil
}

// searchStart returns where searches begin after a pilot with this capacity.
func searchStart(c *record.Capacity) (users int, ok bool) {
	if c == nil || c.Kind == record.Invalid {
		return 0, false
	}
	known := c.Users
	switch c.Kind {
	case record.AtLeast: // a start may lie above the level that was held for the time that a bound needs
		known = max(known, c.Reached)
	case record.Unstable: // where the target held in any case, or else where it held once
		if known = c.Held; known == 0 {
			known = c.Reached
		}
	}
	if known < 1 {
		return 0, false
	}
	return max(int(math.Round(known*pilotShare)), 1), true
}

func why(c *record.Capacity) string {
	if c == nil {
		return "it has none"
	}
	return c.Why
}

// block carries out a block, after which so many others are to come.
func (r *runner) block(ctx context.Context, cells []Cell, again bool, after int) (valid bool, err error) {
	cells = slices.Clone(cells)
	for i := range cells {
		cell := &cells[i]
		cell.Start, cell.Again, cell.Left = r.c.Start[cell.Engine], again, (after+1)*len(cells)-i-1
	}
	if r.c.InTurns() {
		valid, err = r.duet(ctx, cells)
	} else {
		valid, err = r.sequence(ctx, cells)
	}
	if err != nil || !valid {
		return false, err
	}
	return true, r.foresee(cells[0].Block)
}

// sequence runs the cells of a block one after the other.
func (r *runner) sequence(ctx context.Context, cells []Cell) (valid bool, err error) {
	valid = true
	for _, cell := range cells {
		run, _, err := r.run(ctx, cell)
		if err != nil {
			return false, err
		}
		valid = valid && run.Valid
	}
	return valid, nil
}

func (r *runner) run(ctx context.Context, cell Cell) (record.ComparisonRun, *record.Capacity, error) {
	if run, capacity, ok, err := r.recall(cell); ok || err != nil {
		return run, capacity, err
	}
	if err := context.Cause(ctx); err != nil {
		return record.ComparisonRun{}, nil, err
	}
	began := r.Now()
	run, capacity, err := r.Run(ctx, cell)
	if run.Run != "" {
		run = booked(run, capacity, cell)
		run.Began = began
		if cell.Again {
			r.c.Retried += r.Now().Sub(began)
		}
		cause := context.Cause(ctx)
		if cause != nil && !run.Valid { // it was under way; its cell comes again when the comparison is resumed
			run.Cut, run.Dropped = true, true
		}
		r.c.Runs = append(r.c.Runs, run)
		err = errors.Join(err, r.save())
		if run.Cut {
			err = errors.Join(err, cause)
		}
	}
	return run, capacity, err
}

// booked returns a run as the comparison records it: as one of its cell, and void where something outside the arm ended
// its search.
func booked(run record.ComparisonRun, capacity *record.Capacity, cell Cell) record.ComparisonRun {
	if cause, why := endedSearch(capacity); cause != "" && run.Valid && !cell.Pilot {
		run.Valid, run.Why = false, why
		run.Cause, run.Disturbed = cause, cause == record.ByHost
	}
	run.Block, run.Order, run.Arm, run.Engine, run.Pilot = cell.Block, cell.Order, cell.Arm, cell.Engine, cell.Pilot
	return run
}

// endedSearch returns the cause of a search's end if it lies outside the arm; empty otherwise. A bound set by other
// processes on the host is theirs, and a search that they or the generator ended before any level was confirmed is
// not evidence against the arm: it is a valid run by itself, but not half of a pair, because a block can be run
// again. A bound that the generator confirmed stands.
func endedSearch(c *record.Capacity) (cause record.Cause, why string) {
	if c == nil || c.Kind != record.AtLeast && c.Kind != record.Unstable {
		return "", ""
	}
	gate, _ := c.Gate()
	if gate == "" {
		return "", ""
	}
	found := "its lower bound says nothing of the arm"
	if c.Kind == record.Unstable {
		found = "no level was confirmed before that, which says nothing of the arm"
	}
	switch cause := record.GateCause(gate); {
	case cause == record.ByHost:
		return cause, "others on the host ended its search (gate " + gate + "): " + found
	case cause == record.ByGenerator && c.Kind == record.Unstable:
		return cause, "the load generator ended its search (gate " + gate + "): " + found
	}
	return "", ""
}

// drop takes a block's runs out of the judgement.
func (r *runner) drop(block int, reason string) {
	for i := range r.c.Runs {
		if run := &r.c.Runs[i]; run.Block == block && !run.Pilot && !run.Dropped {
			run.Dropped = true
			if run.Why == "" {
				run.Why = reason
			}
		}
	}
}

// armNames returns the arms' names, base first, the others as in the file.
func armNames(p *plan.Plan) []string {
	out := []string{plan.Base}
	for _, a := range p.Compare.Arms {
		if a.Name != plan.Base {
			out = append(out, a.Name)
		}
	}
	return out
}

// Engines returns the database engines that every arm runs on, or one empty name when the database is not ours, or is
// a matter of the arm ([plan.Plan.EngineOf]).
func Engines(p *plan.Plan) []string {
	if len(p.Database.Engine) == 0 || p.OwnDatabases() {
		return []string{""}
	}
	return slices.Clone(p.Database.Engine)
}

// VoidOf returns the reason outside the arm why a search found nothing of it, for which its run does not count in a
// comparison; empty if there is none.
func VoidOf(c *record.Capacity) string {
	_, why := endedSearch(c)
	return why
}
