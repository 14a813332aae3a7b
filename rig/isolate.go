package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// outsideEnv passes to a program in a network of its own the network of its parent.
const outsideEnv = "PLIMSOLL_OUTSIDE_NETWORK"

// Isolate runs the whole invocation again in a network of its own if the plan's target has
// networks: the users, whose sockets are this program's, are then on one of these networks, and
// the host's network stays as it is. done reports that the other program did the work; err is then
// its exit status. The preflight of the plan comes first, with the store at root.
func (pr *Program) Isolate(ctx context.Context, p *plan.Plan, root string) (done bool, err error) {
	if err := pr.preflight(ctx, p, root); err != nil {
		return false, err
	}
	if p.Compare != nil && p.Compare.Limited() || p.Networked() {
		if err := sandbox.Sweep(ctx); err != nil {
			return false, err
		}
	}
	if !p.Networked() {
		return false, nil
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return false, fmt.Errorf("looking at the network: %w", err)
	}
	if outside := pr.Env(outsideEnv); outside != "" {
		// Never a device in the network of an unrelated process, even if the environment names it.
		parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
		if err != nil || parent != outside || own == outside {
			return false, plan.Usagef("%s is set, but this program is in no network of its own; remove it from the environment", outsideEnv)
		}
		var this *netns.Namespace
		return false, this.IP(ctx, "link", "set", "lo", "up")
	}
	exe, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("finding this program: %w", err)
	}
	proc, err := lab.Start(ctx, lab.Spec{
		Name: "plimsoll in its own network", Path: exe, Args: pr.Args, Env: append(os.Environ(), outsideEnv+"="+own),
		Stdin: strings.NewReader(p.String()), Stdout: pr.ChildOut, Stderr: pr.ChildErr, Unshare: linux.NewNet,
	})
	if err != nil {
		return true, err
	}
	select {
	case <-proc.Done():
	case <-ctx.Done():
		if err := proc.Signal(unix.SIGTERM); err != nil {
			return true, err
		}
		// It stops users, servers and databases, and seals the run.
		select {
		case <-proc.Done():
		case <-time.After(isolatedPatience):
			return true, errors.Join(fmt.Errorf("it did not end within %v", isolatedPatience), proc.Kill())
		}
	}
	var exit *exec.ExitError
	switch err := proc.Err(); {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return true, StatusError(exit.ExitCode()) // it has printed the reason
	default:
		return true, err
	}
}

// isolatedPatience is how long a program in its own network may take to end after a signal.
const isolatedPatience = time.Minute
