package rig

import (
	"fmt"
	"slices"
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

// StatusError carries an exit status other than that of a failure. Its text is for tests: the message for people has
// been printed already.
type StatusError int

// Error implements error.
func (s StatusError) Error() string { return fmt.Sprintf("status %d", int(s)) }
