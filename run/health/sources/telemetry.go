package sources

import (
	"context"
	"time"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target"
	"plimsoll/watch/series"
)

// A Telemetry reads the server's own telemetry of the requests of a run that has just ended, and
// stores it in the run. It returns findings.
type Telemetry func(ctx context.Context, x EndedRun) ([]record.Finding, error)

// An EndedRun is a run that has just ended, for a driver that reads its server's telemetry.
type EndedRun struct {
	Deployment target.Deployment
	Target     plan.Target
	Tally      *workload.Tally
	Writer     *record.Writer
	Series     *series.DB
	Epoch      time.Time
	Reading    func() // to be called when it begins
}
