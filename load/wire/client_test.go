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

	"plimsoll/internal/race"
)

// newClient returns a client that the test closes.
func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
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

func TestConformance(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(handler))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(handler))
	defer secure.Close()
	for _, srv := range []*httptest.Server{plain, secure, serverH2(t)} {
		c := newClient(t, clientConfig(srv, "/base/"))
		ops := 0
		for _, mode := range []string{"length", "chunked", "trailer", "gzip", "close", "early"} {
			for _, n := range []int{0, 1, 100, 3000, 4095, 4096, 5000, 70_000, 1 << 20} {
				for _, method := range []string{"GET", "HEAD"} {
					for _, skip := range []bool{false, true} {
						name := fmt.Sprintf("%s h2=%v %s %s n=%d skip=%v", srv.URL[:5], c.o.http2, method, mode, n, skip)
						resp, err := c.Do(t.Context(), &Request{Method: method, Path: fmt.Sprintf("/x?mode=%s&n=%d", mode, n), SkipBody: skip})
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						ops++
						want := pattern(n)
						if method == "HEAD" {
							want = nil
						}
						if resp.Status != 200 || resp.BodyBytes != int64(len(want)) {
							t.Fatalf("%s: status %d, %d bytes, want %d", name, resp.Status, resp.BodyBytes, len(want))
						}
						if skip {
							want = nil
						}
						if !bytes.Equal(resp.Body, want) {
							t.Fatalf("%s: body differs (%d bytes, want %d)", name, len(resp.Body), len(want))
						}
						if resp.Sent.After(resp.FirstByte) || resp.FirstByte.After(resp.Done) || resp.Sent.IsZero() {
							t.Fatalf("%s: instants out of order: %v %v %v", name, resp.Sent, resp.FirstByte, resp.Done)
						}
					}
				}
			}
			if c.o.http2 && c.h2 == nil && c.conn != nil {
				t.Fatalf("%s: HTTP/2 was not spoken", srv.URL[:5])
			}
		}
	}
}

// serverH2 serves with net/http over HTTP/2.
func serverH2(t testing.TB) *httptest.Server {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(handler))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

// clientConfig is how to talk to srv.
func clientConfig(srv *httptest.Server, path string) Config {
	cfg := Config{URL: srv.URL + path, HTTP2: srv.EnableHTTP2}
	if srv.TLS != nil {
		cfg.tls = srv.Client().Transport.(*http.Transport).TLSClientConfig
	}
	return cfg
}

func TestRequestOnTheWire(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(handler))
	defer srv.Close()
	for _, srv := range []*httptest.Server{srv, serverH2(t)} {
		requestOnTheWire(t, srv)
	}
}

func requestOnTheWire(t *testing.T, srv *httptest.Server) {
	cfg := clientConfig(srv, "")
	cfg.UserAgent = "ua/1"
	c := newClient(t, cfg)
	for _, n := range []int{0, 10, 5000, 200_000} {
		resp, err := c.Do(t.Context(), &Request{Method: "POST", Path: "/?mode=echo&status=201", Body: pattern(n), ContentType: "text/x",
			Token: "secret", Header: []Field{{"X-Own", "v"}}})
		if err != nil {
			t.Fatal(err)
		}
		h := resp.Header
		got := []string{h.Get("x-method"), h.Get("X-Auth"), h.Get("X-TYPE"), h.Get("X-Agent"), h.Get("X-Own"), h.Get("X-Host"), h.Get("X-Length"), h.Get("X-None")}
		_, host, _ := strings.Cut(srv.URL, "://")
		want := []string{"POST", "Bearer secret", "text/x", "ua/1", "v", host, strconv.Itoa(n), ""}
		if fmt.Sprint(got) != fmt.Sprint(want) || resp.Status != 201 || !bytes.Equal(resp.Body, pattern(n)) {
			t.Errorf("n=%d: got %q (status %d, %d bytes), want %q", n, got, resp.Status, len(resp.Body), want)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	header := []Field{{"X-Requested-With", "XMLHttpRequest"}, {"Accept-Language", "en"}}
	buf := make([]byte, 0, 4096)
	r := Request{
		Method: "POST", ContentType: "application/json", Header: header,
		Path: "/api/v4/posts", Token: "abcdefghijklmnopqrstuvwxyz",
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.check(); err != nil {
			b.Fatal(err)
		}
		buf = r.appendHead(buf[:0], "", "Host: h\r\n")
	}
}

func TestNoBodyStatus(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(handler))
	defer srv.Close()
	c := newClient(t, Config{URL: srv.URL})
	for i, status := range []int{204, 304, 404, 500} {
		resp, err := c.Do(t.Context(), &Request{Path: fmt.Sprintf("/?mode=length&status=%d", status)})
		if err != nil || resp.Status != status || resp.Dialed != (i == 0) {
			t.Errorf("status %d: got %d, dialed %v, %v", status, resp.Status, resp.Dialed, err)
		}
	}
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
	for range 20 {
		if _, err := c.Do(t.Context(), &Request{Path: "/?mode=chunked&n=9000"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 20 requests, want 1", n)
	}
	for range 3 {
		if _, err := c.Do(t.Context(), &Request{Path: "/?mode=close&n=10"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections after three closing responses, want 3", n)
	}
	for range 3 {
		if _, err := c.Do(t.Context(), &Request{Path: "/?mode=length&n=10", Header: []Field{{"Connection", "close"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 6 {
		t.Errorf("%d connections after three closing requests, want 6", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), &Request{Path: "/"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Do on a closed client: %v, want ErrClosed", err)
	}
}

// script starts a TCP server that runs one function per connection, in order; the last one serves the rest.
func script(t testing.TB, conns ...func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			conns[min(i, len(conns)-1)](conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// readRequest reads up to the end of a request without a body and returns its first line.
func readRequest(conn net.Conn) string {
	var b []byte
	for one := make([]byte, 1); !bytes.HasSuffix(b, []byte("\r\n\r\n")); b = append(b, one...) {
		if _, err := conn.Read(one); err != nil {
			return ""
		}
	}
	line, _, _ := strings.Cut(string(b), "\r\n")
	return line
}

// say returns a server that answers one request with raw bytes and closes.
func say(raw string) func(net.Conn) {
	return func(conn net.Conn) {
		if readRequest(conn) != "" {
			io.WriteString(conn, raw)
		}
	}
}

func reset(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) }

func TestNastyServers(t *testing.T) {
	hang := func(raw string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			io.WriteString(conn, raw)
			io.Copy(io.Discard, conn) // until the client gives up
		}
	}
	loris := func(first, drop string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			for out := first; ; out = drop {
				if _, err := io.WriteString(conn, out); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	big := strings.Repeat("x", 70<<10)
	for _, tt := range []struct {
		name    string
		server  func(net.Conn)
		phase   Phase
		timeout bool
		text    string
	}{
		{"not http", say("SSH-2.0-OpenSSH\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"http 2", say("HTTP/2.0 200 OK\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"status of two digits", say("HTTP/1.1 20 OK\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"status of four digits", say("HTTP/1.1 2000\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"status 099", say("HTTP/1.1 099 OK\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"folded header", say("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), PhaseHeader, false, "malformed header line"},
		{"no colon", say("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), PhaseHeader, false, "malformed header line"},
		{"space before colon", say("HTTP/1.1 200 OK\r\nA : b\r\n\r\n"), PhaseHeader, false, "malformed header line"},
		{"NUL in a value", say("HTTP/1.1 200 OK\r\nA: b\x00c\r\n\r\n"), PhaseHeader, false, "control character"},
		{"NUL in a name", say("HTTP/1.1 200 OK\r\nA\x00: b\r\n\r\n"), PhaseHeader, false, "malformed header line"},
		{"NUL in the status line", say("HTTP/1.1 200 O\x00K\r\n\r\n"), PhaseHeader, false, "malformed status line"},
		{"fold at the first line", say("HTTP/1.1 200 OK\r\n A: b\r\n\r\n"), PhaseHeader, false, "malformed header line"},
		{"two lengths in one line", say("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello"), PhaseHeader, false, "Content-Length"},
		{"chunked twice", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), PhaseHeader, false, "Transfer-Encoding"},
		{"chunked in HTTP/1.0", say("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), PhaseHeader, false, "HTTP/1.0"},
		{"endless trailers", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 20_000)), PhaseBody, false, "too large"},
		{"malformed trailer", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nnonsense\r\n\r\n"), PhaseBody, false, "trailer"},
		{"chunk line without CR", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"), PhaseBody, false, "chunked body"},
		{"slow loris in the header", loris("HTTP/1.1 200 OK\r\n", "A: b\r\n"), PhaseHeader, true, "timed out"},
		{"slow loris in a line", loris("HTTP/1.1 200 OK\r\nA: ", "b"), PhaseHeader, true, "timed out"},
		{"slow loris in the body", loris("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "b"), PhaseBody, true, "timed out"},
		{"slow loris in chunks", loris("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nb\r\n"), PhaseBody, true, "timed out"},
		{"slow loris of 1xx", loris("", "HTTP/1.1 102 Processing\r\n\r\n"), PhaseHeader, true, "timed out"},
		{"half closed in the body", func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, PhaseBody, false, "unexpected EOF"},
		{"bare CR", say("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"), PhaseHeader, false, "control character"},
		{"length not a number", say("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"), PhaseHeader, false, "Content-Length"},
		{"length too long", say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"), PhaseHeader, false, "Content-Length"},
		{"two lengths", say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), PhaseHeader, false, "Content-Length"},
		{"unknown transfer encoding", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), PhaseHeader, false, "Transfer-Encoding"},
		{"huge header line", say("HTTP/1.1 200 OK\r\nA: " + big + "\r\n\r\n"), PhaseHeader, false, "too large"},
		{"endless header", say("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20_000)), PhaseHeader, false, "too large"},
		{"1xx without end", say(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 30)), PhaseHeader, false, "informational"},
		{"101 unasked", say("HTTP/1.1 101 Switching Protocols\r\n\r\n"), PhaseHeader, false, "unasked"},
		{"closed at once", say(""), PhaseHeader, false, "without a response"},
		{"closed in the header", say("HTTP/1.1 200 OK\r\nA: b\r\n"), PhaseHeader, false, "unexpected EOF"},
		{"reset at once", func(c net.Conn) { readRequest(c); reset(c) }, PhaseHeader, false, "reset"},
		{"reset in the body", func(c net.Conn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")(c)
			time.Sleep(100 * time.Millisecond) // a reset discards unread bytes
			reset(c)
		}, PhaseBody, false, "reset"},
		{"body too short", say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"), PhaseBody, false, "unexpected EOF"},
		{"long body too short", say("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + big), PhaseBody, false, "unexpected EOF"},
		{"chunk too short", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello"), PhaseBody, false, "unexpected EOF"},
		{"last chunk missing", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), PhaseBody, false, "unexpected EOF"},
		{"trailer missing its end", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n"), PhaseBody, false, "unexpected EOF"},
		{"chunk too long", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n"), PhaseBody, false, "chunked body"},
		{"chunk size missing", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\nhello\r\n0\r\n\r\n"), PhaseBody, false, "chunk size"},
		{"chunk size overflow", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n"), PhaseBody, false, "chunk size"},
		{"chunk size negative", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"), PhaseBody, false, "chunk size"},
		{"endless chunk extension", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + big), PhaseBody, false, "chunked body"},
		{"broken gzip", say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 11\r\n\r\nnot gzipped"), PhaseBody, false, "gzip"},
		{"body over the limit", say("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat(big, 2)), PhaseBody, false, "larger than allowed"},
		{"announced over the limit", say("HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"), PhaseBody, false, "larger than allowed"},
		{"silent", hang(""), PhaseHeader, true, "timed out"},
		{"slow header", hang("HTTP/1.1 200 OK\r\nA: "), PhaseHeader, true, "timed out"},
		{"slow body", hang("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), PhaseBody, true, "timed out"},
		{"slow chunk", hang("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello"), PhaseBody, true, "timed out"},
		{"never ending body", hang("HTTP/1.1 200 OK\r\n\r\nhello"), PhaseBody, true, "timed out"},
	} {
		try := func(t *testing.T, cfg Config) {
			cfg.maxBody = 100 << 10
			c := newClient(t, cfg)
			resp, err := c.Do(t.Context(), &Request{Path: "/"})
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Phase != tt.phase || e.Timeout != tt.timeout || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got phase %v, timeout %v, %q; want %v, %v, %q", e.Phase, e.Timeout, err, tt.phase, tt.timeout, tt.text)
			}
			if resp.Sent.IsZero() || resp.Done.Before(resp.Sent) {
				t.Errorf("instants are missing: %+v", resp)
			}
			if c.conn != nil {
				t.Error("the connection was kept")
			}
			// Nothing of it is left for the next one, whose server behaves.
			if resp, err := c.Do(t.Context(), &Request{Path: "/"}); err != nil || string(resp.Body) != "ok" || !resp.Dialed {
				t.Errorf("afterwards: %q, %v", resp.Body, err)
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			if tt.timeout {
				synctest.Test(t, func(t *testing.T) {
					t.Cleanup(func() { time.Sleep(time.Second) }) // the servers end
					try(t, Config{URL: "http://host", Dial: piped(tt.server, ok(9)), Timeout: 150 * time.Millisecond})
				})
			} else {
				try(t, Config{URL: script(t, tt.server, ok(9)), Timeout: time.Minute})
			}
		})
	}
}

func TestOddButAllowed(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("hello"))
	z.Close()
	for _, tt := range []struct{ name, raw, body string }{
		{"1xx first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", "hello"},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "hello"},
		{"equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length:5  \r\n\r\nhello", "hello"},
		{"chunk extensions and trailers", "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n3;a=b;c=\"d\"\r\nhel\r\n02 \r\nlo\r\n000;x\r\nA: b\r\nC: d\r\n\r\n", "hello"},
		{"chunked wins over length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello"},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", "hello"},
		{"http 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
		{"gzip of nothing", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", ""},
		{"gzip until the end", "HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\n\r\n" + zipped.String(), "hello"},
		{"gzip twice in a row", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zipped.String() + zipped.String(), "hellohello"},
		{"bytes too many", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloworld", "hello"},
	} {
		for _, piece := range []int{1 << 20, 1, 3} { // whole, and in crumbs
			c := newClient(t, Config{URL: script(t, func(conn net.Conn) {
				readRequest(conn)
				for raw := tt.raw; raw != ""; raw = raw[min(piece, len(raw)):] {
					io.WriteString(conn, raw[:min(piece, len(raw))])
				}
			})})
			resp, err := c.Do(t.Context(), &Request{Path: "/"})
			if err != nil || string(resp.Body) != tt.body || resp.Status != 200 {
				t.Errorf("%s: got %d %q, %v; want %q", tt.name, resp.Status, resp.Body, err, tt.body)
			}
			if tt.name == "bytes too many" && piece > 5 && c.conn != nil {
				t.Errorf("%s: the connection was kept", tt.name)
			}
		}
	}
}

// ok answers requests on a connection until it is closed, n times at most.
func ok(n int) func(net.Conn) {
	return func(conn net.Conn) {
		for range n {
			if readRequest(conn) == "" {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
}

func TestRetry(t *testing.T) {
	// The second request of a connection is read and then the connection is closed.
	swallow := func(conn net.Conn) { ok(1)(conn); readRequest(conn) }
	t.Run("GET is repeated", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, swallow, ok(9))})
		for i := range 2 {
			resp, err := c.Do(t.Context(), &Request{Path: "/"})
			if err != nil || resp.Retried != (i == 1) || !resp.Dialed {
				t.Errorf("request %d: %+v, %v", i, resp, err)
			}
		}
	})
	t.Run("POST is not", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, swallow, ok(9))})
		for i, want := range []bool{true, false, true} {
			resp, err := c.Do(t.Context(), &Request{Method: "POST", Path: "/"})
			if (err == nil) != want || resp.Retried {
				t.Errorf("request %d: %+v, %v", i, resp, err)
			}
			if e, ok := errors.AsType[*Error](err); ok && e.Phase != PhaseHeader {
				t.Errorf("phase %v, want header", e.Phase)
			}
		}
	})
	t.Run("only once", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, swallow, say(""), ok(9))})
		c.Do(t.Context(), &Request{Path: "/"})
		if resp, err := c.Do(t.Context(), &Request{Path: "/"}); err == nil || !resp.Retried {
			t.Errorf("got %+v, %v; want an error after one repetition", resp, err)
		}
	})
	t.Run("a new connection is no reason", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, say(""), ok(9))})
		if resp, err := c.Do(t.Context(), &Request{Path: "/"}); err == nil || resp.Retried {
			t.Errorf("got %+v, %v; want an error", resp, err)
		}
	})
	t.Run("an idle connection that was closed is replaced, even for POST", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, ok(1), ok(1), ok(9))})
		for i := range 3 {
			resp, err := c.Do(t.Context(), &Request{Method: "POST", Path: "/"})
			if err != nil || !resp.Dialed || resp.Retried {
				t.Errorf("request %d: %+v, %v", i, resp, err)
			}
			time.Sleep(50 * time.Millisecond) // for the FIN to arrive
			c.since = c.since.Add(-idleCheck)
		}
	})
}

// A server that closes the connections that it kept open is not hidden: repeated requests, and requests that found
// their connection closed, are counted.
func TestRepeatedRequestsAreCounted(t *testing.T) {
	half := func(conn net.Conn) {
		ok(1)(conn)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}
	c := newClient(t, Config{URL: script(t, half, half, ok(9))})
	before := Stamps()
	for i := range 3 {
		if c.conn != nil {
			for !stale(c.conn) { // until the FIN is there
				time.Sleep(time.Millisecond)
			}
		}
		if i == 2 {
			c.since = time.Now().Add(-idleCheck) // it has been idle, so it is checked before it is used
		}
		if _, err := c.Do(t.Context(), &Request{Path: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := Stamps().Sub(before); n.Requests != 3 || n.Repeats != 1 || n.Reopened != 1 {
		t.Errorf("%+v, want 3 requests, 1 repeated and 1 on a connection that was found closed", n)
	}
}

// The server's end of a kept connection may be half closed, or have sent too much, before the next request.
func TestReuse(t *testing.T) {
	half := func(conn net.Conn) {
		ok(1)(conn)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}
	t.Run("half closed", func(t *testing.T) {
		for _, method := range []string{"GET", "POST", "POST that may be repeated"} {
			c := newClient(t, Config{URL: script(t, half, ok(9))})
			c.Do(t.Context(), &Request{Path: "/"})
			for !stale(c.conn) { // until the FIN is there
				time.Sleep(time.Millisecond)
			}
			verb, _, repeatable := strings.Cut(method, " ")
			resp, err := c.Do(t.Context(), &Request{Method: verb, Path: "/", Repeatable: repeatable})
			if (verb == "GET" || repeatable) && (err != nil || !resp.Retried) {
				t.Errorf("%s: %+v, %v; want it repeated", method, resp, err)
			}
			// A POST on a connection that was used a moment ago has gone out before the end is seen: it may have been
			// done.
			if e, ok := errors.AsType[*Error](err); method == "POST" && (!ok || e.Phase != PhaseHeader || e.Timeout) {
				t.Errorf("POST: %+v, %v; want an error in the header phase", resp, err)
			}
		}
	})
	t.Run("too much was said", func(t *testing.T) {
		c := newClient(t, Config{URL: script(t, func(conn net.Conn) {
			readRequest(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			readRequest(conn)
		}, ok(9))})
		for range 2 {
			if resp, err := c.Do(t.Context(), &Request{Path: "/"}); err != nil || string(resp.Body) != "ok" || !resp.Dialed {
				t.Errorf("got %q, dialed %v, %v", resp.Body, resp.Dialed, err)
			}
		}
	})
	t.Run("something was said while idle", func(t *testing.T) {
		read := make(chan bool)
		c := newClient(t, Config{URL: script(t, func(conn net.Conn) {
			ok(1)(conn)
			<-read
			io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			readRequest(conn)
		}, ok(9))})
		c.Do(t.Context(), &Request{Path: "/"})
		close(read)
		for !stale(c.conn) {
			time.Sleep(time.Millisecond)
		}
		c.since = c.since.Add(-idleCheck)
		if resp, err := c.Do(t.Context(), &Request{Path: "/"}); err != nil || resp.Status != 200 || !resp.Dialed {
			t.Errorf("got %d, dialed %v, %v; want a fresh connection", resp.Status, resp.Dialed, err)
		}
	})
}

func TestDialFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	check := func(t *testing.T, c *Client, phase Phase, timeout bool) {
		t.Helper()
		resp, err := c.Do(t.Context(), &Request{Path: "/"})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Phase != phase || e.Timeout != timeout {
			t.Fatalf("got %v, want phase %v, timeout %v", err, phase, timeout)
		}
		if resp.Sent.IsZero() || resp.Done.Before(resp.Sent) {
			t.Errorf("instants are missing: %+v", resp)
		}
	}
	t.Run("refused", func(t *testing.T) { check(t, newClient(t, Config{URL: "http://" + addr}), PhaseDial, false) })
	t.Run("blackhole", func(t *testing.T) {
		check(t, newClient(t, Config{URL: "http://" + addr, Timeout: 50 * time.Millisecond, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}), PhaseDial, true)
	})
	plain := script(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	t.Run("not tls", func(t *testing.T) {
		check(t, newClient(t, Config{URL: strings.Replace(plain, "http", "https", 1)}), PhaseTLS, false)
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
	t.Run("unknown authority", func(t *testing.T) { check(t, newClient(t, Config{URL: srv.URL}), PhaseTLS, false) })
}

func TestContextEndsDo(t *testing.T) { synctest.Test(t, testContextEndsDo) }

func testContextEndsDo(t *testing.T) {
	ends := make(chan error, 2)
	silent := piped(func(c net.Conn) {
		_, err := io.Copy(io.Discard, c)
		ends <- err
	})
	c := newClient(t, Config{URL: "http://host", Dial: silent, Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := c.Do(ctx, &Request{Path: "/"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Timeout || !errors.Is(err, context.Canceled) || e.Phase != PhaseHeader {
		t.Errorf("canceled: got %v", err)
	}
	if _, err := c.Do(ctx, &Request{Path: "/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before: got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c.Do(ctx, &Request{Path: "/"})
	if e, ok := errors.AsType[*Error](err); !ok || !e.Timeout || e.Phase != PhaseHeader {
		t.Errorf("context's deadline: got %v", err)
	}
	for range 2 {
		if err := <-ends; err != nil {
			t.Errorf("the server gave up first: %v", err)
		}
	}
}

// A server that refuses an upload before it has read it must have its answer read.
func TestEarlyAnswerToUpload(t *testing.T) {
	c := newClient(t, Config{URL: script(t, func(conn net.Conn) {
		conn.Read(make([]byte, 100))
		io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
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
		{Path: "x"}, {Path: "/a b"}, {Path: "/\n"}, {Path: "/", Method: "GE T"}, {Path: "/", Token: "a\r\nb"},
		{Path: "/", Header: []Field{{"A", "b\n"}}}, {Path: "/", Header: []Field{{"A b", "c"}}}, {Path: "/", Header: []Field{{"", "c"}}},
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

func TestAllocations(t *testing.T) {
	race.SkipBudget(t)
	url := script(t, ok(1<<30))
	c := newClient(t, Config{URL: url, UserAgent: "x"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := &Request{Path: "/api", Token: "t"}
	got := testing.AllocsPerRun(200, func() {
		if _, err := c.Do(ctx, req); err != nil {
			t.Fatal(err)
		}
	})
	c.drop()
	// The server runs in this process and allocates about ten times per request; the client must not.
	client := testing.AllocsPerRun(200, func() {
		c.conn = replay{}
		if _, err := c.Do(ctx, req); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.1f allocations with the server, %.1f of the client", got, client)
	if client > 0 {
		t.Errorf("Do allocates %.1f times on a kept connection, budget 0", client)
	}
}

// replay is a connection that always answers.
type replay struct{ net.Conn }

func (replay) Write(p []byte) (int, error) { return len(p), nil }
func (replay) Read(p []byte) (int, error) {
	return copy(p, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}"), nil
}
func (replay) SetDeadline(time.Time) error { return nil }
func (replay) Close() error                { return nil }

func BenchmarkDo(b *testing.B) {
	c := newClient(b, Config{URL: script(b, ok(1<<30))})
	req := &Request{Path: "/api", Token: "t"}
	b.ReportAllocs()
	for b.Loop() {
		c.conn = replay{}
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
