// Command plimsoll loads a messaging server with simulated users, finds how many it supports, and says whether a
// release, a database or a deployment has changed that.
//
// This package is wiring: flags, environment, exit statuses, registries, and who meets whom. Run "plimsoll help" for
// the verbs and "plimsoll VERB -h" for the flags of one.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"plimsoll/plain"
	"plimsoll/target/container"
)

func main() {
	container.Init()
	os.Exit(start(os.Args[1:]))
}

// start is main with an exit status: the first signal ends the context, so that runs are sealed as interrupted; the second interrupt or SIGTERM ends the
// program at once.
func start(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)
	stdout, stderr := newOutlet(os.Stdout, cancel), newOutlet(os.Stderr, cancel)
	go heed(signals, cancel, stderr, func() { os.Exit(exitTool) })
	a := &app{stdin: os.Stdin, stdout: stdout, stderr: stderr, env: os.Getenv, terminal: isTerminal(os.Stderr)}
	return a.run(ctx, args)
}

// endings are the signals that end a verb in order. A closed terminal sends SIGHUP; whoever began this program with it ignored, as nohup does, wants it to
// go on.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// heed ends a context by the first signal, and calls exit at the second of a person: SIGHUP comes twice when a terminal closes.
func heed(signals <-chan os.Signal, cancel context.CancelCauseFunc, stderr io.Writer, exit func()) {
	asked := 0
	for s := range signals {
		cancel(interrupted{s}) // the first cause stays
		if s != syscall.SIGHUP {
			asked++
		}
		if asked > 1 {
			exit()
			return
		}
		plain.Fprintf(stderr, "plimsoll: %v: stopping users, servers and databases; once more to end at once\n", s)
	}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.signal.String() }

// app holds what the process gives a verb, so that tests can give something else.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	terminal       bool     // stderr is one
	args           []string // the whole command line, for starting this program again
	// secrets are the values that this process has learned and may not show; nil outside a verb.
	secrets *plain.Secrets
	// rawOut and rawErr are stdout and stderr without the gate, while a verb runs: for programs of ours that have one themselves, for data that is
	// not text, and for the progress line. Nil outside a verb.
	rawOut, rawErr io.Writer
	// out is where series go besides the store; nil for verbs that carry out no run.
	out    *outward
	caught *caught // panics; nil before run
}

// gate puts the gate before stdout and stderr until open is called: whoever writes there, what arrives has no secret and no control character.
func (a *app) gate() (open func()) {
	if a.secrets == nil {
		a.secrets = new(plain.Secrets)
	}
	a.rawOut, a.rawErr = a.stdout, a.stderr
	out, errs := plain.NewWriter(a.stdout, a.secrets), plain.NewWriter(a.stderr, a.secrets)
	a.stdout, a.stderr = out, errs
	return func() {
		_, _ = out.Flush(), errs.Flush() // nobody is left to hear of it
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

func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

// version is the tool's version: what the build says of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
