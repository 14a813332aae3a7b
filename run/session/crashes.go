package session

import (
	"context"

	"plimsoll/run/health"
)

// watchCrashes follows the target's programs.
func watchCrashes(_ context.Context, r *run) error {
	r.crashes = health.WatchCrashes(r.sys, r.w, r.clock)
	return nil
}

// findCrashes finds the ends and restarts of the target's programs, which still run.
func findCrashes(_ context.Context, r *run) error {
	found, err := r.crashes.Findings(r.out.Phases)
	r.found(found...)
	return err
}

// findRestarts finds restarts of servers that others run in the series of the run.
func findRestarts(ctx context.Context, r *run) error {
	ctx = context.WithoutCancel(ctx)
	r.found(health.Restarts(ctx, r.db, r.clock.Epoch(), r.clock.Now())...)
	return nil
}
