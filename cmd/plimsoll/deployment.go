package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/lab"
	"plimsoll/lab/cgroup"
	"plimsoll/lab/netns"
	"plimsoll/plan"
	"plimsoll/target/container"
	"plimsoll/target/process"
)

// quotaPeriod is in which time a CPU quota is meant: that of container engines.
const quotaPeriod = 100 * time.Millisecond

// A housing is where and within which limits the programs of one system run, as its arm's deployment says. The zero value is this
// host's loopback device, without limits. Close it when the programs have ended.
type housing struct {
	deployment *plan.Deployment
	net        *netns.Network
	group      *cgroup.Group
	engine     container.Engine
	described  map[string]string
}

// A side is where stores listen: the zero value is 127.0.0.1 in the network of this program.
type side struct{ netns, addr string }

func (s side) host() string { return cmp.Or(s.addr, "127.0.0.1") }

// house makes what an arm's deployment asks for. index is the number of the system among those that are up.
func (f *deployments) house(ctx context.Context, d *plan.Deployment, index int) (h *housing, err error) {
	h = &housing{deployment: d}
	if d == nil {
		return h, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(context.WithoutCancel(ctx)))
		}
	}()
	h.described = map[string]string{}
	if d.Limited() {
		if err := h.limit(f, index); err != nil {
			return h, fmt.Errorf("limiting the target: %w", err)
		}
	}
	if d.Network == "" {
		return h, nil
	}
	h.described["network"] = d.Network
	if d.Contained() {
		if h.engine, err = containerEngine(ctx, d.Engine); err != nil {
			return h, err
		}
		h.described["engine"] = h.engine.Name()
	}
	h.net, err = netns.NewNetwork(ctx, index, d.Network == plan.NetworkBridge, netns.Sides{Users: f.s.generator, Server: f.s.targets})
	return h, err
}

// containerEngine finds what runs containers.
func containerEngine(ctx context.Context, name string) (container.Engine, error) {
	if name == plan.EngineNamespaces {
		return container.Namespaces{}, nil
	}
	e, err := container.FindPodman(ctx)
	if err != nil && name == plan.EngineAuto {
		return container.Namespaces{}, nil
	}
	return e, err
}

// limit makes the control group. All arms have one if any has, and each limit in all if in any, so that they differ in the numbers only.
func (h *housing) limit(f *deployments, index int) (err error) {
	d := h.deployment
	if h.group, err = cgroup.Create(fmt.Sprintf("target-%d", index)); err != nil {
		return err
	}
	whose := map[string]string{plan.OfTarget: "server and stores together", plan.OfApp: "the server alone"}[d.Of]
	h.described["limits"] = whose
	if d.CPUs > 0 {
		cores := len(f.s.targets)
		if cores == 0 {
			own, err := lab.AllowedCPUs(0)
			if err != nil {
				return err
			}
			cores = len(own)
		}
		if err := h.group.CPU(d.CPUs*float64(cores), quotaPeriod); err != nil {
			return err
		}
		h.described["cpu quota"] = fmt.Sprintf("%.4g of %d cores, in each %v", d.CPUs*float64(cores), cores, quotaPeriod)
	}
	some := false
	for _, a := range f.s.plan.Compare.Arms {
		some = some || a.Deployment.Limited() && a.Deployment.Memory > 0
	}
	if !some {
		return nil
	}
	if d.Memory > 0 {
		h.described["memory limit"] = d.Memory.String()
	}
	return h.group.Memory(int64(d.Memory))
}

// stores is where they listen.
func (h *housing) stores() side {
	if h.net == nil {
		return side{}
	}
	path, addr := h.net.Stores()
	return side{path, addr}
}

// placed is what the driver does with each program.
func (h *housing) placed(state string) process.Placed {
	p := process.Placed{Described: h.described}
	if h.group != nil {
		p.Started = func(role string, pid int) error {
			if h.deployment.Of == plan.OfApp && role != "app" {
				return nil
			}
			return h.group.Add(pid)
		}
	}
	if h.net == nil {
		return p
	}
	p.Host = "0.0.0.0" // of its network namespace
	p.Start = func(ctx context.Context, in process.Instance, spec lab.Spec) (process.Process, error) {
		spec.NetNS = h.net.Server().Path()
		if err := h.net.Publish(ctx, in.Ports[0]); err != nil {
			return nil, err
		}
		if h.engine != nil {
			return h.engine.Start(ctx, container.Job{Spec: spec, Name: h.net.Server().Name(), State: state})
		}
		proc, err := lab.Start(ctx, spec)
		if err != nil {
			return nil, err // not a nil *lab.Process as a Process
		}
		return proc, nil
	}
	return p
}

// url is where an instance is reached, for a target.Spec; empty for where it usually is.
func (h *housing) url() string {
	if h.net == nil {
		return ""
	}
	return "http://" + h.net.Address() + ":${PORT}"
}

// close removes it. The programs must have ended. It may be called again.
func (h *housing) close(ctx context.Context) error {
	if h == nil {
		return nil
	}
	var errs []error
	if h.net != nil {
		errs = append(errs, h.net.Close(ctx))
	}
	if h.group != nil {
		errs = append(errs, h.group.Remove())
	}
	return errors.Join(errs...)
}

// housed are the drivers whose server and stores can be given a network: all of them are ours.
var housed = []string{"refchat", "refnull", feedDriver}

// outsideEnv tells a program that was started in a network of its own what its parent's is.
const outsideEnv = "PLIMSOLL_OUTSIDE_NETWORK"

// isolate carries the whole invocation out again in a network of its own, if the plan's arms have networks: the users, whose sockets are
// this program's, are then on one of these networks, and nothing in that of the host has to be changed. done says that this was
// that other program's work; err is then its exit status.
func (a *app) isolate(ctx context.Context, p *plan.Plan) (done bool, err error) {
	if p.Compare != nil && p.Compare.Limited() || p.Networked() {
		if os.Geteuid() != 0 {
			return false, usagef("compare.arms: deployments need control groups and network namespaces, and these root; run plimsoll as root, or remove deployment")
		}
		if err := sweepHousings(ctx); err != nil {
			return false, err
		}
	}
	if !p.Networked() {
		return false, nil
	}
	if err := networkable(p); err != nil {
		return false, err
	}
	if a.out != nil && (a.out.listen != "" || a.out.push != "") {
		return false, usagef("-serve, -remote-write: with deployment.network the run is in a network of its own, from which nobody else is reached; remove them, and use plimsoll serve afterwards")
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return false, fmt.Errorf("looking at the network: %w", err)
	}
	if outside := a.env(outsideEnv); outside != "" {
		// Never a device in somebody else's network, whatever the environment says.
		parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
		if err != nil || parent != outside || own == outside {
			return false, usagef("%s is set, but this program is in no network of its own; remove it from the environment", outsideEnv)
		}
		var this *netns.Namespace
		return false, this.IP(ctx, "link", "set", "lo", "up")
	}
	exe, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("finding this program: %w", err)
	}
	stdout, stderr := a.raw() // it has a gate of its own
	proc, err := lab.Start(ctx, lab.Spec{
		Name: "plimsoll in its own network", Path: exe, Args: a.args, Env: append(os.Environ(), outsideEnv+"="+own),
		Stdin: strings.NewReader(p.String()), Stdout: forChild(stdout), Stderr: forChild(stderr), Unshare: unix.CLONE_NEWNET,
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
		return true, statusError(exit.ExitCode()) // it has said why
	default:
		return true, err
	}
}

// isolatedPatience is how long a program in its own network may take to end when it is asked.
const isolatedPatience = time.Minute

// networkable refuses what a plan with networks cannot have.
func networkable(p *plan.Plan) error {
	known := false
	for _, d := range housed {
		known = known || p.Target.Driver == d
	}
	switch {
	case !known:
		return usagef("compare.arms: deployment.network needs a server whose stores are started too, so one of the drivers %s; %s takes cpus and memory",
			strings.Join(housed, ", "), p.Target.Driver)
	case p.Target.URL != "":
		return usagef("target.url: with deployment.network the address is made, too; remove it")
	}
	for i, probe := range p.Probes {
		if probe.URL != "" || probe.DSN != "" {
			return usagef("probes[%d]: with deployment.network the run is in a network of its own, from which nobody else is reached; remove it", i)
		}
	}
	return nil
}

// sweepHousings removes what killed programs left and their guards did not.
func sweepHousings(ctx context.Context) error {
	if _, err := netns.Sweep(ctx); err != nil {
		return err
	}
	_, err := cgroup.Sweep()
	return err
}
