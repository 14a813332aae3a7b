package rig

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
	"plimsoll/plan"
	"plimsoll/target/container"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/target/lab/netns"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
)

// quotaPeriod is in which time a CPU quota is meant: that of container engines.
const quotaPeriod = 100 * time.Millisecond

// turnPeriod is that of a target that takes turns, and turnQuota the least CPU time that it allows in one. The kernel
// fills quotas up in real time, also while a target is paused, so that each turn begins with a whole one. Of a quota q
// in a period T, a turn has q(1-q)T more than its share: with the usual period and q = 90 %, turns of 200 ms have 94.5 %.
const (
	turnPeriod = 10 * time.Millisecond
	turnQuota  = 2 * time.Millisecond
)

// periodOf returns the period of a quota of so many cores.
func periodOf(cores float64, turns bool) time.Duration {
	if !turns {
		return quotaPeriod
	}
	return min(max(turnPeriod, time.Duration(float64(turnQuota)/cores)), quotaPeriod)
}

// A placement is where and within which limits the programs of one system run, by its arm's deployment. The zero value
// is this host's loopback device, without limits. Close it when the programs have ended.
type placement struct {
	deployment *plan.Deployment // nil: this host's loopback device, without limits
	net        *netns.Network
	lan        *netns.LAN        // of a topology whose roles are hosts; then there is no net
	links      *plan.Topology    // of lan
	group      *cgroup.Group     // of all programs; nil: they are in no group of ours
	parted     bool              // each role has a part of group, of which the CPU time is counted
	freezes    bool              // group freezes
	engine     *container.Podman // nil: no container
	described  map[string]string
}

// A Side is where stores listen: the zero value is 127.0.0.1 in the network of this program.
type Side struct{ NetNS, Addr string }

// Host returns the address alone.
func (s Side) Host() string { return cmp.Or(s.Addr, "127.0.0.1") }

// place sets up the environment that an arm's deployment and the target's topology require. index is the number of the
// system among those that are up.
func (f *Deployments) place(ctx context.Context, t plan.Target, d *plan.Deployment, engine string, index int) (h *placement, err error) {
	h = &placement{deployment: d}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(context.WithoutCancel(ctx)))
		}
	}()
	if t.Driver != plan.External { // which starts no programs
		if err := h.enclose(f.pausable, index); err != nil {
			return h, err
		}
	}
	if t.Topology.Apart() {
		if err := h.spread(ctx, f, t, engine, index); err != nil {
			return h, err
		}
	}
	if d == nil {
		return h, nil
	}
	h.described = map[string]string{}
	if d.Limited() {
		if err := h.limit(f); err != nil {
			return h, fmt.Errorf("limiting the target: %w", err)
		}
	}
	if d.Network == "" {
		return h, nil
	}
	h.described["network"] = d.Network
	if d.Contained() {
		if h.engine, err = container.FindPodman(ctx); err != nil {
			return h, err
		}
		h.described["engine"] = h.engine.Name()
	}
	h.net, err = netns.NewNetwork(ctx, index, d.Network == plan.NetworkBridge, netns.Sides{Users: f.s.generator, Server: f.s.targets})
	return h, err
}

// enclose makes the control group, for limits, for pauses, and to count the CPU time of each role. Limits need it.
// Without it, signals pause and the process table counts; so it is not made where it would only count, and would
// change how the host shares the CPU, or take a container out of the group of its engine.
func (h *placement) enclose(pausable bool, index int) (err error) {
	limited := h.deployment.Limited()
	ofApp := limited && h.deployment.Of == plan.OfApp
	if !limited && (os.Geteuid() != 0 || !pausable && (!cgroup.Passive() || h.deployment.Contained())) {
		return nil
	}
	if !limited {
		_, _ = cgroup.Sweep() // a group that stays is not in the way of this one
	}
	if h.group, err = cgroup.Create(fmt.Sprintf("target-%d-%s", index, rand.Text()[:6])); err != nil {
		return err
	}
	// In one hierarchy, the statistics of a part are not those of a limit of the whole, which probes look for.
	if !h.group.OneHierarchy() || !limited || ofApp && pausable {
		h.parted = (pausable || cgroup.Passive()) && h.group.Account() == nil
	}
	if pausable && (!ofApp || h.parted) { // else what is frozen together would be limited together
		h.freezes = h.group.Freezable() == nil
	}
	if !limited && !h.freezes && !h.parted {
		err, h.group = h.group.Remove(), nil
	}
	return err
}

// part returns the group of a role's programs; nil: they are in none.
func (h *placement) part(role string) *cgroup.Group {
	if h.group != nil && h.parted {
		return h.group.Part(role)
	}
	return h.group
}

// cpu returns the reading of a role's CPU time; nil where its programs are in no group of their own.
func (h *placement) cpu(role string) func() (probe.CPUTime, error) {
	if h == nil || !h.parted {
		return nil
	}
	group := h.group.Part(role)
	return func() (probe.CPUTime, error) {
		t, err := group.CPUTime()
		return probe.CPUTime{Total: t.Total, User: t.User, System: t.System}, err
	}
}

// limit limits the control group. All arms have one if any has, and each limit in all if in any, so that they differ
// in the numbers only.
func (h *placement) limit(f *Deployments) error {
	d, group := h.deployment, h.group
	if d.Of == plan.OfApp {
		group = h.part("app")
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
		period := periodOf(d.CPUs*float64(cores), f.pausable)
		if err := group.CPU(d.CPUs*float64(cores), period); err != nil {
			return err
		}
		h.described["cpu quota"] = fmt.Sprintf("%.4g of %d cores, in each %v", d.CPUs*float64(cores), cores, period)
	}
	some := false
	for _, a := range f.s.Plan.Compare.Arms {
		some = some || a.Deployment.Limited() && a.Deployment.Memory > 0
	}
	if !some {
		return nil
	}
	if d.Memory > 0 {
		h.described["memory limit"] = d.Memory.String()
	}
	return group.Memory(int64(d.Memory))
}

// stores is where they listen.
func (h *placement) stores() Side {
	if h.lan != nil {
		return h.side("db-0")
	}
	if h.net == nil {
		return Side{}
	}
	path, addr := h.net.Stores()
	return Side{path, addr}
}

// placed returns the settings with which the driver starts each program.
func (h *placement) placed(state string) process.Placed {
	p := process.Placed{Described: h.described}
	if h.freezes {
		p.Freezer = h.group
	}
	if h.group != nil {
		// Without parts and freezing, the group is there for the limit alone.
		onlyApp := !h.parted && !h.freezes && h.deployment.Of == plan.OfApp
		p.Started = func(role string, pid int) error {
			if onlyApp && role != "app" {
				return nil
			}
			group := h.part(role)
			if h.parted {
				if err := group.Account(); err != nil {
					return err
				}
			}
			return group.Add(pid)
		}
	}
	if h.lan != nil {
		h.spreadOver(&p)
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
		if h.engine == nil {
			proc, err := lab.Start(ctx, spec)
			if err != nil {
				return nil, err // not a nil *lab.Process as a Process
			}
			return proc, nil
		}
		box, err := h.engine.Start(ctx, container.Job{Spec: spec, Name: h.net.Server().Name(), State: state})
		if err != nil {
			return nil, err
		}
		return box, nil
	}
	return p
}

// url is where an instance is reached, for a target.Spec; empty for the address that it listens on.
func (h *placement) url() string {
	if h.net == nil {
		return ""
	}
	return "http://" + h.net.Address() + ":${PORT}"
}

// close removes it. The programs must have ended. It may be called again.
func (h *placement) close(ctx context.Context) error {
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

// outsideEnv passes to a program in a network of its own the network of its parent.
const outsideEnv = "PLIMSOLL_OUTSIDE_NETWORK"

// CarriedError is the error of an invocation that another process of this program has carried out: its exit status. That
// process has printed the reason.
type CarriedError struct{ Status int }

// Error implements error.
func (c CarriedError) Error() string { return fmt.Sprintf("status %d", c.Status) }

// Isolate carries the whole invocation out again in a network of its own, if the plan's target has networks: the users,
// whose sockets are this program's, are then on one of these networks, and nothing in that of the host has to be
// changed. done reports that the other program did the work; err is then its exit status. The preflight of the plan
// comes first, with the store at root.
func (pr *Program) Isolate(ctx context.Context, p *plan.Plan, root string) (done bool, err error) {
	if err := pr.preflight(ctx, p, root); err != nil {
		return false, err
	}
	if p.Compare != nil && p.Compare.Limited() || p.Networked() {
		if err := sweepPlacements(ctx); err != nil {
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
		return true, CarriedError{exit.ExitCode()} // it has printed the reason
	default:
		return true, err
	}
}

// isolatedPatience is how long a program in its own network may take to end after a signal.
const isolatedPatience = time.Minute

// Networkable refuses settings that a plan with networks cannot have. housed are the drivers of which this program
// starts the stores too.
func Networkable(p *plan.Plan, housed []string) error {
	if p.Target.Topology.Apart() {
		return hostable(p)
	}
	switch {
	case !slices.Contains(housed, p.Target.Driver):
		return plan.Usagef("compare.arms: deployment.network needs a server whose stores are started too, so one of the drivers %s; %s takes cpus and memory",
			strings.Join(housed, ", "), p.Target.Driver)
	case len(p.Target.URL) > 0:
		return plan.Usagef("target.url: with deployment.network the address is made, too; remove it")
	}
	for i, probe := range p.Probes {
		if probe.Elsewhere() {
			return plan.Usagef("probes[%d]: with deployment.network the run is in a network of its own, which reaches no other host; remove it", i)
		}
	}
	if len(p.Metrics.Labels) > 0 {
		return plan.Usagef("metrics: with deployment.network the run is in a network of its own, which reaches no other host; remove it")
	}
	return nil
}

// sweepPlacements removes leftovers of killed programs that their guards did not remove.
func sweepPlacements(ctx context.Context) error {
	if _, err := netns.Sweep(ctx); err != nil {
		return err
	}
	_, err := cgroup.Sweep()
	return err
}
