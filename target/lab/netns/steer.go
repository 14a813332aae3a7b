package netns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/target/lab"
)

// steerScript writes the cores of a device's packets in a /sys of the namespace's own, since the
// one that is mounted shows the devices of another namespace.
const steerScript = `mount -t sysfs sysfs /sys && printf %s "$1" >"/sys/class/net/$0/queues/rx-0/rps_cpus"`

// Steer lets the kernel work on the packets that a device of the namespace receives on these cores
// (receive packet steering), as a host would that has only them. Without, packets over a wire are
// worked on where their sender runs. A nil namespace is the network of this program.
func (n *Namespace) Steer(ctx context.Context, device string, cpus []int) error {
	args := []string{"--mount", "/bin/sh", "-c", steerScript, device, mask(cpus)}
	if err := run(ctx, lab.Spec{Path: "unshare", Args: args, NetNS: n.Path()}); err != nil {
		return fmt.Errorf("steering the packets of %s to cores %v: %w", device, cpus, err)
	}
	return nil
}

// steer does so at both ends of the users' wire to the hub, if both sides have cores.
func (s Sides) steer(ctx context.Context, users *Namespace, device string, hub *Namespace) error {
	if len(s.Users) == 0 || len(s.Server) == 0 {
		return nil
	}
	return errors.Join(users.Steer(ctx, device, s.Users), hub.Steer(ctx, UsersLink, s.Server))
}

// mask is the kernel's notation of a set of cores: words of 32 bits, the highest first.
func mask(cpus []int) string {
	if len(cpus) == 0 {
		return "0"
	}
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, c := range cpus {
		words[len(words)-1-c/32] |= 1 << (c % 32)
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = fmt.Sprintf("%08x", w)
	}
	return strings.Join(text, ",")
}
