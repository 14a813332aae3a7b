// Package exit holds the exit statuses of the program, and the order in which one wins over
// another. They are stable: scripts decide releases by them. It prints nothing and ends nothing.
package exit

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"syscall"

	"plimsoll/internal/built"
	"plimsoll/judge/bisect"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/session"
)

// The exit statuses.
const (
	OK           = 0 // done; the verdict is same or better
	Tool         = 1 // the tool failed: nothing follows about the target
	Usage        = 2 // bad flags, plan or input
	Worse        = 3 // the verdict is worse
	Inconclusive = 4 // the verdict is inconclusive or indicative, or a search is unstable
	Invalid      = 5 // a run is not valid
	SLO          = 6 // a rule did not hold, or acknowledged messages are gone
)

// precedence orders the statuses: of several, the first in this list wins.
var precedence = []int{Usage, Tool, Worse, Invalid, SLO, Inconclusive, OK}

// Worst returns the status that wins: OK if there is none.
func Worst(statuses ...int) int {
	for _, p := range precedence {
		if slices.Contains(statuses, p) {
			return p
		}
	}
	return OK
}

// OfSignal returns the exit status of a verb that a signal ended before it was done, as shells have
// it: 130 for SIGINT.
func OfSignal(s syscall.Signal) int { return 128 + int(s) }

// Compared returns the exit status of a complete comparison: the status of its verdicts, and [SLO]
// if acknowledged messages are gone.
func Compared(doc report.Document, verdicts []verdict.Verdict) int {
	status := verdict.Worst(verdicts...).ExitStatus()
	if doc.AcknowledgedLost > 0 {
		return Worst(status, SLO)
	}
	return status
}

// Sized returns the exit status of a sizing in a state: [Tool] if it has not ended as planned,
// [Invalid] if a step has no grade, and [SLO] if acknowledged messages are gone.
func Sized(state record.State, doc *report.SizingPart) int {
	var statuses []int
	if state != record.Sealed {
		statuses = append(statuses, Tool)
	}
	if !doc.AllGraded() {
		statuses = append(statuses, Invalid)
	}
	if doc.AcknowledgedLost > 0 {
		statuses = append(statuses, SLO)
	}
	return Worst(statuses...)
}

// Bisected returns the exit status of a bisection in a state: [Worse] if it has found the build that
// made something worse, [Inconclusive] if it is undecided or its budget was used up, and [Tool] if
// it was interrupted otherwise.
func Bisected(state record.State, a bisect.Diagnosis, worse, overBudget bool) int {
	switch {
	case state != record.Sealed && !overBudget:
		return Tool
	case a.Outcome == bisect.Found && worse:
		return Worse
	case a.Outcome == bisect.Found, a.Outcome == bisect.Nothing:
		return OK
	}
	return Inconclusive
}

// A StatusError carries an exit status. Its text is for tests: the message for people was printed
// before.
type StatusError int

// Error implements error.
func (s StatusError) Error() string { return fmt.Sprintf("status %d", int(s)) }

// With returns the error of a verb that ends with a status: nil for [OK].
func With(status int) error {
	if status == OK {
		return nil
	}
	return StatusError(status)
}

// Printed reports whether an error carries the status of a program that has printed its reason.
func Printed(err error) bool {
	_, own := errors.AsType[StatusError](err)
	_, carried := errors.AsType[session.CarriedError](err)
	return own || carried
}

// Of returns the exit status of a verb that ended with err.
func Of(err error) int {
	var (
		status  StatusError
		carried session.CarriedError
		usage   plan.UsageError
		bad     *plan.Error
	)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return OK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &carried):
		return carried.Status
	case errors.As(err, &usage), errors.As(err, &bad), errors.Is(err, record.ErrAltered),
		errors.Is(err, record.ErrWindows), errors.Is(err, built.ErrNewer):
		return Usage
	}
	return Tool
}
