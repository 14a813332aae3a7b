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

// FromSources returns a dial function for Config.Dial and WSConfig.Dial that goes out from each of the addresses in
// turn. One address has one range of ports for each destination, so several carry several times as many connections.
// The port is chosen at connect, where the kernel may use one that is taken towards another destination
// (IP_BIND_ADDRESS_NO_PORT; see ip(7)). An address without a free port is passed over. The function is safe for
// concurrent use; with no addresses it is net.Dialer's.
func FromSources(addrs []netip.Addr) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if len(addrs) == 0 {
		return new(net.Dialer).DialContext
	}
	var next atomic.Uint64
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		first := next.Add(1) - 1
		for try := range addrs { // each once, even if others take addresses meanwhile
			from := addrs[(first+uint64(try))%uint64(len(addrs))]
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Control: latePort}
			conn, err := d.DialContext(ctx, network, addr)
			if err == nil {
				return conn, nil
			}
			if !errors.Is(err, syscall.EADDRNOTAVAIL) || try == len(addrs)-1 {
				if errors.Is(err, syscall.EADDRNOTAVAIL) {
					err = fmt.Errorf("%w: no free port, or no such address here, on any of %d source addresses", err, len(addrs))
				}
				return nil, err
			}
		}
		panic("unreachable") // the last try returns
	}
}
