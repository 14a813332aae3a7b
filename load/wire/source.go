package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// noKeepAlive keeps the kernel from probing idle connections. Go's default is a probe after 15 s
// without traffic, and Linux has the timers of such connections fire together, 256 ms' worth at a
// time: with 80,000 sockets these are more packets than a core's queue has room for
// (net.core.netdev_max_backlog), and others are lost with them, SYNs too. Whether a server is there
// is for the limits of operations to find, and for [WSConfig.Idle].
const noKeepAlive = -1

var plainDialer = net.Dialer{KeepAlive: noKeepAlive}

// Dial is [net.Dialer.DialContext] of connections that the kernel does not probe while they are
// idle (TCP keep-alive). It is safe for concurrent use.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return plainDialer.DialContext(ctx, network, addr)
}

// FromSources returns a dial function for Config.Dial and WSConfig.Dial that goes out from each of
// the addresses in turn. One address has one range of ports for each destination, so several carry
// several times as many connections. The port is chosen at connect, where the kernel may use one
// that is taken towards another destination (IP_BIND_ADDRESS_NO_PORT; see ip(7)). An address
// without a free port is passed over. The function is safe for concurrent use; with no addresses it
// is [Dial].
func FromSources(
	addrs []netip.Addr,
) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if len(addrs) == 0 {
		return Dial
	}
	var next atomic.Uint64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		first := next.Add(1) - 1
		for try := range addrs { // each once, even if others take addresses meanwhile
			from := addrs[(first+uint64(try))%uint64(len(addrs))]
			d := net.Dialer{
				KeepAlive: noKeepAlive,
				LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)),
				Control:   latePort,
			}
			conn, err := d.DialContext(ctx, network, addr)
			if err == nil {
				return conn, nil
			}
			if !errors.Is(err, syscall.EADDRNOTAVAIL) || try == len(addrs)-1 {
				if errors.Is(err, syscall.EADDRNOTAVAIL) {
					err = fmt.Errorf(
						"%w: no free port, or no such address here, on any of %d source addresses",
						err,
						len(addrs),
					)
				}
				return nil, err
			}
		}
		panic("unreachable") // the last try returns
	}
}
