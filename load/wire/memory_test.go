//go:build linux

package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"plimsoll/internal/race"
)

// bareServer answers the first request of every connection, with "ok" or a WebSocket handshake and
// a message, and then leaves the connection alone; with more, it answers everything that comes on
// the first connection. It is made of bare file descriptors and allocates nothing once it has
// answered, so that growth of the heap and the stacks is the client's.
func bareServer(t testing.TB, more bool) (host string) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, 128)
	}
	must(t, err)
	sa, err := syscall.Getsockname(fd)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var fds []int
		defer func() {
			for _, c := range fds {
				syscall.Close(c)
			}
		}()
		buf := make([]byte, 4096)
		for {
			c, _, err := syscall.Accept(fd)
			if err != nil {
				return
			}
			fds = append(fds, c)
			n, err := syscall.Read(c, buf)
			if err != nil || n == 0 {
				continue
			}
			req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(buf[:n])))
			if err != nil {
				continue
			}
			next := []byte(
				"HTTP/1.1 200 OK\r\nServer: bare\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok",
			)
			answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			if req.Header.Get("Sec-WebSocket-Key") != "" {
				answer = switched(req) + "\x81\x02hi"
				next = []byte("\x81\x02ho")
			}
			syscall.Write(c, []byte(answer))
			for more {
				if n, err := syscall.Read(c, buf); err != nil || n == 0 {
					break
				}
				syscall.Write(c, next)
			}
		}
	}()
	t.Cleanup(func() { syscall.Shutdown(fd, syscall.SHUT_RDWR); <-done; syscall.Close(fd) })
	return fmt.Sprintf("127.0.0.1:%d", sa.(*syscall.SockaddrInet4).Port)
}

// settled returns the bytes that heap and stacks hold after a collection.
func settled() int64 {
	var m runtime.MemStats
	for range 4 { // stacks shrink by half at a time
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// idleCost returns the bytes per idle user of one kind, connection and parked goroutine included.
func idleCost(
	t testing.TB,
	n int,
	sit func(host string, sitting chan<- bool, stand <-chan bool),
) float64 {
	host := bareServer(t, false)
	stand := make(chan bool)
	sitting := make(chan bool)
	finished := make(chan bool)
	start := func(n int) {
		for range n {
			go func() { sit(host, sitting, stand); finished <- true }()
			<-sitting
		}
	}
	start(10) // allocations that happen once
	before := settled()
	start(n)
	cost := float64(settled()-before) / float64(n)
	close(stand)
	for range n + 10 {
		<-finished
	}
	return cost
}

func sitHTTP(t testing.TB) func(host string, sitting chan<- bool, stand <-chan bool) {
	return func(host string, sitting chan<- bool, stand <-chan bool) {
		c, err := NewClient(Config{URL: "http://" + host})
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := c.Do(context.Background(), &Request{
			Path:  "/",
			Token: "t",
		}); err != nil || resp.Status != 200 {
			t.Error(err)
		}
		c.Release()
		sitting <- true
		<-stand
		c.Close()
	}
}

func sitWS(t testing.TB) func(host string, sitting chan<- bool, stand <-chan bool) {
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	return func(host string, sitting chan<- bool, stand <-chan bool) {
		w, err := DialWS(ctx, WSConfig{URL: "ws://" + host})
		if err != nil {
			t.Error(err)
			return
		}
		if _, data, _, err := w.Read(ctx); err != nil || string(data) != "hi" {
			t.Error(err)
		}
		once.Do(func() { go func() { <-stand; cancel() }() })
		sitting <- true
		w.Read(ctx)
		w.Close(CloseNormal, "")
	}
}

func TestIdleMemory(t *testing.T) {
	race.SkipBudget(t)
	for _, tt := range []struct {
		name   string
		sit    func(string, chan<- bool, <-chan bool)
		budget float64 // bytes
	}{
		{"HTTP", sitHTTP(t), 6 << 10},
		{"WebSocket", sitWS(t), 5.25 * 1024},
	} {
		got := idleCost(t, 500, tt.sit)
		t.Logf("%s: %.2f KiB", tt.name, got/1024)
		if got > tt.budget {
			t.Errorf(
				"an idle %s user costs %.2f KiB, budget %.2f",
				tt.name,
				got/1024,
				tt.budget/1024,
			)
		}
	}
}

// Nothing is allocated in the steady state, over real sockets, with and without a check of the idle
// connection first.
func TestSteadyAllocations(t *testing.T) {
	race.SkipBudget(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := []byte(`{"message":"hello"}`)
	for _, req := range []*Request{
		{Path: "/api/v4/users/me", Token: "t"},
		{
			Method:      "POST",
			Path:        "/api/v4/posts",
			Token:       "t",
			ContentType: "application/json",
			Body:        body,
			Header:      []Field{{"X-Requested-With", "x"}},
		},
		{Path: "/", SkipBody: true},
	} {
		c := newClient(t, Config{URL: "http://" + bareServer(t, true), UserAgent: "x"})
		do := func() {
			resp, err := c.Do(ctx, req)
			if err != nil || resp.Status != 200 || resp.BodyBytes != 2 {
				t.Fatalf("%+v, %v", resp, err)
			}
		}
		if n := testing.AllocsPerRun(500, do); n > 0 {
			t.Errorf("%s: Do allocates %.2f times, budget 0", req.Path, n)
		}
		if n := testing.AllocsPerRun(500, func() {
			c.Release()
			c.since = c.since.Add(-idleCheck)
			do()
		}); n > 0 {
			t.Errorf("%s: Do after a pause allocates %.2f times, budget 0", req.Path, n)
		}
		if c.resp.Dialed {
			t.Error("the connection was not kept")
		}
	}
	w := mustDialWS(t, WSConfig{URL: "ws://" + bareServer(t, true)})
	w.Read(ctx)
	if n := testing.AllocsPerRun(500, func() {
		must(t, w.WriteText(body))
		if _, data, _, err := w.Read(ctx); err != nil || string(data) != "ho" {
			t.Fatalf("%q, %v", data, err)
		}
	}); n > 0 {
		t.Errorf("writing and reading a message allocates %.2f times, budget 0", n)
	}
}

func BenchmarkDoTCP(b *testing.B) {
	c := newClient(b, Config{URL: "http://" + bareServer(b, true), UserAgent: "x"})
	req := &Request{Path: "/api/v4/users/me", Token: "t"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
