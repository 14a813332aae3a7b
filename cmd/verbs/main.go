// Package verbs is the command line of plimsoll: the table of its verbs, its streams, signals and
// exit status. The verbs themselves are in the packages of cmd/internal.
//
// [Main] is the program, for the root package, whose Main programs of other modules call: one that
// hands it a [session.Service] is plimsoll with one more kind of server.
package verbs

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/linux"
	"plimsoll/internal/plain"
	"plimsoll/run/session"
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
	defer closeOutlets(stdout, stderr)
	go heed(signals, cancel, stderr, os.Exit)
	a := &app.App{
		Further:  further,
		Stdin:    os.Stdin,
		Stdout:   stdout,
		Stderr:   stderr,
		Env:      os.Getenv,
		Terminal: isTerminal(os.Stderr),
		Missing:  linux.Missing(),
	}
	return run(ctx, a, os.Args[1:])
}

// endings are the signals that end a verb in order. A closed terminal sends SIGHUP; a program that
// was started with it ignored, as by nohup, goes on.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// heed ends a context by the first signal, and calls end with a status at the second of a person:
// SIGHUP comes twice when a terminal closes.
func heed(
	signals <-chan os.Signal,
	cancel context.CancelCauseFunc,
	stderr io.Writer,
	end func(status int),
) {
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
		plain.Fprintf(
			stderr,
			"plimsoll: %s: stopping users, servers and databases; once more to end at once\n",
			unix.SignalName(s),
		)
	}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by " + unix.SignalName(i.signal) }

func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
