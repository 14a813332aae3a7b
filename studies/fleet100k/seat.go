package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// seatVerb makes this program the coordinator, in a network namespace that is new: it has no way to
// any network but that of the servers and agents, whose addresses are of 198.18.0.0/15.
const seatVerb = "seat"

// ending is how long the coordinator may take to end after a signal.
const ending = 3 * time.Minute

// isolate starts the coordinator in a network of its own, and waits for it.
func (s *task) isolate(ctx context.Context, args []string) error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name:        "coordinator",
		Path:        s.self,
		Args:        append([]string{seatVerb}, args...),
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		Unshare:     unix.CLONE_NEWNET,
		StopTimeout: ending,
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
		return p.Err()
	case <-ctx.Done():
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending+10*time.Second)
		defer cancel()
		return errors.Join(context.Cause(ctx), p.Stop(ctx))
	}
}

// alone makes sure that this program is in another network than the one that has started it, and
// begins that network.
func alone(ctx context.Context) error {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("looking at the network: %w", err)
	}
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	if err != nil || parent == own {
		return errors.Join(
			fmt.Errorf(
				"the verb %s is for this program's own use: it is in no network of its own",
				seatVerb,
			),
			err,
		)
	}
	var this *netns.Namespace
	return this.IP(ctx, "link", "set", "lo", "up")
}
