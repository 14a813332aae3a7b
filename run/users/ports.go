package users

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"plimsoll/load/wire"
	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// Shares of a port range that are reckoned with: ports of closed connections rest for a minute, and
// users who come and go leave many. On the loopback device addresses cost nothing, so half of each
// range stays free.
const (
	mostOfRange = 0.9
	halfOfRange = 0.5
)

// sources returns the source addresses for a number of connections to a target: none if one address
// is enough. Beyond it they are the plan's addresses; the loopback device needs no such list,
// because it has more than enough.
func sources(conns int, target netip.Addr, own []netip.Addr, l probe.Limits) ([]netip.Addr, error) {
	share := mostOfRange
	free := len(own) == 0 && target.Is4() && target.IsLoopback()
	if free {
		share = halfOfRange
	}
	each := int(share * float64(l.Ports()))
	if each < 1 {
		return nil, fmt.Errorf("the range of ports for outgoing connections, %d to %d, is empty",
			l.PortFirst, l.PortLast)
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
	return nil, plan.Usagef("%d connections to one address need %d source addresses: one has %d "+
		"ports (%d to %d), of which %d are reckoned with, and there are %d addresses. "+
		"Widen the range (sysctl -w net.ipv4.ip_local_port_range=\"1025 65000\"), or list %d "+
		"addresses of this host in placement.source (ip addr add ADDRESS/32 dev DEVICE adds one)",
		conns, need, l.Ports(), l.PortFirst, l.PortLast, each, max(1, len(own)), need)
}

// CheckSource returns an error for an address that is not of this host, from which no connection
// can go out.
func CheckSource(a netip.Addr) error {
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return fmt.Errorf(
			"%s is no address of this host (%w); add it (ip addr add %s/32 dev DEVICE), "+
				"or remove it from the plan",
			a,
			err,
			a,
		)
	}
	return ln.Close()
}

// dialer returns how users connect from these addresses, nil for the usual way.
func dialer(from []netip.Addr) func(context.Context, string, string) (net.Conn, error) {
	if len(from) == 0 {
		return nil
	}
	return wire.FromSources(from)
}

// FreePorts waits until the ports that earlier runs left in TIME_WAIT leave enough of the range for
// the connections of a run: until then the gate ports would void it. It waits for a minute at most,
// and not for ports of other hosts.
func (y Layout) FreePorts(ctx context.Context, gates []plan.Gate, conns int,
	progress Progress) error {
	if len(y.Members) > 0 {
		return nil
	}
	l, err := probe.ReadLimits()
	if err != nil {
		return err
	}
	amber := gates[slices.IndexFunc(gates,
		func(g plan.Gate) bool { return g.Name == "ports" })].Amber / 100
	most := amber*float64(l.Ports())*float64(max(1, len(y.Sources))) - float64(conns)
	return waitPorts(ctx, most, resting,
		func(left time.Duration) { progress.Doing("waiting for ports in TIME_WAIT", left) })
}

// timeWait is the time for which the kernel keeps the port of a closed connection.
const timeWait = time.Minute

// waitPorts waits until at most most sockets are in TIME_WAIT, for as long as the sockets of an
// earlier run can stay there. After that the sockets belong to others, and the gate ports judges
// them. It does not wait where most is not positive: the range is not known, or too small in any
// case.
func waitPorts(ctx context.Context, most float64, resting func() float64,
	waiting func(left time.Duration)) error {
	for left := timeWait; left > 0 && most > 0 && resting() > most; left -= time.Second {
		waiting(left)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return nil
}

// resting returns how many sockets of this host are in TIME_WAIT; 0 if that is not known.
func resting() float64 {
	text, _ := os.ReadFile("/proc/net/sockstat")
	_, text, _ = bytes.Cut(text, []byte(" tw "))
	var n float64
	_, _ = fmt.Sscan(string(text), &n)
	return n
}
