package compare

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/live"
	"plimsoll/run/session"
	"plimsoll/run/turns"
)

// cells carries out the runs of a comparison.
type cells struct {
	*session.Session
	base      session.RunPart
	count     int // of all blocks
	deployed  *deploy.Deployments
	broadcast *live.Broadcast
	// stacks holds the stacks of the runs before the comparison was interrupted, by arm and engine;
	// nil if it was not.
	stacks map[string]stack
	canary func(context.Context) (perSecond float64, err error) // nil if it could not be started
	pace   pace
	past   *pastBlocks
}

// newCells returns the cells of a plan, and starts their canary, which hush ends.
func newCells(
	ctx context.Context,
	s *session.Session,
	deployed *deploy.Deployments,
	base session.RunPart,
	duet bool,
) (r *cells, hush func()) {
	c := s.Plan.Compare
	inBlock := len(c.Arms) * len(comparison.Engines(s.Plan))
	r = &cells{
		Session:  s,
		base:     base,
		deployed: deployed,
		count:    c.Blocks * inBlock,
		past:     newPastBlocks(),
	}
	r.pace = pace{planned: r.length(base) + plan.Between(duet), block: inBlock, all: r.count}
	canary, hush, err := s.Null().StartCanary(ctx)
	if err != nil {
		s.Progress.Say("no canary: %v", err)
		return r, func() {}
	}
	r.canary = canary.Listen
	return r, hush
}

// length returns how long a run may take, its reset left out.
func (r *cells) length(pt session.RunPart) time.Duration {
	return r.Plan.RunLength(pt.Bounded, pt.Unbounded)
}

// run carries out one cell by itself.
func (r *cells) run(ctx context.Context, c cell) (cellRun, error) {
	pt := r.part(c)
	r.broadcast.SetBlock(c.block, c.again)
	r.Progress.What(cellText(c, r.Plan.Compare.Blocks), time.Duration(c.left)*r.pace.each())
	sung, err := r.listen(ctx, r.length(pt))
	if err != nil {
		return cellRun{}, err
	}
	sys, err := r.system(ctx, c)
	if err != nil {
		return cellRun{}, err
	}
	began := time.Now()
	run, err := r.trial(ctx, r.Session, sys, pt, sung)
	if !c.pilot {
		r.note([]cellRun{run}, began)
	}
	return run, errors.Join(err, sys.Halt(ctx))
}

// runBlock carries out the runs of one block side by side: the systems are up at once, and their
// users take turns.
func (r *cells) runBlock(ctx context.Context, block []cell) ([]cellRun, error) {
	first := block[0]
	after := first.left + 1 - len(block)
	r.broadcast.SetBlock(first.block, first.again)
	r.Progress.What(
		blockText(first, r.Plan.Compare.Blocks),
		time.Duration(max(after, 0))*r.pace.each(),
	)
	sung, err := r.listen(ctx, time.Duration(len(block))*r.length(r.base))
	if err != nil {
		return nil, err
	}
	systems := make([]*deploy.System, len(block))
	for i, c := range block {
		if systems[i], err = r.system(ctx, c); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	rule := newStopRule(r.Plan, r.past)
	out, err := r.takeTurns(ctx, block, systems, rule, sung)
	valid := true
	made := make([]cellRun, 0, len(block))
	for i, sys := range systems {
		err = errors.Join(err, sys.Halt(ctx))
		valid = valid && out[i].Valid
		if out[i].Run != "" {
			made = append(made, out[i])
		}
	}
	if valid {
		rule.finish()
	}
	r.note(out, began)
	return made, err
}

// takeTurns makes the runs of a block on systems that are up, in the order of the cells.
func (r *cells) takeTurns(
	ctx context.Context, block []cell, systems []*deploy.System, rule *stopRule, sung float64,
) ([]cellRun, error) {
	seed := r.Plan.Seed ^ uint64(block[0].block)<<32
	slice := r.Plan.Compare.Slice
	shared := turns.NewDuetBlock(len(block), seed, slice, r.Progress.Say)
	out := make([]cellRun, len(block))
	errs := make([]error, len(block)+1)
	sessions := make([]*session.Session, len(block))
	var wg sync.WaitGroup
	for i, c := range block {
		name := onEngine(c.arm, c.engine)
		place := shared.Place(name, c.engine, rule.watch(c.arm, c.engine))
		sessions[i] = r.Beside(name)
		wg.Go(func() {
			defer place.Vacate() // the others do not wait for a run that never began
			pt := r.part(c)
			pt.Place = place
			errs[i] = boundary.Do("a run of a duet", func() (err error) {
				out[i], err = r.trial(ctx, sessions[i], systems[i], pt, sung)
				return err
			})
		})
	}
	errs[len(block)] = boundary.Do("the table of a duet", func() error { return shared.Run(ctx) })
	shared.End()
	wg.Wait()
	r.Together(sessions)
	return out, errors.Join(errs...)
}

// part translates a cell.
func (r *cells) part(c cell) session.RunPart {
	pt := r.base
	pt.Arm, pt.Engine = c.arm, r.Plan.EngineOf(c.arm, c.engine)
	pt.Block, pt.Order = c.block, c.order
	pt.Pilot, pt.Start = c.pilot, c.start
	if c.pilot {
		// A pilot only has to find where the searches begin.
		pt.Bounded = false
	}
	return pt
}

// system returns the system of a cell, deployed.
func (r *cells) system(ctx context.Context, c cell) (*deploy.System, error) {
	all := r.base       // a pilot's system serves the runs after it too
	all.Block = c.block // it decides on the address, where arms exchange theirs
	all.Arm, all.Engine = c.arm, r.Plan.EngineOf(c.arm, c.engine)
	sys, err := r.deployed.System(ctx, r.Need(all))
	if err != nil {
		return nil, err
	}
	if _, failed := sys.Deployment.(deploy.Unprovisioned); failed {
		return sys, nil
	}
	if why := stackOf(sys.Deployment.Describe()).differs(r.stacks[c.arm+" "+c.engine]); why != "" {
		return nil, plan.Usagef("arm %s is %s than before the comparison was cut: "+
			"put the first one back, or begin a new comparison", c.arm, why)
	}
	return sys, nil
}

// trial carries out a run on its system with a new session. sung is the reading of the canary
// before it.
func (r *cells) trial(
	ctx context.Context, s *session.Session, sys *deploy.System, pt session.RunPart, sung float64,
) (run cellRun, err error) {
	made, _, err := s.Trial(ctx, sys, pt)
	if made == nil {
		return run, err
	}
	v := made.Validity
	digest, derr := record.DigestFile(filepath.Join(made.Dir, record.ManifestFile))
	run.capacity = made.Manifest.Capacity
	run.ComparisonRun = record.ComparisonRun{
		Run: made.Manifest.ID, Digest: digest, Valid: v.Valid, Canary: sung,
		Cause: record.CauseOf(v), Disturbed: record.Disturbed(v), TargetToo: record.TargetToo(v),
	}
	for _, f := range v.Findings {
		if f.Level == record.Red {
			run.Why = f.Gate + ": " + f.Text
		}
	}
	if !run.Valid && made.Manifest.State == record.Sealed {
		s.Progress.Say("  run %s is not valid: %s", run.Run, run.Why)
	}
	return run, errors.Join(err, derr)
}

// listen measures the canary before a run; left is the time that the run takes. A failure is
// printed, and the reading is missing; the run takes place.
func (r *cells) listen(ctx context.Context, left time.Duration) (perSecond float64, err error) {
	if r.canary == nil {
		return 0, nil
	}
	r.Progress.Doing("canary", left)
	perSecond, err = r.canary(ctx)
	if err != nil && ctx.Err() == nil {
		r.Progress.Say("  %v", err)
		return 0, nil
	}
	return perSecond, err
}
