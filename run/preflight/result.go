package preflight

import (
	"io"

	"plimsoll/internal/plain"
	"plimsoll/plan"
)

// Tell writes the cautions, at their places in the source of the plan, and what was left out.
func (r Result) Tell(w io.Writer, source []byte) {
	for _, c := range plan.Located(source, r.Cautions).Problems {
		plain.Fprintf(w, "plimsoll: warning: %s\n", c)
	}
	for _, what := range r.Left {
		plain.Fprintf(w, "plimsoll: warning: not checked in time: %s\n", what)
	}
}

// Grounded returns the problems as bad usage, each at its place in the source of the plan, below a
// line of a format and its arguments.
func (r Result) Grounded(source []byte, format string, args ...any) error {
	return plan.UsageError{Err: plain.Below(plan.Located(source, r.Problems), format, args...)}
}
