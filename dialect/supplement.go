package dialect

import (
	"context"
	"time"

	"plimsoll/load/measure"
	"plimsoll/plan"
)

// A Compared holds the inputs of a report's supplements: the judged runs of each arm of a
// comparison.
type Compared struct {
	Plan *plan.Plan
	Arms []ComparedArm // in the order of tables
}

// A ComparedArm is one arm of a comparison on one database.
type ComparedArm struct {
	// Name identifies it, and Label stands for it in tables and charts.
	Name, Label string
	Runs        []JudgedRun // in the order of the blocks
}

// A JudgedRun is a run that counts in its comparison, and its measured phase.
type JudgedRun struct {
	ID    string
	Block int
	// Users is the number of users in the measured phase, which is from From to To after the run's
	// epoch.
	Users    int
	From, To time.Duration
	// EachSecond calls fn with the windows of the users' operations in each second of the run,
	// until fn returns false. Its arguments are overwritten by the next call.
	EachSecond func(fn func(second int, ws []*measure.Window) bool) error
	// EachServerSecond is the same for the server's telemetry; nil without a complete one.
	EachServerSecond func(fn func(second int, ws []*measure.Window) bool) error
	// Query evaluates PromQL over the run's series at the end of the measured phase, and returns
	// the answer to each query.
	Query func(ctx context.Context, queries ...string) ([][]QueryValue, error)
	// Deployed describes the target, or is nil if the run has no description.
	Deployed *Deployed
}

// A QueryValue is one series of a query's answer.
type QueryValue struct {
	Labels map[string]string
	Value  float64
}

// Deployed describes the target of a run.
type Deployed struct {
	// Engine is the database's kind, as plans write it, and Server its name with its version.
	Engine, Server string
	// Network is the kind of network between the target's programs; "" without one of their own.
	Network string
	// Companions are the names and versions of the other deployed services, by role.
	Companions map[string]string
}

// A Supplement is a chapter that a report has beside its own.
type Supplement struct {
	Title  string
	Leads  []string // sentences for the beginning of the report
	Notes  []string // paragraphs
	Tables []TextTable
	Charts []Chart
}

// A TextTable is a table of texts; heads that begin with ">" are of numbers.
type TextTable struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
	Notes []string   `json:"notes,omitempty"`
}

// A Chart draws lines of one figure.
type Chart struct {
	Name, Title, Unit string
	Lines             []ChartLine
}

// A ChartLine is the runs of one arm, or of one of its sides.
type ChartLine struct {
	Label string
	Index int // of its color
	Runs  []Curve
}

// A Curve is one figure over the measured time: seconds since its beginning.
type Curve struct{ T, V []float64 }
