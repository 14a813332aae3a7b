package trial

import (
	"context"
	"errors"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// A Driver makes load. Methods are safe for concurrent use.
type Driver interface {
	// SetUsers makes n the number of wanted users; newcomers are spread over the time.
	SetUsers(n int, over time.Duration) error
	// Users returns how many users are wanted, active, and failed for good.
	Users() (desired, active, failed int)
	// Stop ends all users, at the latest after grace.
	Stop(grace time.Duration)
}

// ErrLost reports that a part of the generator is gone, so that the further load would not be the
// plan's.
var ErrLost = errors.New("an agent was lost")

// A Collector is a [Driver] whose users record elsewhere.
type Collector interface {
	// Collect adds the records so far to the registry, tally and ledger of the trial. One goroutine
	// calls it. An error that wraps ErrLost ends the trial, which then is invalid.
	Collect(ctx context.Context) error
}

// Signals supply a trial with values of hosts and servers besides its own operations.
type Signals interface {
	// Busy returns the CPU time that a role has used and could have used so far, in seconds. The
	// roles "generator" and "app" must be known where rules or gates name them.
	Busy(role string) (busy, total float64, err error)
	// Query evaluates a PromQL expression on the run's series at present. ok is false when it has
	// no value.
	Query(ctx context.Context, expr string) (v float64, ok bool, err error)
	// Health reads the gates of package plan that the trial cannot read from its own operations, at
	// present. users and ops are how many users are wanted and how many operations ended in the
	// last second, for a gate that rates the load.
	Health(users int, ops float64) map[string]Reading
	// Failing returns the signals that have no data at present and since when, with the reason; and
	// of the others those that had none for a while.
	Failing() map[string]Failure
}

// A Failure is a signal without data. Its dates are of the run's clock.
type Failure struct {
	Since time.Time
	Until time.Time // zero while it lasts
	Why   string
}

// A BoundedTest has a fixed number of users.
type BoundedTest struct {
	Users                 int
	Ramp, Settle, Measure time.Duration // rounded up to whole seconds
	// Rules judge the bounded test, with times as they are run; nil for those of the Config.
	Rules  []plan.SLO
	Storms []TimedStorm // of the measured phase, by time
	// Window is the length of the end of the measured phase that counts, in whole seconds; 0 for
	// all of it. The part before it is the phase "soak".
	Window time.Duration
	// Until ends the measured phase before its time. It is called once a second and returns at
	// once: why the phase ends, or "" to go on. An error voids the run, which goes on: it is then
	// unknown whether the phase should have ended. nil for none.
	Until func() (why string, err error)
	// Measured gets the operations of the measured phase as they come, with the time since its
	// beginning, before Until is called. It returns at once and keeps nothing of them. nil for
	// none; it has no effect without Until.
	Measured func(since time.Duration, ws []*measure.Window)
	// GiveUp ends the trial so long after the first operation, if none has succeeded by then; 0 for
	// never.
	GiveUp time.Duration
}

// A SearchTest configures the search for the capacity.
type SearchTest struct {
	capacity.Config
	// Rush is the time that it takes to bring the users to Config.Start.
	Rush time.Duration
}

// Config is a trial before it runs. Bounded, Search or both are set, or Level alone.
type Config struct {
	Bounded *BoundedTest
	Search  *SearchTest
	Level   *LevelTest
	Rules   []plan.SLO // of the search, with times as they are run
	Window  time.Duration
	// Timeout ends an operation. It is also how long the trial waits for operations under way when
	// the measured phase ends; 0 for not at all.
	Timeout time.Duration
	// Hold is the largest lateness of the ticks, because reports of agents are, until a search
	// holds its level; 0 for never.
	Hold time.Duration
	// Clock is the run's: phases, ticks and timeouts are in its time, and the trial begins with its
	// 0; if that is over by a second or more when the users are in other processes, with the next
	// whole one, so that the phases have their lengths all the same.
	Clock  *clock.Clock
	Driver Driver
	// Registry takes the records of the driver's users.
	Registry *measure.Registry
	Signals  Signals
	Writer   *record.Writer
	// Series takes operations, users, rules and gates as time series, once a second; nil for none.
	Series Store
	// Gates are the limits of the generator's own health; nil for plan.DefaultGates.
	Gates []plan.Gate
	Conduct
	// Phase is called with the name of each phase when it begins, and with "" when it has ended. It
	// returns at once. nil for none.
	Phase func(name string)
	// Progress is called about once a second, if it is set.
	Progress func(Progress)
	// CPU reads the CPU of generator, app and database since it was called last, as shares of the
	// cores of the role, for those who look at the trial; once a second. A role that is not seen is
	// not in it. nil for none.
	CPU func() map[string]float64
	// Live watches the trial and steers it; nil for nobody.
	Live Audience
}

// Progress is the state of a trial for a person.
type Progress struct {
	Phase        string
	Active       int
	OpsPerSecond float64 // over the last second
	P95          time.Duration
	Errors       uint64 // since the start
	Left         time.Duration
}

// An Outcome is the result of a trial. Its measurements are in the run.
type Outcome struct {
	Phases   []record.Phase
	Capacity *record.Capacity
	Level    *FoundLevel // nil without a LevelTest, or where no level was carried
	// Broken names the rules that did not hold over the measured phase of a bounded test, Warned
	// those that are only warnings.
	Broken   []string
	Warned   []string
	Validity record.Validity
	// Hopeless is the reason why the trial was given up; empty when it was not. See
	// BoundedTest.GiveUp.
	Hopeless string
	// Exploratory describes how the trial was steered by hand, so that it gets no verdict; empty
	// when it was not.
	Exploratory string
	// Interrupted is the reason why the trial ended early, by its context or because a part of the
	// generator was lost; empty when it did not.
	Interrupted string
}
