// Package verbs is the command line of plimsoll: its verbs, their flags, the environment and the exit
// status. It only wires.
//
// [Main] is the program. A program of another module that calls it with a [session.Service] is plimsoll
// with one more kind of server.
package verbs

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/own"
	"plimsoll/dialect/mattermost"
	"plimsoll/internal/boundary"
	"plimsoll/internal/linux"
	"plimsoll/internal/plain"
	"plimsoll/run/deploy"
	"plimsoll/run/export"
	"plimsoll/run/session"
	"plimsoll/run/users"
)

// Main is the program plimsoll with further services, and returns its exit status. It reads the
// arguments of the process and uses its streams and environment. The first signal ends the verb in
// order: runs are sealed as interrupted; the second interrupt or SIGTERM ends the process at once.
// Nothing may run before Main: a process that the program has started in namespaces of its own
// becomes another program there.
func Main(further ...session.Service) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)
	stdout, stderr := newOutlet(os.Stdout, cancel), newOutlet(os.Stderr, cancel)
	go heed(signals, cancel, stderr, os.Exit)
	a := &app{further: further, stdin: os.Stdin, stdout: stdout, stderr: stderr, env: os.Getenv, terminal: isTerminal(os.Stderr),
		missing: linux.Missing()}
	return a.run(ctx, os.Args[1:])
}

// endings are the signals that end a verb in order. A closed terminal sends SIGHUP; a program that was started with
// it ignored, as by nohup, goes on.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// heed ends a context by the first signal, and calls end with a status at the second of a person: SIGHUP comes twice
// when a terminal closes.
func heed(signals <-chan os.Signal, cancel context.CancelCauseFunc, stderr io.Writer, end func(status int)) {
	asked := 0
	for received := range signals {
		s, ok := received.(syscall.Signal)
		if !ok {
			continue // of another system
		}
		cancel(interrupted{s}) // the first cause stays
		if s != syscall.SIGHUP {
			asked++
		}
		if asked > 1 {
			end(exit.OfSignal(s))
			return
		}
		plain.Fprintf(stderr, "plimsoll: %s: stopping users, servers and databases; once more to end at once\n", unix.SignalName(s))
	}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by " + unix.SignalName(i.signal) }

// app holds the process's streams and environment for a verb, so that tests can replace them.
type app struct {
	further        []session.Service // besides own.Chat
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	terminal       bool     // stderr is one
	args           []string // the whole command line, for starting this program again
	missing        error    // why this system does not carry out the verbs of onLinux; nil on Linux
	// secrets are the values that this process has learned and may not show; nil outside a verb.
	secrets *plain.Secrets
	// rawOut and rawErr are stdout and stderr without the gate, while a verb runs: for programs of ours that have one
	// themselves, for data that is not text, and for the progress line. Nil outside a verb.
	rawOut, rawErr io.Writer
	// out is where series go besides the store; nil for verbs that carry out no run.
	out       *export.Destinations
	door      users.Door         // of the verb's runs
	caught    *boundary.Panics   // panics; nil before run
	stop      func(error)        // ends the verb; nil before run
	console   bool               // the flag
	clearance *session.Clearance // of the plan of the verb
}

// gate puts the gate before stdout and stderr until open is called: output from any writer arrives without secrets
// and control characters.
func (a *app) gate() (open func()) {
	if a.secrets == nil {
		a.secrets = new(plain.Secrets)
	}
	a.rawOut, a.rawErr = a.stdout, a.stderr
	out, errs := plain.NewLineWriter(a.stdout, a.secrets), plain.NewLineWriter(a.stderr, a.secrets)
	a.stdout, a.stderr = out, errs
	return func() {
		_, _ = out.Flush(), errs.Flush() // an error cannot be reported any more
		a.stdout, a.stderr, a.rawOut, a.rawErr = a.rawOut, a.rawErr, nil, nil
	}
}

// raw returns the streams without the gate.
func (a *app) raw() (stdout, stderr io.Writer) {
	if a.rawOut == nil {
		return a.stdout, a.stderr
	}
	return a.rawOut, a.rawErr
}

// secret returns an environment variable that holds a secret, and remembers it.
func (a *app) secret(name string) string {
	v := a.env(name)
	a.secrets.Add(v)
	return v
}

// program returns the parts of the process that the sessions of a verb use.
func (a *app) program() *session.Program {
	out, errs := a.raw()
	pr := &session.Program{
		Resolver: deploy.Resolver{
			Env: a.env, Secrets: a.secrets, Dialects: a.dialects(), Drivers: a.services().Drivers(),
		},
		Version: own.Version(), Args: a.args, Terminal: a.terminal,
		Warn: a.stderr, RawErr: errs, ChildOut: forChild(out), ChildErr: forChild(errs),
		Panics: a.caught, Stop: a.stop, Out: a.out, Fleet: a.door, Clearance: a.clearance,
		Rated: mattermost.Dialect.Weighted, Null: mattermost.Refnull,
		Telemetry: a.services().Telemetry(), AtSeal: a.catalog().KeepGraphs,
	}
	if a.console {
		pr.Console = consoleAddress
	}
	return pr
}

func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
