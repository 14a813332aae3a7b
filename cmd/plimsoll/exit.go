package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"

	"plimsoll/plan"
	"plimsoll/record"
)

// Exit statuses. They are stable: scripts decide releases by them.
const (
	exitOK           = 0 // done; the verdict is same or better
	exitTool         = 1 // the tool failed: nothing follows about the target
	exitUsage        = 2 // bad flags, plan or input
	exitWorse        = 3 // the verdict is worse
	exitInconclusive = 4 // the verdict is inconclusive or indicative, or a search is unstable
	exitInvalid      = 5 // a run is not valid
	exitSLO          = 6 // a rule did not hold, or acknowledged messages are gone
)

// precedence orders the statuses: of several, the first in this list wins.
var precedence = []int{exitUsage, exitTool, exitWorse, exitInvalid, exitSLO, exitInconclusive, exitOK}

// worst returns the status that wins.
func worst(statuses ...int) int {
	for _, p := range precedence {
		if slices.Contains(statuses, p) {
			return p
		}
	}
	return exitOK
}

// usageError is an error of the person who called.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// statusError carries an exit status other than that of a failure; its text has been said already.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("status %d", int(s)) }

// statusOf returns the exit status of a verb that ended with err.
func statusOf(err error) int {
	var status statusError
	var usage usageError
	var bad *plan.Error
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), errors.As(err, &bad), errors.Is(err, record.ErrAltered), errors.Is(err, record.ErrWindows):
		return exitUsage
	}
	return exitTool
}
