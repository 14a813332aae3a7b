package wire

import (
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// lateBy makes the next read of s happen only after its bytes have been there for d, and returns
// where the moment at which they were seen is put.
func lateBy(s *sock, d time.Duration) *time.Time {
	seen := new(time.Time)
	step := s.run
	s.run = func(fd uintptr) bool {
		if s.out != nil && !s.push(fd) {
			return true
		}
		if s.peek(fd); s.alive {
			return false
		}
		if seen.IsZero() {
			*seen = time.Now()
			time.Sleep(d)
		}
		return step(fd)
	}
	return seen
}

func needStamps(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		const why = "no kernel stamps are asked for on this platform"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	// The kernel begins to stamp some time after the first socket asked for it, and goes on as long
	// as there is one.
	srv := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(srv.Close)
	c := newClient(t, Config{URL: srv.URL})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		resp, err := get(t, c)
		must(t, err)
		if resp.Kernel {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the kernel does not stamp")
		}
	}
}

// A response that this process reads late keeps its time of arrival, under TLS too.
func TestKernelArrival(t *testing.T) {
	needStamps(t)
	overAll(t, handler, func(t *testing.T, _ *httptest.Server, c *Client) {
		if c.o.http2 {
			return // its transport reads in a goroutine of its own
		}
		req := &Request{Path: "/?mode=length&n=10"}
		if _, err := c.Do(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		before := Stamps()
		seen := lateBy(sockOf(c.conn), 30*time.Millisecond)
		resp, err := c.Do(t.Context(), req)
		must(t, err)
		if resp.Read.Sub(*seen) < 30*time.Millisecond {
			t.Fatal("the read was not late")
		}
		got := Stamps().Sub(before)
		if !resp.Kernel || resp.Done.After(seen.Add(stepLimit)) || resp.Done.Before(resp.Sent) ||
			resp.FirstByte.After(resp.Done) ||
			got != (Clocks{
				Kernel:   1,
				Requests: 1,
			}) {
			t.Errorf("sent 0, done %v, seen %v, read %v, kernel %v, counted %+v",
				resp.Done.Sub(resp.Sent), seen.Sub(resp.Sent), resp.Read.Sub(resp.Sent),
				resp.Kernel, got)
		}
	})
}

// Every response of a quick run has a stamp, and it lies between the sending and the read. With
// HTTP/2 the instants are those of the frames, whenever the transport gets round to them.
func TestKernelArrivalAlways(t *testing.T) {
	needStamps(t)
	overAll(t, handler, func(t *testing.T, _ *httptest.Server, c *Client) {
		for _, query := range []string{"length&n=0", "length&n=10", "length&n=3000",
			"chunked&n=100000", "trailer&n=100000", "length&n=1000000", "gzip&n=50000",
			"early&n=10"} {
			for _, skip := range []bool{false, true} {
				for range 20 {
					resp, err := c.Do(t.Context(), &Request{Path: "/?mode=" + query,
						SkipBody: skip})
					must(t, err)
					if resp.Dialed { // the kernel may begin to stamp a moment after the request
						time.Sleep(10 * time.Millisecond)
						continue
					}
					if !resp.Kernel || resp.FirstByte.Before(resp.Sent) ||
						resp.Done.Before(resp.FirstByte) || resp.Read.Before(resp.Done) {
						t.Fatalf("%s: first byte %v, done %v, read %v after sending, kernel %v",
							query, resp.FirstByte.Sub(resp.Sent), resp.Done.Sub(resp.Sent),
							resp.Read.Sub(resp.Sent), resp.Kernel)
					}
				}
			}
		}
	})
}

func TestWSKernelArrival(t *testing.T) {
	needStamps(t)
	for _, secure := range []bool{false, true} {
		send := make(chan bool)
		url, conf := gorilla(t, secure, func(c *websocket.Conn, _ *http.Request) {
			for range send {
				c.WriteMessage(websocket.TextMessage, []byte("hi"))
			}
		})
		w := mustDialWS(t, WSConfig{URL: url, tls: conf})
		for range 3 {
			s := sockOf(w.conn)
			send <- true
			for !stale(w.conn) { // until there is something to read
				runtime.Gosched()
			}
			seen := time.Now()
			time.Sleep(20 * time.Millisecond)
			_, _, at, err := w.Read(t.Context())
			if err != nil || at.After(seen.Add(stepLimit)) {
				t.Errorf(
					"secure %v: arrived %v after it was seen (stamp %d), %v",
					secure,
					at.Sub(seen),
					s.stamp,
					err,
				)
			}
			if read, kernel := w.LastRead(); !kernel || read.Sub(seen) < 20*time.Millisecond {
				t.Errorf(
					"secure %v: read %v after it was seen, kernel %v",
					secure,
					read.Sub(seen),
					kernel,
				)
			}
		}
		close(send)
	}
}

func TestWallClock(t *testing.T) {
	w := newWallClock()
	var gain time.Duration
	now := w.base
	w.gained = func(time.Time) time.Duration { return gain }
	w.now = func() time.Time { return now }
	try := func(name string, age time.Duration, want bool) {
		t.Helper()
		at, ok := w.at(now.Add(-age).UnixNano(), now)
		if ok != want || ok && now.Sub(at) != age || !ok && !at.Equal(now) {
			t.Errorf("%s: %v before the read, %v; want %v, %v", name, now.Sub(at), ok, age, want)
		}
	}
	try("fresh", 0, true)
	try("old", 50*time.Millisecond, true)
	try("from the future", -time.Microsecond, false)
	now = now.Add(time.Minute)
	gain = 20 * time.Microsecond // preempted for a moment between the clocks
	try("small", time.Millisecond, true)
	gain = 3 * time.Millisecond // preempted for long; a second look shows that nothing has moved
	w.now = func() time.Time { gain = 0; return now }
	try("preempted", time.Millisecond, true)
	if n := w.steps.Load(); n != 0 {
		t.Errorf("%d steps, want none", n)
	}
	w.now = func() time.Time { return now }
	gain = -time.Hour
	try("set back", time.Millisecond, false)
	now = now.Add(distrust / 2)
	try("soon after", time.Millisecond, false)
	now = now.Add(distrust)
	try("long after", time.Millisecond, true)
	gain = 0
	try("set forward", time.Millisecond, false)
	if n := w.steps.Load(); n != 2 {
		t.Errorf("%d steps, want 2", n)
	}
}
