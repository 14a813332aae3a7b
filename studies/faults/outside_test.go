package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMain is an instance where a topology starts this program as one.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, serverVerb) {
		main()
		return
	}
	os.Exit(m.Run())
}

// handled answers 201 to posts and 200 to others, after a time.
func handled(d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
	})
}

func newAround(t *testing.T, h http.Handler, text string) http.Handler {
	t.Helper()
	h, err := around(t.Context(), h, text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// times makes so many requests at once and returns when each was answered, in order.
func times(t *testing.T, h http.Handler, n int, method, path string) (ends []time.Duration) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for range n {
		wg.Go(func() {
			h.ServeHTTP(
				httptest.NewRecorder(),
				httptest.NewRequestWithContext(t.Context(), method, "/api/v4/"+path, nil),
			)
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, time.Since(start))
		})
	}
	wg.Wait()
	slices.Sort(ends)
	return ends
}

// TestAround has requests wait, in virtual time.
func TestAround(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		text, method, path string
		n                  int
		want               []time.Duration
		pooled             float64
	}{
		{"workers 2", "GET", "users/me", 3, []time.Duration{10 * s, 10 * s, 20 * s}, 10},
		{"workers 1", "GET", "websocket", 2, []time.Duration{10 * s, 10 * s}, 0},
		{"replica 1s", "POST", "posts", 3, []time.Duration{11 * s, 12 * s, 13 * s}, 0},
		{"replica 1s", "POST", "reactions", 1, []time.Duration{10 * s}, 0},
		{"replica 1s", "GET", "users/me", 1, []time.Duration{10 * s}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			before := testutil.ToFloat64(pooled.WithLabelValues("workers"))
			if got := times(t, newAround(t, handled(10*s), tt.text), tt.n, tt.method, tt.path); !slices.Equal(
				got,
				tt.want,
			) {
				t.Errorf(
					"%s: %s %s were answered after %v, want %v",
					tt.text,
					tt.method,
					tt.path,
					got,
					tt.want,
				)
			}
			if got := testutil.ToFloat64(pooled.WithLabelValues("workers")) - before; got != tt.pooled {
				t.Errorf("%s: %v s were waited, want %v", tt.text, got, tt.pooled)
			}
		})
	}
}

// TestAWorkerThatIsWaitedForInVainIsNobodys ends a request while it waits.
func TestAWorkerThatIsWaitedForInVainIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newAround(t, handled(10*time.Second), "workers 1")
		go times(t, h, 1, "GET", "users/me")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h.ServeHTTP(
			httptest.NewRecorder(),
			httptest.NewRequestWithContext(ctx, "GET", "/api/v4/users/me", nil),
		)
		if ctx.Err() == nil {
			t.Error("a second request had the only worker")
		}
		if got := times(t, h, 1, "GET", "users/me"); got[0] != 19*time.Second {
			t.Errorf("a third request ended after %v, want 19 s: the second took no worker", got[0])
		}
	})
}

// TestAReadWaitsForTheReplica reads while five posts are replayed, and when none is any more.
func TestAReadWaitsForTheReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newAround(t, handled(0), "replica 1s")
		go times(t, h, 5, "POST", "posts")
		synctest.Wait()
		for _, want := range []time.Duration{5 * time.Second, 0} {
			if got := times(t, h, 1, "GET", "users/me"); got[0] != want {
				t.Errorf("a read was answered after %v, want %v", got[0], want)
			}
		}
	})
}

func TestJitterHasItsMean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newAround(t, handled(0), "jitter 20ms")
		start := time.Now()
		for range 20000 {
			times(t, h, 1, "GET", "users/me")
		}
		if mean := time.Since(start) / 20000; mean < 19*time.Millisecond ||
			mean > 21*time.Millisecond {
			t.Errorf("mean %v", mean)
		}
	})
}

// TestWaitsBesides resolves names and calls the service from four requests at once, whose waits add
// up: a server cannot be faster than its own sleeps.
func TestWaitsBesides(t *testing.T) {
	for text, least := range map[string]time.Duration{
		"dns 5ms":         20 * time.Millisecond,
		"outbound 2 20ms": 40 * time.Millisecond,
	} {
		before := testutil.ToFloat64(pooled.WithLabelValues("outbound"))
		if got := times(t, newAround(t, handled(0), text), 4, "POST", "posts"); got[3] < least {
			t.Errorf(
				"%s: the last of four was answered after %v, want %v at least",
				text,
				got[3],
				least,
			)
		}
		if got := testutil.ToFloat64(pooled.WithLabelValues("outbound")); (got > before) != strings.HasPrefix(
			text,
			"outbound",
		) {
			t.Errorf("%s: %v s were waited for a connection, before %v", text, got, before)
		}
	}
	names, err := serveNames(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := names.LookupHost(t.Context(), "r1.test."); err != nil ||
		!slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("a name is %v: %v", got, err)
	}
}

// TestTLSHandshakes counts one handshake per connection, also of a client that could resume.
func TestTLSHandshakes(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	newAround(t, handled(0), "tls "+port+" 2048")
	c := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(8)},
	}} //nolint:gosec // the key is made by the fault
	for i := range 3 {
		req, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodGet,
			"https://127.0.0.1:"+port,
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if n := testutil.ToFloat64(signed); n != float64(i+1) {
			t.Errorf("%v handshakes after %d connections", n, i+1)
		}
	}
}
