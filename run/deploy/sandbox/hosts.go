package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"plimsoll/plan"
	"plimsoll/run/deploy/stores"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// hostNames returns the instances of a topology. Each is a host.
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
func (h *Sandbox) spread(ctx context.Context) (err error) {
	names := hostNames(h.Target, h.Engine)
	h.lan, err = netns.NewLAN(ctx, netns.LANConfig{
		Index: h.Index,
		Hosts: names,
		Links: linksOf(h.Target.Topology, names),
		Sides: netns.Sides{Users: h.Generator, Server: h.Targets},
	})
	return err
}

// Side returns the side at which a program of an instance other than the servers listens.
func (h *Sandbox) Side(instance string) stores.Side {
	if h.lan == nil || h.lan.Host(instance) == nil {
		return stores.Side{}
	}
	return stores.Side{NetNS: h.lan.Host(instance).Path(), Addr: h.lan.Addr(instance)}
}

// spreadOver completes the settings of servers on separate hosts.
func (h *Sandbox) spreadOver(p *process.Placed) {
	for _, name := range h.lan.Hosts() {
		addr := h.lan.Addr(name)
		p.AllHosts = append(p.AllHosts, target.HostAddr{Name: name, Addr: addr})
		if roleOf(name) == "app" {
			p.Hosts = append(p.Hosts, addr)
		}
	}
	p.Links = h.Target.Topology.LinksText()
	p.Start = func(ctx context.Context, in process.Instance,
		spec lab.Spec) (process.Process, error) {
		spec.NetNS = h.lan.Host(fmt.Sprintf("app-%d", in.Index)).Path()
		return start(ctx, spec)
	}
}

// Stacks returns probes of the network counters of each host; none without hosts. The caller closes
// the returned probes, also after an error.
func (h *Sandbox) Stacks() (out []*probe.Stack, err error) {
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

// DialOf returns a dialer into the network of the program that deployed a target; nil if that is
// this program's. Its connections are refused when that program has ended: they never go out of
// this program's network instead.
func DialOf(s target.StateFile) target.Dial {
	if !s.Away() {
		return nil
	}
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		if _, err := netip.ParseAddrPort(addr); err != nil {
			return nil, fmt.Errorf("%s is a name, which would be looked up in another network "+
				"than the target's; want an address", addr)
		}
		gone := fmt.Errorf("the network of the target is gone with the program that made it, "+
			"process %d", s.Owner.PID)
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
