package session

import (
	"context"

	"plimsoll/run/deploy"
)

// testUsers sets the tests of the plan, and who is told of them.
func testUsers(_ context.Context, r *run) error {
	r.spec.Clock = r.clock
	r.spec.Writer = r.w
	r.spec.Live = r.aud
	r.spec.Progress = r.Progress.Trial
	if f := r.Plan.Fleet; f != nil {
		r.spec.Hold = f.Hold
	}
	return nil
}

// findLevel has a pilot find the users that a target carries: messages are not audited.
func findLevel(_ context.Context, r *run) error {
	if r.spec.Level != nil {
		r.spec.Level.Used = r.signals.TargetCPU(r.Plan, r.Cores, r.sys, r.Arm)
		r.spec.Audit = nil
	}
	return nil
}

// watchDisk ends a bounded test when the target's disk is as full as the plan wants it.
func watchDisk(ctx context.Context, r *run) error {
	b := r.Plan.Bounded
	if b == nil || b.Until <= 0 || r.spec.Bounded == nil {
		return nil
	}
	disk := deploy.WatchDisk(ctx, r.sys.Dir, b.Until)
	r.closing(func() error { disk.End(); return nil })
	r.spec.Bounded.Until = disk.Full
	return nil
}
