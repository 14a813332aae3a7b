package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
	"plimsoll/plan"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// outsideEnv passes the network of its parent to a program in a new network.
const outsideEnv = "PLIMSOLL_OUTSIDE_NETWORK"

// isolatedPatience bounds the end of a program in its own network after a signal.
const isolatedPatience = time.Minute

// An Invocation describes this program's invocation, for starting it again.
type Invocation struct {
	Args           []string // its command line
	Env            func(string) string
	Stdin          string
	Stdout, Stderr io.Writer
}

// Inside reports whether [Isolate] has started the program with this environment.
func Inside(env func(string) string) bool { return env(outsideEnv) != "" }

// Isolate runs an invocation again in a new network, unless this program is already in one: the
// users, whose sockets are this program's, are then on the target's networks, and the host's
// network stays as it is. done reports that the other program did the work; status is then its exit
// status. Isolate ends the other program when ctx ends.
func Isolate(ctx context.Context, inv Invocation) (done bool, status int, err error) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return false, 0, fmt.Errorf("looking at the network: %w", err)
	}
	if outside := inv.Env(outsideEnv); outside != "" {
		return false, 0, enter(ctx, own, outside)
	}
	exe, err := os.Executable()
	if err != nil {
		return false, 0, fmt.Errorf("finding this program: %w", err)
	}
	proc, err := lab.Start(ctx, lab.Spec{
		Name:    "plimsoll in its own network",
		Path:    exe,
		Args:    inv.Args,
		Env:     append(os.Environ(), outsideEnv+"="+own),
		Stdin:   strings.NewReader(inv.Stdin),
		Stdout:  inv.Stdout,
		Stderr:  inv.Stderr,
		Unshare: linux.NewNet,
	})
	if err != nil {
		return true, 0, err
	}
	select {
	case <-proc.Done():
	case <-ctx.Done():
		if err := proc.Signal(unix.SIGTERM); err != nil {
			return true, 0, err
		}
		// It stops users, servers and databases, and seals the run.
		select {
		case <-proc.Done():
		case <-time.After(isolatedPatience):
			late := fmt.Errorf("it did not end within %v", isolatedPatience)
			return true, 0, errors.Join(late, proc.Kill())
		}
	}
	if exit, ok := errors.AsType[*exec.ExitError](proc.Err()); ok && exit.ExitCode() > 0 {
		return true, exit.ExitCode(), nil
	}
	return true, 0, proc.Err()
}

// enter prepares the network own that this program was started in. outside is the network of its
// parent by the environment. A network of an unrelated process is never touched, even if the
// environment names it.
func enter(ctx context.Context, own, outside string) error {
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	if err != nil || parent != outside || own == outside {
		return plan.Usagef("%s is set, but this program is in no network of its own; "+
			"remove it from the environment", outsideEnv)
	}
	var this *netns.Namespace
	return this.IP(ctx, "link", "set", "lo", "up")
}
