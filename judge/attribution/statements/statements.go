package statements

import (
	"plimsoll/judge/attribution"
	"plimsoll/watch/query"
)

// A PairedCensus is the statements of the two runs of one block.
type PairedCensus struct{ Base, New Issued }

// Issued are the statements of one run in its measured phase.
type Issued struct {
	query.Census
	Operations float64            // that were done in the same time
	ByName     map[string]float64 // the same by their names
}

// A Difference is that in the execution time of the statements of two arms, by statements. Times
// are seconds per operation.
type Difference struct {
	Blocks int                          `json:"blocks"`
	Base   float64                      `json:"base"` // time of all statements, the mean of the blocks
	New    float64                      `json:"new"`
	Change attribution.IntervalEstimate `json:"change"` // as a share of the base
	// Common is the change of the time per call that half of the statements have at least, as a
	// share: of a server that is slower as a whole. Findings are beyond it.
	Common attribution.IntervalEstimate `json:"common"`
	// Findings are the statements that changed, at most ten: those first of whose time most is
	// certain to have changed, by the bounds of intervals that are nearer to zero. More is how many
	// others there are.
	Findings []ChangedStatement `json:"findings"`
	More     int                `json:"more,omitempty"`
	// Plans are statements whose plans differ, and whose time and calls did not change for certain;
	// at most ten, those first that take most time in the base. They are no findings: two
	// deployments of one build may have other plans.
	Plans []ChangedStatement `json:"plans,omitempty"`
	// Withheld is the code of the reason why nothing is attributed; empty if something is. Missing
	// and Remedy are of the first run without statements.
	Withheld Reason        `json:"withheld,omitempty"`
	Missing  query.Missing `json:"missing,omitempty"`
	Remedy   string        `json:"remedy,omitempty"`
}

// A Reason is a code for why nothing is attributed.
type Reason string

// The reasons.
const (
	TooFewBlocks Reason = "too few blocks" // fewer than four have statements in both runs
	NoStatements Reason = "no statements"  // no run has any
)

// A Kind is what happened to a statement.
type Kind string

// The kinds of findings.
const (
	Changed Kind = "changed"
	Added   Kind = "added"   // only the new arm issues it
	Removed Kind = "removed" // only the base does
	Planned Kind = "plan"    // its plan is another, and nothing is certain; only in Plans
)

// A Measure is a figure of a statement.
type Measure string

// The measures.
const (
	Time    Measure = "time"     // seconds of execution per operation
	Calls   Measure = "calls"    // per operation
	PerCall Measure = "per call" // seconds of execution per call, beyond the common change
	Rows    Measure = "rows"     // per call
	Reads   Measure = "reads"    // per call: blocks of PostgreSQL, rows that MySQL examined
)

// A ChangedStatement is a statement that changed.
type ChangedStatement struct {
	Kind Kind `json:"kind"`
	// Text is that of the new arm; of the base where only that has it.
	Text string `json:"text"`
	// From is the text in the base of a statement whose lists of columns changed; else empty.
	From      string `json:"from,omitempty"`
	Operation string `json:"operation,omitempty"` // that issues it; empty if unknown
	// Cost is the difference in execution time per operation, Share its part of the difference of
	// all statements. The share may be negative or above 1; it is 0 if that difference is not
	// certain.
	Cost  attribution.IntervalEstimate `json:"cost"`
	Share float64                      `json:"share"`
	// Figures are the measures of the statement, time first.
	Figures []StatementMeasure `json:"figures"`
	Q       float64            `json:"q"` // false discovery rate at which it is found
	// Plan is what became of its plan; nil unless the plans of the arms differ.
	Plan *PlanChange `json:"plan,omitempty"`
}

// A StatementMeasure is one measure of a statement in both arms.
type StatementMeasure struct {
	Measure Measure                      `json:"measure"`
	Base    float64                      `json:"base"`
	New     float64                      `json:"new"`
	Change  attribution.IntervalEstimate `json:"change"` // as a share of the base; zero without one
	// Found is true for a measure that changed for certain. Of rows and reads it says that they
	// differ between these two deployments.
	Found bool `json:"found"`
}

// Sides of a change of a plan that have no step.
const (
	Gone    = "gone"    // as To
	Nothing = "nothing" // as From
)

// A PlanChange is a plan that differs between the arms in most blocks.
type PlanChange struct {
	// From and To are the steps that differ, such as "Index Scan using idx_x on posts" and "Seq
	// Scan on posts". Where one plan only lacks a step, its side has what is left of the same scan;
	// without that, To is [Gone] or From is [Nothing].
	From string `json:"from"`
	To   string `json:"to"`
	// Base and New are the whole plans, a step on a line, indented by depth.
	Base string `json:"base"`
	New  string `json:"new"`
	// Differ is the number of blocks in which they differ, Of that with a plan of both arms.
	Differ int `json:"differ"`
	Of     int `json:"of"`
}
