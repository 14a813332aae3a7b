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
	Plan     *plan.Plan
	Setup    []record.Row
	// Repeats is how many voided blocks may be run again, over the whole comparison.
	Repeats int
	// Run carries out one cell and leaves a sealed run. An error means that the tool failed and ends the comparison;
	// a run that is not valid is no error.
	Run func(ctx context.Context, c Cell) (record.ComparisonRun, *record.Capacity, error)
	// Save puts the comparison on disk; it is called after every run.
	Save func(*record.Comparison) error
	// Now is the clock.
	Now func() time.Time
}

// Run carries out the comparison: pilots where a search has no start, all blocks, and voided blocks again. When ctx
// ends it returns what there is, in state Interrupted, without an error.
func Run(ctx context.Context, cfg Config) (*record.Comparison, error) {
	p := cfg.Plan
	c := &record.Comparison{ID: cfg.ID, Name: p.Name, Tool: cfg.Tool, Plan: p.String(), PlanDigest: p.Digest(), Started: cfg.Now(),
		State: record.Running, Arms: armNames(p), Engines: Engines(p), Blocks: p.Compare.Blocks, Start: map[string]int{}, Setup: cfg.Setup}
	r := &runner{cfg, c}
	if err := cfg.Save(c); err != nil {
		return c, err
	}
	err := r.all(ctx)
	c.Ended, c.State = cfg.Now(), record.Sealed
	if cause := context.Cause(ctx); cause != nil {
		c.State, c.Why, err = record.Interrupted, cause.Error(), nil
	} else if err != nil {
		c.State, c.Why = record.Interrupted, err.Error()
	}
	return c, errors.Join(err, cfg.Save(c))
}

type runner struct {
	Config
	c *record.Comparison
}

func (r *runner) all(ctx context.Context) error {
	if err := r.pilots(ctx); err != nil {
		return err
	}
	blocks := Order(r.Plan.Seed, r.c.Blocks, r.c.Arms, r.c.Engines)
	var voided []int
	for i, cells := range blocks {
		ok, err := r.block(ctx, cells)
		if err != nil {
			return err
		}
		if !ok {
			voided = append(voided, i)
		}
	}
	for left := r.Repeats; left > 0 && len(voided) > 0; left-- {
		i := voided[0]
		voided = voided[1:]
		r.drop(i+1, "another run of the block was not valid")
		ok, err := r.block(ctx, blocks[i])
		if err != nil {
			return err
		}
		if !ok {
			voided = append(voided, i)
		}
	}
	for _, i := range voided {
		r.drop(i+1, "a run of the block was not valid, and no repeat was left")
	}
	return nil
}

// pilots finds where the searches begin.
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
		run, capacity, err := r.run(ctx, Cell{Arm: r.c.Arms[0], Engine: e, Pilot: true, Index: i + 1, Of: len(r.c.Engines)})
		if err != nil {
			return err
		}
		if capacity == nil || capacity.Kind == record.Invalid || capacity.Users < 1 {
			return fmt.Errorf("pilot %s on %s found no capacity: %s; set unbounded.start in the plan, or look at the run", run.Run, e, why(capacity))
		}
		r.c.Start[e] = max(int(math.Round(capacity.Users*pilotShare)), 1)
	}
	return nil
}

func why(c *record.Capacity) string {
	if c == nil {
		return "it has none"
	}
	return c.Why
}

func (r *runner) block(ctx context.Context, cells []Cell) (valid bool, err error) {
	valid = true
	for _, cell := range cells {
		cell.Start = r.c.Start[cell.Engine]
		run, _, err := r.run(ctx, cell)
		if err != nil {
			return false, err
		}
		valid = valid && run.Valid
	}
	return valid, nil
}

func (r *runner) run(ctx context.Context, cell Cell) (record.ComparisonRun, *record.Capacity, error) {
	if err := context.Cause(ctx); err != nil {
		return record.ComparisonRun{}, nil, err
	}
	run, capacity, err := r.Run(ctx, cell)
	if run.Run != "" {
		run.Block, run.Order, run.Arm, run.Engine, run.Pilot = cell.Block, cell.Order, cell.Arm, cell.Engine, cell.Pilot
		r.c.Runs = append(r.c.Runs, run)
		err = errors.Join(err, r.Save(r.c))
	}
	return run, capacity, err
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

// Engines returns the database engines, or one empty name when the database is not ours.
func Engines(p *plan.Plan) []string {
	if len(p.Database.Engine) == 0 {
		return []string{""}
	}
	return slices.Clone(p.Database.Engine)
}
