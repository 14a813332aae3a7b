package statements

import (
	"plimsoll/judge/attribution"
	"plimsoll/watch/query"
)

// A Block is the pair of readings of one block.
type Block struct{ Base, New Reading }

// A Reading is the statements of one run in its measured phase.
type Reading struct {
	Statements []query.Statement
	Others     query.Figures // of all statements that are not in the list
	Operations float64       // that were done in the same time
}

// An Attribution is a difference in the execution time of statements in parts. Times are seconds
// per operation.
type Attribution struct {
	Blocks int                  `json:"blocks"`
	Base   float64              `json:"base"` // execution time of all statements, the mean of the blocks
	New    float64              `json:"new"`
	Change attribution.Interval `json:"change"` // as a share of the base
	// Findings are the most certain first among those with the largest share: at most ten.
	Findings []Finding `json:"findings"`
	// Withheld is the code of the reason why nothing is attributed; empty if something is.
	Withheld Reason `json:"withheld,omitempty"`
}

// A Reason is a code for why nothing is attributed.
type Reason string

// The reasons.
const (
	TooFewBlocks Reason = "too few blocks" // fewer than four
	NoStatements Reason = "no statements"  // the runs have none
)

// A Kind is what happened to a statement.
type Kind string

// The kinds of findings.
const (
	Changed Kind = "changed"
	Added   Kind = "added"   // only the new arm issues it
	Removed Kind = "removed" // only the base does
)

// A Measure is a figure of a statement.
type Measure string

// The measures.
const (
	Time    Measure = "time"     // seconds of execution per operation
	Calls   Measure = "calls"    // per operation
	PerCall Measure = "per call" // seconds of execution per call
	Rows    Measure = "rows"     // per call
	Reads   Measure = "blocks"   // per call, from the server's cache or beyond it
)

// A Finding is a statement that changed.
type Finding struct {
	Kind Kind `json:"kind"`
	// Text is that of the new arm; of the base where only that has it.
	Text string `json:"text"`
	// From is the text in the base of a statement that has another in the new arm; else empty.
	From      string `json:"from,omitempty"`
	Operation string `json:"operation,omitempty"` // that issues it; empty if unknown
	// Cost is the difference in execution time per operation, Share its part of the difference of
	// all statements; it may be negative or above 1.
	Cost  attribution.Interval `json:"cost"`
	Share float64              `json:"share"`
	// Figures are the measures of the statement, time first. Those that changed are marked.
	Figures []Figure `json:"figures"`
	Q       float64  `json:"q"` // false discovery rate at which it is found
	// Plan is what became of its plan; nil unless the plans of the arms differ.
	Plan *PlanChange `json:"plan,omitempty"`
}

// A Figure is one measure of a statement in both arms.
type Figure struct {
	Measure Measure              `json:"measure"`
	Base    float64              `json:"base"`
	New     float64              `json:"new"`
	Change  attribution.Interval `json:"change"` // as a share of the base; zero without one
	Found   bool                 `json:"found"`
}

// A PlanChange is a plan that differs between the arms.
type PlanChange struct {
	// From and To are the steps that differ, such as "Index Scan using idx_x on posts" and "Seq
	// Scan on posts".
	From string `json:"from"`
	To   string `json:"to"`
	// Base and New are the whole plans, a step on a line, indented by depth.
	Base string `json:"base"`
	New  string `json:"new"`
}

// Attribute compares the statements of the arms.
func Attribute(blocks []Block) Attribution {
	if len(blocks) < leastBlocks {
		return Attribution{Blocks: len(blocks), Findings: []Finding{}, Withheld: TooFewBlocks}
	}
	return Attribution{Blocks: len(blocks), Findings: []Finding{}, Withheld: NoStatements}
}

const leastBlocks = 4
