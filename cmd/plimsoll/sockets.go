package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"

	"plimsoll/engine"
	"plimsoll/probe"
	"plimsoll/wire"
	"plimsoll/workload"
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

// enoughFiles reports an error with its remedy when so many connections are more than this process may open.
func enoughFiles(users, conns int, l probe.Limits) error {
	need, have := conns+reserveFiles, l.Files-l.FilesOpen
	if need <= have {
		return nil
	}
	fit := 0
	if users > 0 && have > reserveFiles {
		fit = (have - reserveFiles) * users / conns
	}
	return usagef("%d users keep %d connections, which need %d open files with a reserve of %d; this process may open %d more (limit %d). "+
		"Raise it before starting (as root: ulimit -n %d; for a service: LimitNOFILE=%d; for good: \"* - nofile %d\" in /etc/security/limits.conf), or simulate at most %d users here",
		users, conns, need, reserveFiles, have, l.Files, l.FilesOpen+need, l.FilesOpen+need, l.FilesOpen+need, fit)
}

// sources returns the addresses from which so many connections go out to a target: none if one is enough. Beyond it
// they are the plan's; on the loopback device there are more than enough without asking.
func sources(conns int, target netip.Addr, own []netip.Addr, l probe.Limits) ([]netip.Addr, error) {
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
	return nil, usagef("%d connections to one address need %d source addresses: one has %d ports (%d to %d), of which %d are reckoned with, and there are %d addresses. "+
		"Widen the range (sysctl -w net.ipv4.ip_local_port_range=\"1025 65000\"), or list %d addresses of this host in placement.source (ip addr add ADDRESS/32 dev DEVICE adds one)",
		conns, need, l.Ports(), l.PortFirst, l.PortLast, each, max(1, len(own)), need)
}

// dialer returns how the users of a run connect to a target, nil for the usual way, after it has checked that this host
// can hold so many connections.
func (s *session) dialer(ctx context.Context, base string, mix []engine.Part, users int) (func(context.Context, string, string) (net.Conn, error), error) {
	conns := sockets(mix, users)
	l, err := probe.ReadLimits()
	if err != nil {
		return nil, err
	}
	if err := enoughFiles(users, conns, l); err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, text := range s.plan.Placement.Source {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, usagef("placement.source: %w", err)
		}
		if err := canBind(a); err != nil {
			return nil, usagef("placement.source: %s is no address of this host (%w); add it (ip addr add %s/32 dev DEVICE), or remove it from the plan", a, err, a)
		}
		own = append(own, a)
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("target's address: %w", err)
	}
	var target netip.Addr
	if addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()); err == nil && len(addrs) > 0 {
		target = addrs[0].Unmap()
	}
	from, err := sources(conns, target, own, l)
	if err != nil || len(from) == 0 {
		return nil, err
	}
	return wire.FromSources(from), nil
}

func canBind(a netip.Addr) error {
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return err
	}
	return ln.Close()
}
