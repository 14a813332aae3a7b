package rig

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"time"

	"plimsoll/dialect"
	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/export"
	"plimsoll/run/users"
	"plimsoll/target"
	"plimsoll/target/process"
	"plimsoll/watch/series"
)

// A Program holds the values that the calling program lends to a session: its environment and streams, and its
// knowledge of servers.
type Program struct {
	Version string
	Args    []string // its command line, for starting it again
	Env     func(string) string
	Secrets *plain.Secrets // the values that may not be shown
	Warn    io.Writer      // for people
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

	Dialects dialect.Set
	Drivers  map[string]OwnDriver // of the servers of the dialects, by name
	Rated    string               // the behavior that the host's generator is rated with
	Null     string               // the verb of the program that starts the null server
	// AtSeal is called before a valid run of a comparison is sealed, with its directory and the pace of its plan. Its
	// error does not fail the run.
	AtSeal func(ctx context.Context, dir string, m record.Manifest, pace float64) error
}

// An OwnDriver deploys a server of a dialect: a release of it, or this program itself, by the verb with the name of the
// driver. Its description for plans and reports is in [dialect.ServerDriver].
type OwnDriver struct {
	// Configure sets how the server is started in a profile, and the programs that are started beside
	// it at a place.
	Configure func(conf *process.Config, profile string, at Side)
	// CheckFault reports a problem with the value of an argument -fault; nil if the server has none.
	CheckFault func(fault string) error
	// Telemetry reads the server's telemetry of the requests of a run that has just ended, and stores it in the run.
	// It returns findings. It is nil if the server has none.
	Telemetry func(ctx context.Context, x EndedRun) ([]record.Finding, error)
	// Data is the schema of the databases that this program can fill for the server; empty if it can fill none.
	Data string
	// UserPassword is that of the people in data of this program's making.
	UserPassword string
}

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

// secret returns an environment variable that holds a secret, and remembers it.
func (pr *Program) secret(name string) string {
	v := pr.Env(name)
	pr.Secrets.Add(v)
	return v
}

// hide remembers an address with a password in it, and the password.
func (pr *Program) hide(addresses ...string) {
	for _, at := range addresses {
		if password := plan.PasswordIn(at); password != "" {
			pr.Secrets.Add(at, password)
			if raw, err := url.PathUnescape(password); err == nil {
				pr.Secrets.Add(raw)
			}
		}
	}
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
