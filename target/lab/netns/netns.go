// Package netns makes network namespaces and the wires between them: a network of several hosts on
// one, which leaves nothing behind and touches no device, address, route or rule of the host's own
// network.
//
// A [Namespace] is begun in by children through lab.Spec.NetNS. The guard of package lab removes it
// when the program is killed; its name begins with lab.Mark, so that [Sweep] in a later program
// finds those that the guard missed. Wires are veth pairs, made inside both namespaces and gone
// with either.
//
// A [Network] is the one that a server, its users and its stores are deployed in: with wires alone,
// or behind a bridge as containers are. A [LAN] is any number of hosts on one switch, whose links
// may have a delay and a rate.
//
// It uses iproute2's ip and tc, and nft for published ports, and needs root: see [Possible] and
// [Linkable].
//
// # Out of scope
//
// The programs in a namespace. Rules of packets other than those of a published port: callers run
// nft or sysctl by [Namespace.Run].
package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
	"plimsoll/target/lab"
)

// dir is the directory in which ip keeps the names.
const dir = "/run/netns"

// patience bounds one call of a program.
const patience = 10 * time.Second

// A Namespace is one network stack with a loopback device that is up. Make it with [Create], or
// find a process' namespace with [Of]. For [Wire] a nil one is the network of this program.
type Namespace struct {
	name string
	path string // when it has no name
	done func() // nothing is left for the guard
}

// Create makes a namespace whose name ends in role. The caller must call Delete.
func Create(ctx context.Context, role string) (*Namespace, error) {
	mark, err := lab.Mark()
	if err != nil {
		return nil, err
	}
	n := &Namespace{name: mark + "-" + role}
	if n.done, err = lab.UndoNetNS(n.name); err != nil {
		return nil, err
	}
	if err := ip(ctx, "netns", "add", n.name); err != nil {
		return nil, fmt.Errorf("making the network namespace %s: %w", role, err)
	}
	if err := ip(ctx, "-n", n.name, "link", "set", "lo", "up"); err != nil {
		return nil, errors.Join(
			fmt.Errorf("network namespace %s: %w", role, err),
			n.Delete(context.WithoutCancel(ctx)),
		)
	}
	return n, nil
}

// Of returns the namespace that a process is in. It cannot be deleted, and is good for
// [Namespace.Run], [Namespace.Output] and [Namespace.Dial] for as long as the process runs.
func Of(pid int) *Namespace { return &Namespace{path: fmt.Sprintf("/proc/%d/ns/net", pid)} }

// Path returns the path for lab.Spec.NetNS; empty for the network of this program.
func (n *Namespace) Path() string {
	if n == nil {
		return ""
	}
	if n.path != "" {
		return n.path
	}
	return filepath.Join(dir, n.name)
}

// Name returns the name in ip netns.
func (n *Namespace) Name() string { return n.name }

// Delete removes the name; the namespace itself ends with the last process in it. It is no error
// that the name is gone already.
func (n *Namespace) Delete(ctx context.Context) error {
	if err := ip(ctx, "netns", "del", n.name); err != nil {
		if _, there := os.Stat(n.Path()); !errors.Is(there, os.ErrNotExist) {
			return fmt.Errorf("removing a network namespace: %w", err)
		}
	}
	if n.done != nil {
		n.done()
	}
	return nil
}

// Run runs a short program in the namespace; stdin may be empty. The error of a failure quotes its
// output.
func (n *Namespace) Run(ctx context.Context, stdin, path string, args ...string) error {
	return run(ctx, lab.Spec{
		Path:  path,
		Args:  args,
		Stdin: strings.NewReader(stdin),
		NetNS: n.Path(),
	})
}

// Output runs a short program in the namespace and returns its standard output.
func (n *Namespace) Output(ctx context.Context, path string, args ...string) (string, error) {
	var out strings.Builder
	err := run(ctx, lab.Spec{Path: path, Args: args, Stdout: &out, NetNS: n.Path()})
	return out.String(), err
}

// Dial connects to a literal address from the namespace; the connection may be used anywhere. A
// name would be resolved elsewhere.
func (n *Namespace) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var conn net.Conn
	err := n.Do(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}

// Do calls f on a thread that is in the namespace, and returns its error. What f opens there stays
// of the namespace: sockets, and files of /proc/thread-self/net. The rest of the program, /proc/net
// too, stays where it is.
func (n *Namespace) Do(f func() error) error {
	done := make(chan error, 1)
	lab.OnThread(func() {
		fd, err := unix.Open(n.Path(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = linux.EnterNet(fd)
			_ = unix.Close(fd)
		}
		if err != nil {
			done <- fmt.Errorf("entering the network namespace %s: %w", n.Path(), err)
			return
		}
		done <- f()
	})
	return <-done
}

// Set sets a kernel setting of the namespace's own, such as net.core.somaxconn.
func (n *Namespace) Set(ctx context.Context, key, value string) error {
	path := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	if err := n.Run(ctx, value, "/bin/sh", "-c", `cat >"$0"`, path); err != nil {
		return fmt.Errorf("setting %s=%s: %w", key, value, err)
	}
	return nil
}

// An End is one end of a wire: a device of a namespace, and its address with the length of the
// prefix.
type End struct {
	In     *Namespace
	Device string // at most 15 bytes
	Addr   string // such as 198.18.1.1/24; empty for the port of a bridge
}

// Wire joins two namespaces by a veth pair, both ends up.
func Wire(ctx context.Context, a, b End) error {
	args := append([]string{"link", "add", a.Device}, a.In.where()...)
	args = append(append(args, "type", "veth", "peer", "name", b.Device), b.In.where()...)
	steps := [][]string{args}
	for _, e := range []End{a, b} {
		if e.Addr != "" {
			steps = append(steps, append(e.In.inside(), "addr", "add", e.Addr, "dev", e.Device))
		}
		steps = append(steps, append(e.In.inside(), "link", "set", e.Device, "up"))
	}
	for _, args := range steps {
		if err := ip(ctx, args...); err != nil {
			return fmt.Errorf("wire %s to %s: %w", a.Device, b.Device, err)
		}
	}
	return nil
}

// unplug removes a device, and with it the other end of its wire, before it returns: the kernel
// removes the devices of a deleted namespace some time later, when this one may have a new device
// of the name. It is no error that the device is gone already.
func (n *Namespace) unplug(ctx context.Context, device string) error {
	err := n.IP(ctx, "link", "del", device)
	if err != nil && strings.Contains(err.Error(), "Cannot find device") {
		return nil
	}
	if n != nil && err != nil {
		if _, there := os.Stat(n.Path()); errors.Is(there, os.ErrNotExist) {
			return nil
		}
	}
	return err
}

// where and inside are the words of ip for a device in the namespace, and for a command about it.
func (n *Namespace) where() []string {
	if n == nil {
		return nil
	}
	return []string{"netns", n.name}
}

func (n *Namespace) inside() []string {
	if n == nil {
		return nil
	}
	return []string{"-n", n.name}
}

// IP runs the program ip with these arguments for a namespace; nil is the network of this program.
func (n *Namespace) IP(ctx context.Context, args ...string) error {
	if err := ip(ctx, append(n.inside(), args...)...); err != nil {
		return fmt.Errorf("ip %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// Sweep removes the namespaces of programs that do not run any more, and returns their names.
func Sweep(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for network namespaces: %w", err)
	}
	var gone []string
	for _, e := range entries {
		if lab.Orphan(e.Name()) {
			if err := (&Namespace{name: e.Name()}).Delete(ctx); err != nil {
				return gone, err
			}
			gone = append(gone, e.Name())
		}
	}
	return gone, nil
}

func ip(ctx context.Context, args ...string) error {
	return run(ctx, lab.Spec{Path: "ip", Args: args})
}

// run runs a short program.
func run(ctx context.Context, spec lab.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return lab.Run(ctx, spec)
}
