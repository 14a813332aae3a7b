package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestFromSources(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		mu.Lock()
		seen[host]++
		mu.Unlock()
		_, _ = io.WriteString(w, "ok")
	}))
	defer srv.Close()
	dial := FromSources([]netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3"), netip.MustParseAddr("127.0.0.4")})
	for range 6 {
		c, err := NewClient(Config{URL: srv.URL, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(t.Context(), &Request{Path: "/"}); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		if seen[want] != 2 {
			t.Errorf("%d connections from %s, want 2; all: %v", seen[want], want, seen)
		}
	}
}

// An address that is not ours is passed over; when none is, there is an error.
func TestFromSourcesNotOurs(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	foreign, ours := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")
	for range 2 { // each of them first once
		dial := FromSources([]netip.Addr{foreign, ours})
		conn, err := dial(context.Background(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if _, err := FromSources([]netip.Addr{foreign})(context.Background(), "tcp", ln.Addr().String()); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("got %v, want EADDRNOTAVAIL", err)
	}
}

// TestIdleConnectionsAreNotProbed looks at the sockets of all ways to dial: none has TCP keep-alive.
func TestIdleConnectionsAreNotProbed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	own := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&dialer{addr: addr}).connect(ctx, within(ctx, time.Now(), time.Minute, nil))
		if err != nil {
			return nil, err
		}
		return conn.(*sock).Conn, nil
	}
	for name, dial := range map[string]func(ctx context.Context, network, addr string) (net.Conn, error){
		"Dial": Dial, "without sources": FromSources(nil), "with sources": FromSources([]netip.Addr{netip.MustParseAddr("127.0.0.1")}), "of a client": own,
	} {
		conn, err := dial(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		raw, err := conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var on int
		var serr error
		if err := raw.Control(func(fd uintptr) { on, serr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE) }); err != nil || serr != nil {
			t.Fatal(err, serr)
		}
		if on != 0 {
			t.Errorf("%s: the kernel probes the connection while it is idle", name)
		}
		conn.Close()
	}
}
