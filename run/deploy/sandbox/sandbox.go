package sandbox

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/plan"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/container"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
	"plimsoll/target/process"
)

// A Config describes the surroundings of one system.
type Config struct {
	Target     plan.Target
	Deployment *plan.Deployment // of the system's arm; nil for none
	Engine     string           // of its database; empty for none
	// Index is the number of the system among the systems that are up, which distinguishes their
	// networks.
	Index int
	// Pausable is true for systems that are up at once and stand still by turns.
	Pausable bool
	// BoundsMemory is true if the deployment of any arm limits memory. Each arm then has a limit,
	// so that arms differ in the numbers only.
	BoundsMemory bool
	// Generator and Targets are the cores of both sides; empty where they are not placed.
	Generator, Targets []int
}

// A Sandbox holds the surroundings of the programs of one system: the loopback device of this host
// without limits, unless its [Config] requests more. The nil Sandbox has none. The caller calls
// Close when the programs have ended.
type Sandbox struct {
	Config
	net       *netns.Network
	lan       *netns.LAN        // of a topology whose roles are hosts; then there is no net
	group     *cgroup.Group     // of all programs; nil: they are in no group that this program made
	parted    bool              // each role has a part of group, of which the CPU time is counted
	freezes   bool              // group freezes
	engine    *container.Podman // nil: no container
	described map[string]string
}

// New makes a sandbox. With an error nothing stays behind.
func New(ctx context.Context, conf Config) (_ *Sandbox, err error) {
	h := &Sandbox{Config: conf}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close(context.WithoutCancel(ctx)))
		}
	}()
	if conf.Target.Driver != plan.External { // which starts no programs
		if err := h.enclose(); err != nil {
			return nil, err
		}
	}
	if conf.Target.Topology.Apart() {
		if err := h.spread(ctx); err != nil {
			return nil, err
		}
	}
	d := conf.Deployment
	if d == nil {
		return h, nil
	}
	h.described = map[string]string{}
	if d.Limited() {
		if err := h.limit(); err != nil {
			return nil, fmt.Errorf("limiting the target: %w", err)
		}
	}
	if d.Network == "" {
		return h, nil
	}
	h.described["network"] = d.Network
	if d.Contained() {
		if h.engine, err = container.FindPodman(ctx); err != nil {
			return nil, err
		}
		h.described["engine"] = h.engine.Name()
	}
	sides := netns.Sides{Users: conf.Generator, Server: conf.Targets}
	h.net, err = netns.NewNetwork(ctx, conf.Index, d.Network == plan.NetworkBridge, sides)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Close removes the networks and the control group. It may be called again.
func (h *Sandbox) Close(ctx context.Context) error {
	if h == nil {
		return nil
	}
	var errs []error
	if h.net != nil {
		errs = append(errs, h.net.Close(ctx))
	}
	if h.lan != nil {
		errs = append(errs, h.lan.Close(ctx))
	}
	if h.group != nil {
		errs = append(errs, h.group.Remove())
	}
	return errors.Join(errs...)
}

// Sweep removes networks and control groups of killed programs of ours that their guards did not
// remove.
func Sweep(ctx context.Context) error {
	if _, err := netns.Sweep(ctx); err != nil {
		return err
	}
	_, err := cgroup.Sweep()
	return err
}

// Stores returns the side at which databases listen.
func (h *Sandbox) Stores() stores.Side {
	if h.lan != nil {
		return h.Side("db-0")
	}
	if h.net == nil {
		return stores.Side{}
	}
	path, addr := h.net.Stores()
	return stores.Side{NetNS: path, Addr: addr}
}

// URL returns the address at which users reach an instance, for a target.Spec; empty for the one
// at which it listens.
func (h *Sandbox) URL() string {
	if h.net == nil {
		return ""
	}
	return "http://" + h.net.Address() + ":${PORT}"
}

// Wired reports whether the target's packets go over separate network devices.
func (h *Sandbox) Wired() bool { return h != nil && (h.net != nil || h.lan != nil) }

// Placed returns the settings with which a driver starts each program. state is the directory of
// the system's files.
func (h *Sandbox) Placed(state string) process.Placed {
	p := process.Placed{Described: h.described}
	if h.freezes {
		p.Freezer = h.group
	}
	if h.group != nil {
		p.Started = h.join
	}
	if h.lan != nil {
		h.spreadOver(&p)
	}
	if h.net == nil {
		return p
	}
	p.Host = "0.0.0.0" // of its network namespace
	p.Start = func(ctx context.Context, in process.Instance,
		spec lab.Spec) (process.Process, error) {
		if err := h.net.Publish(ctx, in.Ports[0]); err != nil {
			return nil, err
		}
		spec.NetNS = h.net.Server().Path()
		if h.engine == nil {
			return start(ctx, spec)
		}
		box, err := h.engine.Start(ctx,
			container.Job{Spec: spec, Name: h.net.Server().Name(), State: state})
		if err != nil {
			return nil, err
		}
		return box, nil
	}
	return p
}

// start is [lab.Start] that returns no nil *lab.Process as a Process.
func start(ctx context.Context, spec lab.Spec) (process.Process, error) {
	p, err := lab.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return p, nil
}
