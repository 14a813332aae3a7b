package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// newClient returns a client that the test closes.
func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	c, err := NewClient(cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// get requests "/".
func get(t testing.TB, c *Client) (*Response, error) {
	return c.Do(t.Context(), &Request{Path: "/"})
}

// answers fails the test unless the server of [ok] answers a client.
func answers(t *testing.T, c *Client) {
	t.Helper()
	if resp, err := get(t, c); err != nil || string(resp.Body) != "ok" {
		t.Errorf("a server that is well: %q, %v", resp.Body, err)
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + i*7%26)
	}
	return b
}

// handler answers according to its query: n bytes, mode length, chunked, gzip, close, trailer; or
// echoes.
func handler(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("n"))
	body := pattern(n)
	status, _ := strconv.Atoi(q.Get("status"))
	if status == 0 {
		status = 200
	}
	switch q.Get("mode") {
	case "length":
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.WriteHeader(status)
		w.Write(body)
	case "chunked", "trailer":
		if q.Get("mode") == "trailer" {
			w.Header().Set("Trailer", "X-After")
		}
		w.WriteHeader(status)
		for len(body) > 0 {
			m := min(len(body), 1000)
			w.Write(body[:m])
			w.(http.Flusher).Flush()
			body = body[m:]
		}
		w.(http.Flusher).Flush()
		w.Header().Set("X-After", "yes")
	case "gzip":
		if r.Header.Get("Accept-Encoding") != "gzip" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z := gzip.NewWriter(w)
		z.Write(body)
		z.Close()
	case "close":
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
		w.Write(body)
	case "early":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		w.WriteHeader(status)
		w.Write(body)
	case "echo":
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("X-Auth", r.Header.Get("Authorization"))
		w.Header().Set("X-Type", r.Header.Get("Content-Type"))
		w.Header().Set("X-Agent", r.UserAgent())
		w.Header().Set("X-Own", r.Header.Get("X-Own"))
		w.Header().Set("X-Host", r.Host)
		w.Header().Set("X-Length", strconv.FormatInt(r.ContentLength, 10))
		got, _ := io.ReadAll(r.Body) // net/http does not read on once it writes
		w.WriteHeader(status)
		w.Write(got)
	}
}

// overAll tests a client over HTTP/1.1, over TLS and over HTTP/2, each with a server of net/http.
func overAll(t *testing.T, h http.HandlerFunc,
	test func(t *testing.T, srv *httptest.Server, c *Client)) {
	for _, kind := range []string{"plain", "TLS", "HTTP/2"} {
		t.Run(kind, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(h)
			if srv.EnableHTTP2 = kind == "HTTP/2"; kind == "plain" {
				srv.Start()
			} else {
				srv.StartTLS()
			}
			t.Cleanup(srv.Close)
			test(t, srv, newClient(t, clientConfig(srv, "/base/")))
		})
	}
}

// clientConfig is how to talk to srv.
func clientConfig(srv *httptest.Server, path string) Config {
	cfg := Config{URL: srv.URL + path, UserAgent: "ua/1", HTTP2: srv.EnableHTTP2}
	if srv.TLS != nil {
		cfg.tls = srv.Client().Transport.(*http.Transport).TLSClientConfig
	}
	return cfg
}

// bodies requests a body of each size at a path with the size in it, by GET and HEAD, kept and not.
func bodies(t *testing.T, c *Client, path string, sizes []int,
	check func(method string, n int, resp *Response)) {
	t.Helper()
	for _, n := range sizes {
		for _, method := range []string{"GET", "HEAD"} {
			for _, skip := range []bool{false, true} {
				req := &Request{Method: method, Path: fmt.Sprintf(path, n), SkipBody: skip}
				resp, err := c.Do(t.Context(), req)
				if err != nil {
					t.Fatalf("%s %s: %v", method, req.Path, err)
				}
				want := pattern(n)
				if method == "HEAD" {
					want = nil
				}
				if resp.Status != 200 || resp.BodyBytes != int64(len(want)) || !skip &&
					!bytes.Equal(resp.Body, want) || skip && resp.Body != nil {
					t.Fatalf("%s %s, skip %v: status %d, %d bytes, want %d", method, req.Path, skip,
						resp.Status, resp.BodyBytes, len(want))
				}
				if resp.Sent.After(resp.FirstByte) || resp.FirstByte.After(resp.Done) ||
					resp.Sent.IsZero() {
					t.Fatalf("%s %s: instants out of order: %v %v %v", method, req.Path, resp.Sent,
						resp.FirstByte, resp.Done)
				}
				check(method, n, resp)
			}
		}
	}
}

func TestConformance(t *testing.T) {
	overAll(t, handler, func(t *testing.T, _ *httptest.Server, c *Client) {
		for _, mode := range []string{"length", "chunked", "trailer", "gzip", "close", "early"} {
			bodies(t, c, "/x?n=%d&mode="+mode, []int{0, 1, 100, 3000, 4095, 4096, 5000, 70_000,
				1 << 20}, func(string, int, *Response) {
				if c.o.http2 && c.h2 == nil && c.conn != nil {
					t.Fatal("HTTP/2 was not spoken")
				}
			})
		}
	})
}

func TestRequestOnTheWire(t *testing.T) {
	overAll(t, handler, func(t *testing.T, srv *httptest.Server, c *Client) {
		for _, n := range []int{0, 10, 5000, 200_000} {
			resp, err := c.Do(t.Context(), &Request{Method: "POST", Path: "/?mode=echo&status=201",
				Body: pattern(n), ContentType: "text/x",
				Token: "secret", Header: []Field{{"X-Own", "v"}}})
			must(t, err)
			h := resp.Header
			got := []string{h.Get("x-method"), h.Get("X-Auth"), h.Get("X-TYPE"), h.Get("X-Agent"),
				h.Get("X-Own"), h.Get("X-Host"), h.Get("X-Length"), h.Get("X-None")}
			_, host, _ := strings.Cut(srv.URL, "://")
			want := []string{"POST", "Bearer secret", "text/x", "ua/1", "v", host, strconv.Itoa(n),
				""}
			if fmt.Sprint(got) != fmt.Sprint(want) || resp.Status != 201 ||
				!bytes.Equal(resp.Body, pattern(n)) {
				t.Errorf("n=%d: got %q (status %d, %d bytes), want %q", n, got, resp.Status,
					len(resp.Body), want)
			}
		}
	})
}

func TestKeepAliveAndClose(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(handler))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := newClient(t, Config{URL: srv.URL})
	for _, tt := range []struct {
		query  string
		status int
		header []Field
		conns  int32 // after three requests each
	}{
		{"mode=chunked&n=9000", 200, nil, 1},
		{"mode=length&status=204", 204, nil, 1}, // no body, whatever the header says
		{"mode=length&status=304", 304, nil, 1},
		{"mode=length&status=404", 404, nil, 1},
		{"mode=length&status=500", 500, nil, 1},
		{"mode=close&n=10", 200, nil, 3},
		{"mode=length&n=10", 200, []Field{{"Connection", "close"}}, 6},
	} {
		for range 3 {
			if resp, err := c.Do(t.Context(), &Request{Path: "/?" + tt.query,
				Header: tt.header}); err != nil || resp.Status != tt.status {
				t.Fatalf("%s: status %d, %v", tt.query, resp.Status, err)
			}
		}
		if n := conns.Load(); n != tt.conns {
			t.Errorf("%d connections after %s, want %d", n, tt.query, tt.conns)
		}
	}
	must(t, c.Close())
	if _, err := get(t, c); !errors.Is(err, ErrClosed) {
		t.Errorf("Do on a closed client: %v, want ErrClosed", err)
	}
}

func TestDialFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	l.Close()
	check := func(t *testing.T, c *Client, phase Phase, timeout bool) {
		t.Helper()
		resp, err := get(t, c)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Phase != phase || e.Timeout != timeout {
			t.Fatalf("got %v, want phase %v, timeout %v", err, phase, timeout)
		}
		if resp.Sent.IsZero() || resp.Done.Before(resp.Sent) {
			t.Errorf("instants are missing: %+v", resp)
		}
	}
	t.Run("refused", func(t *testing.T) {
		check(t, newClient(t, Config{URL: "http://" + addr}), PhaseDial, false)
	})
	t.Run("blackhole", func(t *testing.T) {
		check(t, newClient(t, Config{
			URL:     "http://" + addr,
			Timeout: 50 * time.Millisecond,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}), PhaseDial, true)
	})
	plain := script(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	t.Run("not tls", func(t *testing.T) {
		check(
			t,
			newClient(t, Config{URL: strings.Replace(plain, "http", "https", 1)}),
			PhaseTLS,
			false,
		)
	})
	t.Run("silent tls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			silent := piped(func(c net.Conn) { io.Copy(io.Discard, c) })
			check(t, newClient(t, Config{URL: "https://host", Dial: silent}), PhaseTLS, true)
		})
	})
	srv := httptest.NewTLSServer(http.HandlerFunc(handler))
	srv.Config.ErrorLog = nil
	defer srv.Close()
	t.Run("unknown authority", func(t *testing.T) {
		check(t, newClient(t, Config{URL: srv.URL}), PhaseTLS, false)
	})
}

// A server that refuses an upload before it has read it must have its answer read.
func TestEarlyAnswerToUpload(t *testing.T) {
	c := newClient(t, Config{URL: script(t, func(conn net.Conn) {
		conn.Read(make([]byte, 100))
		io.WriteString(
			conn,
			"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	})})
	resp, err := c.Do(t.Context(), &Request{Method: "POST", Path: "/", Body: make([]byte, 8<<20)})
	if err != nil || resp.Status != 413 {
		t.Errorf("got %d, %v; want 413", resp.Status, err)
	}
}

func TestBadRequestsAndConfigs(t *testing.T) {
	c := newClient(t, Config{URL: "http://127.0.0.1:1"})
	for _, req := range []Request{
		{Path: "x"}, {Path: "/a b"}, {Path: "/\n"}, {
			Path:   "/",
			Method: "GE T",
		}, {Path: "/", Token: "a\r\nb"},
		{
			Path:   "/",
			Header: []Field{{"A", "b\n"}},
		}, {Path: "/", Header: []Field{{"A b", "c"}}}, {Path: "/", Header: []Field{{"", "c"}}},
		{Path: "/", Header: []Field{{"content-LENGTH", "1"}}}, {Path: "/", ContentType: "\x00"},
	} {
		_, err := c.Do(t.Context(), &req)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseNone {
			t.Errorf("%+v: got %v, want an error before anything is sent", req, err)
		}
	}
	for _, url := range []string{"", "ftp://x", "http://", "http://u:hunter2@h/", "http://h/?q", "http://h/#f", "http://h:port", "http://u:hunter2@h:port"} {
		_, err := NewClient(Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want an error without the password", url, err)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	c := newClient(b, Config{URL: script(b, ok(1<<30))})
	req := &Request{Path: "/api", Token: "t"}
	var created net.Conn = tape{r: &loop{text: "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n" +
		"Date: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}"}}
	b.ReportAllocs()
	for b.Loop() {
		c.conn = created
		if _, err := c.Do(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// A secret that was cut in two is found by the mark behind it (package plain).
func TestAQuotationThatIsCutEndsWithTheMark(t *testing.T) {
	if got, want := show([]byte(strings.Repeat("a", 61))), `"`+strings.Repeat("a", 60)+`…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := show([]byte(strings.Repeat("a", 60))); strings.Contains(got, "…") {
		t.Errorf("got %s: nothing is cut", got)
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
