package session

import (
	"context"

	"plimsoll/run/health/sources"
)

// readTelemetry reads the target's own telemetry of the requests of the run. Most servers have
// none.
func readTelemetry(ctx context.Context, r *run) error {
	telemetry := r.Telemetry[r.Plan.Target.Driver]
	if telemetry == nil || ctx.Err() != nil {
		return nil
	}
	found, err := telemetry(ctx, sources.EndedRun{
		Deployment: r.sys.Deployment,
		Target:     r.Plan.Target,
		Tally:      r.spec.Tally,
		Writer:     r.w,
		Series:     r.db,
		Epoch:      r.clock.Epoch(),
		Reading:    func() { r.Progress.Doing("reading the telemetry", 0) },
	})
	r.found(found...)
	return err
}
