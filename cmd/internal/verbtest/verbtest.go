// Package verbtest carries verbs out in the process of a test. Signals, the streams of the process
// and the table of the verbs are package verbs'. Only tests import this package.
package verbtest

import (
	"bytes"
	"context"
	"flag"
	"io"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/boundary"
	"plimsoll/run/session"
)

// A Verb is the function of a verb.
type Verb = app.Verb

// Surroundings are what a verb finds around it. The zero value is an empty environment without
// input or terminal.
type Surroundings struct {
	Env      map[string]string
	Stdin    string
	Terminal bool      // stderr is one
	Stderr   io.Writer // what is written to stderr comes here too; nil for nowhere
}

// RunUntil carries a verb out, until ctx ends, and returns its exit status and output. The error
// that it ends with is the end of stderr, as the program prints it.
func (s Surroundings) RunUntil(
	ctx context.Context,
	verb Verb,
	args ...string,
) (status int, stdout, stderr string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var out, errs bytes.Buffer
	also := s.Stderr
	if also == nil {
		also = io.Discard
	}
	a := &app.App{
		Stdin:     strings.NewReader(s.Stdin),
		Stdout:    &out,
		Stderr:    io.MultiWriter(&errs, also),
		Env:       func(name string) string { return s.Env[name] },
		Terminal:  s.Terminal,
		Flags:     flag.NewFlagSet("verb", flag.ContinueOnError),
		Given:     args,
		Caught:    new(boundary.Panics),
		Stop:      cancel,
		Clearance: new(session.Clearance),
	}
	open := a.Gate()
	err := verb(ctx, a)
	if err != nil && !exit.Printed(err) {
		a.Tellf("%v\n", err)
	}
	open()
	return exit.Of(err), out.String(), errs.String()
}

// Run is [Surroundings.RunUntil] until the test ends.
func (s Surroundings) Run(
	tb testing.TB,
	verb Verb,
	args ...string,
) (status int, stdout, stderr string) {
	tb.Helper()
	return s.RunUntil(tb.Context(), verb, args...)
}

// Run is [Surroundings.Run] of the zero value.
func Run(tb testing.TB, verb Verb, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	return Surroundings{}.Run(tb, verb, args...)
}
