// Package app holds what all verbs of the program share: its streams behind the gate, its
// environment and secrets, the kinds of server it knows, and the reading of plans.
package app

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/boundary"
	"plimsoll/internal/built"
	"plimsoll/internal/plain"
	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/run/export"
	"plimsoll/run/session"
	"plimsoll/run/users"
)

// A Verb is the function of a verb. It defines its own flags and parses them, and returns
// [flag.ErrHelp] when help is asked for.
type Verb = func(ctx context.Context, a *App) error

// App holds the process's streams and environment for a verb, so that tests can replace them.
type App struct {
	Further        []session.Service // besides own.Chat
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(string) string
	Terminal       bool          // stderr is one
	Args           []string      // the whole command line, for starting this program again
	Flags          *flag.FlagSet // of the verb, whose name it has
	Given          []string      // what follows the verb's name
	Missing        error         // why the verbs of onLinux are not carried out here; nil on Linux
	// Secrets are the values that this process has learned and may not show; nil outside a verb.
	Secrets *plain.Secrets
	// RawOut and RawErr are Stdout and Stderr without the gate, while a verb runs: for programs of
	// ours that have one themselves, for data that is not text, and for the progress line. Nil
	// outside a verb.
	RawOut, RawErr io.Writer
	// Out is where series go besides the store; nil for verbs that carry out no run.
	Out       *export.Destinations
	Door      users.Door         // of the verb's runs
	Caught    *boundary.Panics   // panics; nil before run
	Stop      func(error)        // ends the verb; nil before run
	Console   bool               // the flag
	Clearance *session.Clearance // of the plan of the verb
}

// Gate puts the gate before stdout and stderr until open is called: output from any writer arrives
// without secrets and control characters.
func (a *App) Gate() (open func()) {
	if a.Secrets == nil {
		a.Secrets = new(plain.Secrets)
	}
	a.RawOut, a.RawErr = a.Stdout, a.Stderr
	out, errs := plain.NewLineWriter(a.Stdout, a.Secrets), plain.NewLineWriter(a.Stderr, a.Secrets)
	a.Stdout, a.Stderr = out, errs
	return func() {
		_, _ = out.Flush(), errs.Flush() // an error cannot be reported any more
		a.Stdout = a.RawOut
		a.Stderr = a.RawErr
		a.RawOut = nil
		a.RawErr = nil
	}
}

// Raw returns the streams without the gate.
func (a *App) Raw() (stdout, stderr io.Writer) {
	if a.RawOut == nil {
		return a.Stdout, a.Stderr
	}
	return a.RawOut, a.RawErr
}

// Secret returns an environment variable that holds a secret, and remembers it.
func (a *App) Secret(name string) string {
	v := a.Env(name)
	a.Secrets.Add(v)
	return v
}

// Program returns the parts of the process that the sessions of a verb use.
func (a *App) Program() *session.Program {
	out, errs := a.Raw()
	pr := &session.Program{
		Resolver: deploy.Resolver{
			Env: a.Env, Secrets: a.Secrets, Dialects: a.Dialects(), Drivers: a.Services().Drivers(),
		},
		Version: built.This().Version, Args: a.Args, Terminal: a.Terminal,
		Warn: a.Stderr, RawErr: errs, ChildOut: forChild(out), ChildErr: forChild(errs),
		Panics: a.Caught, Stop: a.Stop, Out: a.Out, Fleet: a.Door, Clearance: a.Clearance,
		Rated: mattermost.Dialect.Weighted, Null: mattermost.Refnull,
		Telemetry: a.Services().Telemetry(), AtSeal: a.Catalog().KeepGraphs,
	}
	if a.Console {
		pr.Console = ConsoleAddress
	}
	return pr
}

// Panicked reports a panic that no run has: on stderr, with its stack.
func (a *App) Panicked(p *boundary.Panic) { a.Caught.Report(a.Stderr, p) }

// NewProgress returns a progress line on standard error.
func (a *App) NewProgress() *audience.Reporter {
	_, w := a.Raw()
	return audience.NewReporter(w, a.Secrets, a.Terminal)
}

// Printf writes to standard output, and Tellf to standard error, as [plain.Fprintf] does; what
// cannot be written is not reported.
func (a *App) Printf(format string, args ...any) { plain.Fprintf(a.Stdout, format, args...) }

// Tellf is Printf to standard error.
func (a *App) Tellf(format string, args ...any) { plain.Fprintf(a.Stderr, format, args...) }

// JSON writes v to stdout, indented.
func (a *App) JSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	out, _ := a.Raw() // values keep characters that the gate would replace
	_, err := out.Write(a.Secrets.JSON(b.Bytes()))
	return err
}

// A childStream is a stream that child processes write to by another writer.
type childStream interface{ ForChild() io.Writer }

// forChild returns the writer of a child process.
func forChild(w io.Writer) io.Writer {
	if s, ok := w.(childStream); ok {
		return s.ForChild()
	}
	return w
}
