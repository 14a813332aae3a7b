package rig

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"

	"plimsoll/load/engine"
	"plimsoll/load/fleet/join"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// Shares of a port range that are reckoned with: ports of closed connections rest for a minute, and users who come and
// go leave many. On the loopback device addresses cost nothing, so half of each range stays free.
const (
	mostOfRange = 0.9
	halfOfRange = 0.5
)

// sockets returns how many connections n users of a mix keep.
func sockets(mix []engine.Part, n int) int {
	sum := 0
	for _, part := range mix {
		each := 1
		if c, ok := part.Behavior.(workload.Connected); ok {
			each = c.Sockets()
		}
		sum += int(math.Ceil(part.Share*float64(n))) * each
	}
	return sum
}

// processes returns how many processes it takes to hold so many connections when each may have the limit of open files
// that this one has, or an error with its remedy.
func processes(users, conns int, l probe.Limits) (int, error) {
	room := l.Files - probe.ReservedFiles
	if here := l.Files - l.FilesOpen - probe.ReservedFiles; conns <= here {
		return 1, nil
	}
	n := plan.MostProcesses + 1
	if room > 0 {
		n = (conns + room - 1) / room
		if n == 1 {
			n = 2 // this one has files open that a new one does not have, and one agent alone would gain too little
		}
	}
	if n <= plan.MostProcesses {
		return n, nil
	}
	fit := max(0, room) * plan.MostProcesses * users / max(conns, 1)
	each := (conns+plan.MostProcesses-1)/plan.MostProcesses + probe.ReservedFiles
	return 0, plan.Usagef("%d users keep %d connections, more than %d processes with %d open files each can hold beside a reserve of %d. "+
		"Raise the limit before starting (as root: ulimit -n %d; for a service: LimitNOFILE=%d; for good: \"* - nofile %d\" in /etc/security/limits.conf), or simulate at most %d users here",
		users, conns, plan.MostProcesses, l.Files, probe.ReservedFiles, each, each, each, fit)
}

// sourceAddresses returns the addresses from which so many connections go out to a target: none if one is enough. Beyond it
// they are the plan's; on the loopback device there are more than enough without asking.
func sourceAddresses(conns int, target netip.Addr, own []netip.Addr, l probe.Limits) ([]netip.Addr, error) {
	share := mostOfRange
	free := len(own) == 0 && target.Is4() && target.IsLoopback()
	if free {
		share = halfOfRange
	}
	each := int(share * float64(l.Ports()))
	if each < 1 {
		return nil, fmt.Errorf("the range of ports for outgoing connections, %d to %d, is empty", l.PortFirst, l.PortLast)
	}
	need := (conns + each - 1) / each
	switch {
	case len(own) > 0 && need <= len(own):
		return own, nil
	case len(own) == 0 && need <= 1:
		return nil, nil
	case free:
		var out []netip.Addr
		for at := netip.AddrFrom4([4]byte{127, 0, 0, 2}); len(out) < need; at = at.Next() {
			out = append(out, at)
		}
		return out, nil
	}
	return nil, plan.Usagef("%d connections to one address need %d source addresses: one has %d ports (%d to %d), of which %d are reckoned with, and there are %d addresses. "+
		"Widen the range (sysctl -w net.ipv4.ip_local_port_range=\"1025 65000\"), or list %d addresses of this host in placement.source (ip addr add ADDRESS/32 dev DEVICE adds one)",
		conns, need, l.Ports(), l.PortFirst, l.PortLast, each, max(1, len(own)), need)
}

// A layout is how the users of a run are divided on this host.
type layout struct {
	users     int // at most
	processes int
	members   []join.Member // the agents on other hosts, in the order of their numbers
	ratings   []int         // of their hosts, in whose proportion the users are divided; nil: equally
	from      []netip.Addr  // source addresses of the connections; none for the usual one
}

// layout checks that this host can hold the connections of so many users to a target, and returns
// their division.
func (s *Session) layout(ctx context.Context, base string, mix []engine.Part, users int) (y layout, err error) {
	conns := sockets(mix, users)
	y.users = users
	if s.fleet != nil {
		if y.members, err = s.await(ctx); err != nil {
			return y, err
		}
		if y.ratings, err = s.ratings(y.members); err != nil {
			return y, err
		}
		each, err := s.split(y.members, y.ratings, users, conns)
		y.processes = each * len(y.members)
		return y, err
	}
	l, err := probe.ReadLimits()
	if err != nil {
		return y, err
	}
	if y.processes, err = processes(users, conns, l); err != nil {
		return y, err
	}
	y.processes = max(y.processes, s.Plan.Placement.Processes)
	var own []netip.Addr
	for _, text := range s.Plan.Placement.Source {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return y, plan.Usagef("placement.source: %w", err)
		}
		if err := sourceHere(a); err != nil {
			return y, plan.Usagef("placement.source: %w", err)
		}
		own = append(own, a)
	}
	u, err := url.Parse(base)
	if err != nil {
		return y, fmt.Errorf("target's address: %w", err)
	}
	var target netip.Addr
	if addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()); err == nil && len(addrs) > 0 {
		target = addrs[0].Unmap()
	}
	y.from, err = sourceAddresses(conns, target, own, l)
	return y, err
}

// dialer returns how users connect from these addresses, nil for the usual way.
func dialer(from []netip.Addr) func(context.Context, string, string) (net.Conn, error) {
	if len(from) == 0 {
		return nil
	}
	return wire.FromSources(from)
}

func canBind(a netip.Addr) error {
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return err
	}
	return ln.Close()
}
