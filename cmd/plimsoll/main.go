// Command plimsoll loads a messaging server with simulated users, finds how many it supports, and says whether a
// release, a database or a deployment has changed that.
//
// This package is wiring: flags, environment, exit statuses, registries, and who meets whom. Run "plimsoll help" for
// the verbs and "plimsoll VERB -h" for the flags of one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"plimsoll/target/container"
)

func main() {
	container.Init()
	os.Exit(start(os.Args[1:]))
}

// start is main with an exit status: it turns the first interrupt into the end of the context, and the second into
// an end at once.
func start(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		s := <-signals
		fmt.Fprintf(os.Stderr, "plimsoll: %v: stopping users, servers and databases; once more to end at once\n", s)
		cancel(interrupted{s})
		<-signals
		os.Exit(exitTool)
	}()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv, terminal: isTerminal(os.Stderr)}
	return a.run(ctx, args)
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
	// out is where series go besides the store; nil for verbs that carry out no run.
	out *outward
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
