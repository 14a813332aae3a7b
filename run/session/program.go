package session

import (
	"cmp"
	"context"
	"io"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/export"
	"plimsoll/run/users"
	"plimsoll/target"
	"plimsoll/watch/series"
)

// A Program holds the values that the calling program lends to a session: its environment and streams, and its
// knowledge of servers.
type Program struct {
	deploy.Resolver
	Version string
	Args    []string  // its command line, for starting it again
	Warn    io.Writer // for people
	// RawErr is the stream of Warn without a gate, for the progress line.
	RawErr io.Writer
	// ChildOut and childErr are its streams, for programs of ours that are started with them: they have a gate
	// themselves.
	ChildOut, ChildErr io.Writer
	Terminal           bool    // RawErr is one
	Panics             *Panics // its panics
	Console            bool    // what is carried out is shown by the verb serve, in a process of its own
	// Stop ends the invocation as a signal does, with the cause; nil where it cannot be.
	Stop func(cause error)
	// Out is where the series of runs go besides the store; nil for a program that carries out no run. Fleet is where the
	// agents of its runs join.
	Out   *export.Destinations
	Fleet users.Door
	// Clearance is of the preflight; nil for one of a plan without a source, of which all is carried out.
	Clearance *Clearance

	// Telemetry reads the telemetry of servers that have one, by the names of their drivers.
	Telemetry map[string]Telemetry
	Rated     string // the behavior that the host's generator is rated with
	Null      string // the verb of the program that starts the null server
	// AtSeal is called before a valid run of a comparison is sealed, with its directory and the pace of its plan. Its
	// error does not fail the run.
	AtSeal func(ctx context.Context, dir string, m record.Manifest, pace float64) error
}

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

// keyFile returns the file with the keys of the agents of runs in a store.
func (pr *Program) keyFile(root string) string {
	return cmp.Or(pr.Fleet.Keys, users.KeyFile(root))
}

// SeriesAPI answers the Prometheus HTTP API for this program.
func (pr *Program) SeriesAPI() export.API {
	return export.API{Version: pr.Version, Warn: pr.Warn, Panicked: pr.panicked}
}

// panicked reports a panic that no run has.
func (pr *Program) panicked(b *boundary.Panic) { pr.Panics.Report(pr.Warn, b) }
