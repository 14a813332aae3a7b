package report

import (
	"plimsoll/dialect"
	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/drift"
	"plimsoll/judge/limiter"
	"plimsoll/judge/suspects"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
)

// Input is everything a report is made of, already read from disk by the caller. From changes
// nothing in it.
type Input struct {
	// Comparison may not be nil. Plan may be; then its facts are left out.
	Comparison *record.Comparison
	Plan       *plan.Plan
	Arms       []Judged // new arms against base, one per (engine, arm)
	Databases  []Judged // engines against the first engine, one per (engine, arm)
	Runs       []RunData
	// Graphs lists the graphs that the target can give, in the order in which they are shown.
	// Further lists the graphs after them that are shown only where a run has them, or the reason
	// why it does not.
	Graphs, Further []GraphSpec
	// EngineNames holds the name and version that each database server reports, by engine: "mysql"
	// -> "MariaDB 10.11.19".
	EngineNames map[string]string
	// Setup holds the first rows of the Setup table, in order.
	Setup []record.Row
	// Comments and Actions are texts of a person that take the place of the drafted ones and of the
	// plan's; they may be empty.
	Comments, Actions []string
	// Suspects are the commits that touch what changed; nil where none were looked for.
	Suspects *suspects.SuspectSearch
	// Chapters are the caller's sections beside the tables that every report has. Their leads are
	// in the comments, unless a person has written these.
	Chapters []dialect.Supplement
}

// carried reports whether a run carried out the test.
func carried(r RunData, test string) bool {
	_, ok := r.Manifest.Phase(map[string]string{Bounded: "measure", Unbounded: "search"}[test])
	return ok || len(r.Series[test]) > 0
}

// The names of a [HostWait].
const (
	WaitSteal = "steal" // the hypervisor ran other guests on the target's cores
	WaitDisk  = "disk"  // all work on the target's host waited for a disk
)

// A HostWait is the part of a test's time in which the target had to wait for resources that its
// host shares with others. The others differ from run to run: they widen intervals, and are not a
// change of the target.
type HostWait struct {
	Name  string
	Test  string  // Bounded or Unbounded
	Share float64 // of the time of the test in which was measured, 0 to 1
}

// Judged holds the conclusions about one arm on one database.
type Judged struct {
	Engine, Arm string
	Verdict     verdict.Verdict
	// Skipped names endpoints that were not judged, with the reason.
	Skipped map[string]string
	// Secondary holds the results of the metrics beside the primary endpoints, nil for none; Shifts
	// the quantiles at which the distributions differ.
	Secondary *verdict.Family
	Shifts    []verdict.Shift
	// Costs are the attributions of the costs that were judged; nil where no run was profiled.
	// Statements is that of the execution time of the database; nil where no run has it.
	Costs      []Attributed
	Statements *statements.Difference
}

// RunData is one run of the comparison, as far as it could be read.
type RunData struct {
	Cell     record.ComparisonRun
	Manifest record.Manifest
	Validity record.Validity
	// Ops holds the measured phase by name; Events all events.
	Ops    map[string]*measure.Window
	Events []record.Event
	// Omitted holds the operations that were not begun in the measured phase because users waited,
	// by name; nil where the run has no record of them.
	Omitted map[string]*measure.Window
	// Server holds the measured phase as the target's own telemetry recorded it, under the names of
	// Ops where it is the same; nil without one.
	Server map[string]*measure.Window
	// Users holds the record of the users; nil for runs without one. Outside holds operations
	// beside the steady state.
	Users   *record.Users
	Outside record.Outside
	// Limiter is the resource that stopped the run, by its evidence; nil where it was not
	// determined.
	Limiter *limiter.Limiter
	// Drift lists the signals that moved in the measured phase; nil where it was not determined.
	Drift []drift.Drift
	// Waits are the target's waits for resources that its host shares; a test without a reading has
	// no entry.
	Waits []HostWait
	// Series holds the lines by test (Bounded, Unbounded) and name of graph, NoData why there is
	// none where there is none.
	Series map[string]map[string]Line
	NoData map[string]map[string]string
	// Pages are the pages that the caller writes about this run beside the report.
	Pages []PageRef
}

// measuredPhase is the Phase of the events that judge the whole bounded test.
const measuredPhase = "measured"

func inSearch(m record.Manifest, ev record.Event) bool {
	if ev.Phase != "" {
		return ev.Phase == "search"
	}
	ph, ok := m.Phase("search")
	return ok && ev.At >= ph.From && ev.At <= ph.To
}
