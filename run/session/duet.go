package session

import (
	"context"
	"errors"

	"plimsoll/plan"
)

// takePlace takes the run's place at the table of a duet, and returns when the turns begin.
func (r *run) takePlace(ctx context.Context) (_ context.Context, leave func(), err error) {
	if r.lay.Processes > 1 {
		return ctx, nil, plan.Usagef("compare.mode: the %d users of an arm need %d processes, and "+
			"those of a duet share one; lower users, or write mode: sequence",
			r.Users(r.RunPart), r.lay.Processes)
	}
	r.Place.Arrive()
	ctx, r.clock, leave, err = r.Place.Take(ctx, r.sys)
	return ctx, leave, err
}

// beginTurns has the run measured in its turns only.
func beginTurns(_ context.Context, r *run) error {
	if r.Place != nil {
		r.turns = r.Place.Turns
		r.spec.Registry = r.Place.Reg
	}
	return nil
}

// watchBacklog samples the work that the target of a duet still owes.
func watchBacklog(_ context.Context, r *run) error {
	if r.Place != nil && r.Place.Owed != nil {
		r.runner.Add(r.Place.Owed)
	}
	return nil
}

// testInTurns tells the table of the run's progress, and has the gates judge by the run's turns.
func testInTurns(ctx context.Context, r *run) error {
	if r.Place == nil {
		return nil
	}
	r.spec.Progress = r.Place.Progress(r.spec.Progress)
	r.spec.Gates = plan.InDuet(r.spec.Gates)
	if watch := r.Place.Watch; watch != nil && r.spec.Bounded != nil {
		watch(ctx, r.spec.Bounded, r.clock, r.db)
	}
	return nil
}

// yieldPlace gives the place up before the work that is left, which would disturb the others.
func yieldPlace(ctx context.Context, r *run) error {
	if r.Place == nil {
		return nil
	}
	return errors.Join(r.stopSampling(), r.Place.Yield(ctx))
}
