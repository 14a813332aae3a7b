package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

func TestFromSources(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on all of 127.0.0.0/8")
	}
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
	dial := FromSources([]netip.Addr{
		netip.MustParseAddr("127.0.0.2"),
		netip.MustParseAddr("127.0.0.3"),
		netip.MustParseAddr("127.0.0.4"),
	})
	for range 6 {
		c, err := NewClient(Config{URL: srv.URL, Dial: dial})
		must(t, err)
		if _, err := get(t, c); err != nil {
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
	must(t, err)
	defer ln.Close()
	foreign, ours := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")
	for range 2 { // each of them first once
		dial := FromSources([]netip.Addr{foreign, ours})
		conn, err := dial(context.Background(), "tcp", ln.Addr().String())
		must(t, err)
		conn.Close()
	}
	if _, err := FromSources([]netip.Addr{foreign})(context.Background(), "tcp", ln.Addr().String()); !errors.Is(
		err,
		syscall.EADDRNOTAVAIL,
	) {
		t.Errorf("got %v, want EADDRNOTAVAIL", err)
	}
}
