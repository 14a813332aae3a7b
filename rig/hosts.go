package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// hostNames returns the hosts of a topology, by the instance of each: the servers, and around them what it has.
func hostNames(t plan.Target, engine string) []string {
	var names []string
	for i := range t.Instances {
		names = append(names, fmt.Sprintf("app-%d", i))
	}
	if t.Proxied() {
		names = append(names, "proxy-0")
	}
	if engine != "" {
		names = append(names, "db-0")
		for i := range t.Topology.Replicas {
			names = append(names, fmt.Sprintf("replica-%d", i))
		}
	}
	return names
}

// roleOf returns the role of an instance.
func roleOf(instance string) string {
	role, _, _ := strings.Cut(instance, "-")
	return role
}

// linksOf returns the limits of the links of hosts, by instance.
func linksOf(t *plan.Topology, names []string) map[string]netns.Shaping {
	links := map[string]netns.Shaping{}
	of := func(name, role string) {
		if l := t.Link(role); l != (plan.LinkLimit{}) {
			links[name] = netns.Shaping{Delay: l.Delay, Rate: int64(l.Rate)}
		}
	}
	of(netns.UsersLink, "generator")
	for _, name := range names {
		of(name, roleOf(name))
	}
	return links
}

// spread makes the hosts of a topology, one for each role.
func (h *placement) spread(ctx context.Context, f *Deployments, t plan.Target, engine string, index int) (err error) {
	names := hostNames(t, engine)
	h.links = t.Topology
	h.lan, err = netns.NewLAN(ctx, netns.LANConfig{
		Index: index, Hosts: names, Links: linksOf(t.Topology, names), Sides: netns.Sides{Users: f.s.generator, Server: f.s.targets},
	})
	return err
}

// side is where a program of an instance other than the servers listens.
func (h *placement) side(instance string) Side {
	if h.lan == nil || h.lan.Host(instance) == nil {
		return Side{}
	}
	return Side{NetNS: h.lan.Host(instance).Path(), Addr: h.lan.Addr(instance)}
}

// spreadOver completes the settings of servers that are hosts of their own.
func (h *placement) spreadOver(p *process.Placed) {
	for _, name := range h.lan.Hosts() {
		p.AllHosts = append(p.AllHosts, target.HostAddr{Name: name, Addr: h.lan.Addr(name)})
		if roleOf(name) == "app" {
			p.Hosts = append(p.Hosts, h.lan.Addr(name))
		}
	}
	p.Links = h.links.LinksText()
	p.Start = func(ctx context.Context, in process.Instance, spec lab.Spec) (process.Process, error) {
		spec.NetNS = h.lan.Host(fmt.Sprintf("app-%d", in.Index)).Path()
		proc, err := lab.Start(ctx, spec)
		if err != nil {
			return nil, err // not a nil *lab.Process as a Process
		}
		return proc, nil
	}
}

// stacks opens the probes of the network of each host; none without hosts. The caller closes those that it gets, also
// with an error.
func (h *placement) stacks() (out []*probe.Stack, err error) {
	if h == nil || h.lan == nil {
		return nil, nil
	}
	for _, name := range h.lan.Hosts() {
		role := series.Label{Name: "role", Value: roleOf(name)}
		instance := series.Label{Name: "instance", Value: name}
		var s *probe.Stack
		err := h.lan.Host(name).Do(func() (err error) {
			s, err = probe.NewStack(role, instance)
			return err
		})
		if err != nil {
			return out, err
		}
		out = append(out, s)
	}
	return out, nil
}

// DialOf returns how to reach a target in the network of the program that deployed it; nil if that is this program's. Its
// connections are refused when that program has ended: they never go out of this program's network instead.
func DialOf(s target.StateFile) target.Dial {
	if !s.Away() {
		return nil
	}
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		if _, err := netip.ParseAddrPort(addr); err != nil {
			return nil, fmt.Errorf("%s is a name, which would be looked up in another network than the target's; want an address", addr)
		}
		gone := fmt.Errorf("the network of the target is gone with the program that made it, process %d", s.Owner.PID)
		err = netns.Of(s.Owner.PID).Do(func() error {
			if in, err := os.Readlink("/proc/thread-self/ns/net"); err != nil || in != s.Network {
				return gone // and another program has its number
			}
			conn, err = new(net.Dialer).DialContext(ctx, network, addr)
			return err
		})
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, gone
		case errors.Is(err, os.ErrPermission):
			return nil, fmt.Errorf("%w; run this command as root", err)
		}
		return conn, err
	}
}

// wired reports whether the target's packets go over wires of its own.
func (h *placement) wired() bool { return h != nil && (h.net != nil || h.lan != nil) }

// Unhostable returns why this program, on this host, cannot make the hosts of the plan's topology, with the remedy; nil
// if it can, and for every other plan. As root it tries the limits of links.
func Unhostable(ctx context.Context, p *plan.Plan) error {
	t := p.Target.Topology
	if !t.Apart() {
		return nil
	}
	if err := netns.Possible(); err != nil {
		return fmt.Errorf("target.topology.hosts: %w, or write hosts: %s", err, plan.HostsShared)
	}
	var links []netns.Shaping
	for _, l := range linksOf(t, hostNames(p.Target, strings.Join(p.Engines(), " "))) {
		links = append(links, l)
	}
	if err := netns.Linkable(ctx, links...); err != nil {
		return fmt.Errorf("target.topology.links: %w", err)
	}
	return nil
}

// hostable refuses settings that a plan whose topology has hosts cannot have.
func hostable(p *plan.Plan) error {
	const why = "with target.topology.hosts: netns the run is in a network of its own, which reaches no other host; remove it, or write hosts: shared"
	if i := slices.IndexFunc(p.Probes, plan.Probe.Elsewhere); i >= 0 {
		return plan.Usagef("probes[%d]: %s", i, why)
	}
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			if i := slices.IndexFunc(a.Probes, plan.Probe.Elsewhere); i >= 0 {
				return plan.Usagef("compare.arms.%s.probes[%d]: %s", a.Name, i, why)
			}
		}
	}
	if len(p.Metrics.Labels) > 0 {
		return plan.Usagef("metrics: %s", why)
	}
	return nil
}
