package verbs

import (
	"errors"
	"flag"

	"plimsoll/internal/built"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/rig"
)

// statusOf returns the exit status of a verb that ended with err.
func statusOf(err error) int {
	var status rig.StatusError
	var usage plan.UsageError
	var bad *plan.Error
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return rig.ExitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &usage), errors.As(err, &bad), errors.Is(err, record.ErrAltered), errors.Is(err, record.ErrWindows), errors.Is(err, built.ErrNewer):
		return rig.ExitUsage
	}
	return rig.ExitTool
}
