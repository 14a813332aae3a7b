package audience

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/target/lab"
)

const (
	consoleBegins = 10 * time.Second
	consoleEnds   = 5 * time.Second
	// consoleNice is the priority of the console's process: it yields to the run.
	consoleNice = 10
)

// freeAddress returns the address at, or one that the kernel chooses when a program listens there
// already.
func freeAddress(at string) string {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return "127.0.0.1:0"
	}
	_ = l.Close()
	return at
}

// ShowConsole starts the verb serve over a store, at an address if that is free, and prints its
// address. hide ends it; it is never nil without an error.
func ShowConsole(ctx context.Context, root, at string, warn io.Writer) (hide func(), err error) {
	exe, err := lab.Executable()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	ctx = context.WithoutCancel(ctx) // it outlives an interruption of the run
	p, err := lab.Start(ctx, lab.Spec{
		Name:   "console",
		Path:   exe,
		Args:   []string{"serve", "-store=" + root, "-listen=" + freeAddress(at)},
		Stdout: childOut,
	})
	if err = errors.Join(err, childOut.Close()); err != nil {
		return nil, fmt.Errorf("-console: %w", err)
	}
	// without, it competes as others do
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, p.PID(), consoleNice)
	_ = out.SetReadDeadline(time.Now().Add(consoleBegins))
	line, _ := bufio.NewReader(out).ReadString('\n') // an error leaves it empty
	end := func() {
		ctx, cancel := context.WithTimeout(ctx, consoleEnds)
		defer cancel()
		_ = p.Stop(ctx) // nothing follows from how it ended
	}
	if line == "" {
		end()
		return nil, errors.New(
			"-console: " + strings.TrimPrefix(strings.TrimSpace(p.Tail()), "plimsoll "),
		)
	}
	plain.Fprintf(warn, "plimsoll: %s\n", strings.TrimSpace(line))
	return func() {
		end()
		plain.Fprintf(warn, "plimsoll: plimsoll serve -store %s shows it again\n", root)
	}, nil
}
