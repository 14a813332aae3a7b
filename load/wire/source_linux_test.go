package wire

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIdleConnectionsAreNotProbed looks at the sockets of all ways to dial: none has TCP
// keep-alive.
func TestIdleConnectionsAreNotProbed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	own := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&dialer{addr: addr}).connect(ctx, within(ctx, time.Now(), time.Minute, nil))
		if err != nil {
			return nil, err
		}
		return conn.(*sock).Conn, nil
	}
	for name, dial := range map[string]func(ctx context.Context, network, addr string) (net.Conn, error){
		"Dial":            Dial,
		"without sources": FromSources(nil),
		"with sources":    FromSources([]netip.Addr{netip.MustParseAddr("127.0.0.1")}),
		"of a client":     own,
	} {
		conn, err := dial(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		raw, err := conn.(syscall.Conn).SyscallConn()
		must(t, err)
		var on int
		var serr error
		if err := raw.Control(func(fd uintptr) {
			on, serr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE)
		}); err != nil || serr != nil {
			t.Fatal(err, serr)
		}
		if on != 0 {
			t.Errorf("%s: the kernel probes the connection while it is idle", name)
		}
		conn.Close()
	}
}
