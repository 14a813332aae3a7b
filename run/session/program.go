package session

import (
	"cmp"
	"context"
	"io"

	"plimsoll/internal/boundary"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/export"
	"plimsoll/run/health/sources"
	"plimsoll/run/users"
)

// A Program holds the values that the calling program lends to a session: its environment and
// streams, and its knowledge of servers.
type Program struct {
	deploy.Resolver
	Version string
	Args    []string  // its command line, for starting it again
	Warn    io.Writer // for people
	// RawErr is the stream of Warn without a gate, for the progress line.
	RawErr io.Writer
	// ChildOut and childErr are its streams, for programs of ours that are started with them: they
	// have a gate themselves.
	ChildOut, ChildErr io.Writer
	Terminal           bool             // RawErr is one
	Panics             *boundary.Panics // its panics
	// Console is the address at which what is carried out is shown by the verb serve, in a process
	// of its own; "" for not at all.
	Console string
	// Stop ends the invocation as a signal does, with the cause; nil where it cannot be.
	Stop func(cause error)
	// Out takes the series of runs besides the store; nil for a program that carries out no
	// run. Fleet is the place where the agents of its runs join.
	Out   *export.Destinations
	Fleet users.Door
	// Clearance is of the preflight; nil for one of a plan without a source, of which all is
	// carried out.
	Clearance *Clearance

	// Telemetry reads the telemetry of servers that have one, by the names of their drivers.
	Telemetry map[string]sources.Telemetry
	Rated     string // the behavior that the host's generator is rated with
	Null      string // the verb of the program that starts the null server
	// AtSeal is called before a valid run of a comparison is sealed, with its directory and the
	// pace of its plan. Its error does not fail the run.
	AtSeal func(ctx context.Context, dir string, m record.Manifest, pace float64) error
}

// keyFile returns the file with the keys of the agents of runs in a store.
func (pr *Program) keyFile(root string) string {
	return cmp.Or(pr.Fleet.Keys, users.KeyFile(root))
}

// SeriesAPI answers the Prometheus HTTP API for this program.
func (pr *Program) SeriesAPI() export.API {
	return export.API{Version: pr.Version, Warn: pr.Warn, Panicked: pr.Panics.To(pr.Warn)}
}

// Verb is the verb of the invocation.
func (pr *Program) Verb() string {
	if len(pr.Args) == 0 {
		return ""
	}
	return pr.Args[0]
}
