package report

import (
	"time"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// OpTable is the operations of the measured phase on one engine.
type OpTable struct {
	Engine string  `json:"engine"`
	Rows   []OpRow `json:"rows"`
	// Gone and New name operations that only the base has, or only a new arm.
	Gone []string `json:"gone,omitempty"`
	New  []string `json:"new,omitempty"`
	// Schedule counts the operations that were intended and begun, for each arm as in
	// Document.Arms; nil where no run recorded it.
	Schedule []OpSchedule `json:"schedule,omitempty"`
	// Checks are those of a script, for each arm that has some.
	Checks []ArmChecks `json:"checks,omitempty"`
}

// OpSchedule compares the operations that the schedule of an arm's users intended in the measured
// phases with the operations that were begun. Of the Runs, Told recorded it; if Told is 0, the rest
// is NaN. Percentiles cover all operations of the steady state, as measured and as if users had not
// waited, in milliseconds, NaN where the operations are too few.
type OpSchedule struct {
	Runs int `json:"runs"`
	Told int `json:"told"`
	// Unpaused counts the runs whose users made no pauses, to which the rest does not apply.
	Unpaused int    `json:"without_pauses,omitempty"`
	Achieved uint64 `json:"achieved"`
	Intended Number `json:"intended"`
	Share    Number `json:"share"`
	Least    Number `json:"least_share"` // of one run
	Marked   bool   `json:"marked"`      // a run is below record.LeastAchieved
	P50      Number `json:"p50_ms"`
	P95      Number `json:"p95_ms"`
	P99      Number `json:"p99_ms"`
	By50     Number `json:"p50_by_schedule_ms"`
	By95     Number `json:"p95_by_schedule_ms"`
	By99     Number `json:"p99_by_schedule_ms"`
}

// OpRow is one operation: each arm as in Document.Arms, all judged runs merged.
type OpRow struct {
	Name string   `json:"name"`
	Arms []OpCell `json:"arms"`
}

// OpCell is one operation of one arm. Rate is per second of measured time; Errors is a fraction;
// the percentiles are response times in milliseconds, NaN where the operations are too few for
// them. An arm without the operation has Count 0 and the rest NaN.
type OpCell struct {
	Count  uint64 `json:"count"`
	Failed uint64 `json:"failed"`
	Rate   Number `json:"rate"`
	Errors Number `json:"errors"`
	P50    Number `json:"p50_ms"`
	P95    Number `json:"p95_ms"`
	P99    Number `json:"p99_ms"`
	// Classes counts failed operations by class, most frequent first.
	Classes []Count `json:"classes,omitempty"`
	// Statuses counts failures of the classes 4xx and 5xx by the status of the answer, most
	// frequent first.
	Statuses []Count `json:"statuses,omitempty"`
	// Expected counts answers with a status from 400 on that the dialect knows as right; they are
	// not failed.
	Expected []workload.ExpectedCount `json:"expected,omitempty"`
	// Of the operations that were under way at the end of a measured phase, Drained have ended
	// since (they are not in Rate) and Open have not: these are in the percentiles with their age,
	// and AtLeast names the percentiles that are lower bounds because of it.
	Drained uint64   `json:"drained,omitempty"`
	Open    uint64   `json:"open,omitempty"`
	AtLeast []string `json:"at_least,omitempty"`
}

// RuleTable is the SLO rules of one engine: evaluated once over the measured phase of each run of
// the bounded test, and again and again during the search.
type RuleTable struct {
	Engine string    `json:"engine"`
	Rows   []RuleRow `json:"rows"`
}

// RuleRow is one rule and one arm.
type RuleRow struct {
	Rule  string `json:"rule"`
	Arm   string `json:"arm"`
	Unit  string `json:"unit"` // of Limit and the values: "s", "fraction" or ""
	Limit Number `json:"limit"`
	// Warning reports that the rule only warns: it breaks nothing.
	Warning bool `json:"warning,omitempty"`
	// Measured holds the bounded test's value of each judged run, in the order of the blocks.
	Measured []RuleValue `json:"measured,omitempty"`
	// Search sums up the evaluations of the unbounded test.
	Search *RuleSearch `json:"search,omitempty"`
}

// RuleValue is one evaluation. NoData reports that there was nothing to evaluate, TooFew that there
// were fewer operations than the rule requires, so that it did not decide.
type RuleValue struct {
	Block    int    `json:"block"`
	Value    Number `json:"value"`
	Violated bool   `json:"violated,omitempty"`
	NoData   bool   `json:"no_data,omitempty"`
	TooFew   bool   `json:"too_few,omitempty"`
	// Where is the part of the target that a broken expression's value was of, how far it went, and
	// when.
	Where string `json:"where,omitempty"`
}

// RuleSearch sums up how a rule fared during the searches: how many evaluations, how many violated
// it, had no data or too few operations, and the median over the runs of the users at its first
// violation (NaN if it never was).
type RuleSearch struct {
	Evaluations int    `json:"evaluations"`
	Violated    int    `json:"violated"`
	NoData      int    `json:"no_data"`
	TooFew      int    `json:"too_few"`
	FirstUsers  Number `json:"first_users"`
	FirstRuns   int    `json:"first_runs"` // runs in which it was violated at all
}

// SideTable sets the users' measurements beside the target's telemetry, operation by operation, on
// one engine: judged runs merged, measured phases.
type SideTable struct {
	Engine string    `json:"engine"`
	Rows   []SideRow `json:"rows"`
}

// SideRow is one operation of one arm. Between is the difference of the means, in milliseconds: the
// time between the two clocks, network and queues. It is not known where they saw different numbers
// of requests.
type SideRow struct {
	Name    string   `json:"name"`
	Arm     string   `json:"arm"`
	Client  SideCell `json:"client"`
	Server  SideCell `json:"server"`
	Between Number   `json:"between_ms"`
}

// SideCell is one side: requests that succeeded, and their times in milliseconds.
type SideCell struct {
	Count uint64 `json:"count"`
	Mean  Number `json:"mean_ms"`
	P50   Number `json:"p50_ms"`
	P95   Number `json:"p95_ms"`
}

// UsersOf describes the users of one arm on one engine beside the operations of the steady state:
// the judged runs together. Durations are nanoseconds in JSON.
type UsersOf struct {
	Engine string `json:"engine"`
	Arm    string `json:"arm"`
	Runs   int    `json:"runs"`
	// Mixes compares the planned with the measured mix, by behavior, in the measured phase.
	Mixes []workload.Mix `json:"mixes,omitempty"`
	// Messages counts the whole runs, Grace is the longest time that a message may take.
	Messages workload.LedgerCount `json:"messages"`
	Grace    time.Duration        `json:"grace"`
	// Undelivered is the reason for not judging deliveries; empty where they are judged.
	Undelivered string `json:"undelivered,omitempty"`
	// Audit adds up the audits of messages read back; nil if no run had one. AuditErrors are the
	// errors of audits.
	Audit       *workload.AuditResult `json:"audit,omitempty"`
	AuditErrors []string              `json:"audit_errors,omitempty"`
	Login       []OpLine              `json:"login,omitempty"`
	Storms      []StormOf             `json:"storms,omitempty"`
}

// An OpLine is one series.
type OpLine struct {
	Name string `json:"name"`
	OpCell
}

// A StormOf is one storm of the plan over the runs of an arm. Affected and Missed are sums, Back is
// the longest.
type StormOf struct {
	record.StormOutcome
	// Begin is counted from the beginning of the measured phase.
	Begin time.Duration `json:"begin"`
	All   OpCell        `json:"all"`
	Ops   []OpLine      `json:"operations,omitempty"`
}
