package rig

import (
	"fmt"
	"slices"
	"syscall"

	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/report"
)

// Exit statuses. They are stable: scripts decide releases by them.
const (
	ExitOK           = 0 // done; the verdict is same or better
	ExitTool         = 1 // the tool failed: nothing follows about the target
	ExitUsage        = 2 // bad flags, plan or input
	ExitWorse        = 3 // the verdict is worse
	ExitInconclusive = 4 // the verdict is inconclusive or indicative, or a search is unstable
	ExitInvalid      = 5 // a run is not valid
	ExitSLO          = 6 // a rule did not hold, or acknowledged messages are gone
)

// SignalStatus returns the exit status of a verb that a signal ended before it was done, as shells have it: 130 for
// SIGINT.
func SignalStatus(s syscall.Signal) int { return 128 + int(s) }

// precedence orders the statuses: of several, the first in this list wins.
var precedence = []int{ExitUsage, ExitTool, ExitWorse, ExitInvalid, ExitSLO, ExitInconclusive, ExitOK}

// Worst returns the status that wins: ExitOK if there is none.
func Worst(statuses ...int) int {
	for _, p := range precedence {
		if slices.Contains(statuses, p) {
			return p
		}
	}
	return ExitOK
}

// ComparedStatus returns the exit status of a comparison that is complete: that of its verdicts, and [ExitSLO] if
// acknowledged messages are gone.
func ComparedStatus(doc report.Document, verdicts []verdict.Verdict) int {
	status := verdict.Worst(verdicts...).ExitStatus()
	if doc.AcknowledgedLost > 0 {
		return Worst(status, ExitSLO)
	}
	return status
}

// SizedStatus returns the exit status of a sizing in a state: [ExitTool] if it has not ended as planned, [ExitInvalid]
// if a step has no grade, and [ExitSLO] if acknowledged messages are gone.
func SizedStatus(state record.State, doc *report.SizingPart) int {
	var statuses []int
	if state != record.Sealed {
		statuses = append(statuses, ExitTool)
	}
	if !doc.AllGraded() {
		statuses = append(statuses, ExitInvalid)
	}
	if doc.AcknowledgedLost > 0 {
		statuses = append(statuses, ExitSLO)
	}
	return Worst(statuses...)
}

// StatusError carries an exit status other than that of a failure. Its text is for tests: the message for people has
// been printed already.
type StatusError int

// Error implements error.
func (s StatusError) Error() string { return fmt.Sprintf("status %d", int(s)) }
