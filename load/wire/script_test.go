package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script starts a TCP server that runs one function per connection, in order; the last one serves
// the rest.
func script(t testing.TB, conns ...func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
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
	type nasty struct {
		name    string
		server  func(net.Conn)
		phase   Phase
		timeout bool
		text    string
	}
	const chunks = okHead + "Transfer-Encoding: chunked\r\n\r\n"
	table := []nasty{
		{"slow loris in the header", loris(okHead, "A: b\r\n"), PhaseHeader, true, "timed out"},
		{"slow loris in a line", loris(okHead+"A: ", "b"), PhaseHeader, true, "timed out"},
		{"slow loris in the body", loris(okHead+"Content-Length: 1000\r\n\r\n", "b"), PhaseBody,
			true, "timed out"},
		{"slow loris in chunks", loris(chunks, "1\r\nb\r\n"), PhaseBody, true, "timed out"},
		{
			"slow loris of 1xx",
			loris("", "HTTP/1.1 102 Processing\r\n\r\n"),
			PhaseHeader,
			true,
			"timed out",
		},
		{"silent", hang(""), PhaseHeader, true, "timed out"},
		{"slow header", hang(okHead + "A: "), PhaseHeader, true, "timed out"},
		{"slow body", hang(okHead + "Content-Length: 9\r\n\r\nhello"), PhaseBody, true,
			"timed out"},
		{"slow chunk", hang(chunks + "9\r\nhello"), PhaseBody, true, "timed out"},
		{"never ending body", hang(okHead + "\r\nhello"), PhaseBody, true, "timed out"},
		{"half closed in the body", func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, okHead+"Content-Length: 9\r\n\r\nhello")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, PhaseBody, false, "unexpected EOF"},
		{"reset at once", func(c net.Conn) {
			readRequest(c)
			reset(c)
		}, PhaseHeader, false, "reset"},
		{"reset in the body", func(c net.Conn) {
			say(okHead + "Content-Length: 9\r\n\r\nhello")(c)
			time.Sleep(100 * time.Millisecond) // a reset discards unread bytes
			reset(c)
		}, PhaseBody, false, "reset"},
	}
	for _, of := range []struct {
		phase      Phase
		text, head string
		rest       []string // each is an answer with head
	}{
		{PhaseHeader, "malformed status line", "", []string{
			"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
			"HTTP/1.1 2000\r\n\r\n",
			"HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 200 O\x00K\r\n\r\n",
		}},
		{PhaseHeader, "malformed header line", okHead, []string{
			"A: b\r\n c\r\n\r\n", " A: b\r\n\r\n", "nonsense\r\n\r\n", "A : b\r\n\r\n",
			"A\x00: b\r\n\r\n",
		}},
		{PhaseHeader, "control character", okHead, []string{"A: b\x00c\r\n\r\n",
			"A: b\rc\r\n\r\n"}},
		{PhaseHeader, "Content-Length", okHead, []string{
			"Content-Length: 5, 5\r\n\r\nhello",
			"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
			"Content-Length: +5\r\n\r\nhello", "Content-Length: 99999999999999999999\r\n\r\n",
		}},
		{PhaseHeader, "Transfer-Encoding", okHead, []string{
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"Transfer-Encoding: gzip, chunked\r\n\r\n",
		}},
		{PhaseHeader, "HTTP/1.0", "HTTP/1.0 200 OK\r\n",
			[]string{"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}},
		{PhaseHeader, "too large", okHead, []string{"A: " + big + "\r\n\r\n",
			strings.Repeat("A: b\r\n", 20_000)}},
		{PhaseHeader, "informational", "", []string{strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n",
			30)}},
		{PhaseHeader, "unasked", "", []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n"}},
		{PhaseHeader, "without a response", "", []string{""}},
		{PhaseHeader, "unexpected EOF", okHead, []string{"A: b\r\n"}},
		{PhaseBody, "unexpected EOF", okHead, []string{
			"Content-Length: 6\r\n\r\nhello", "Content-Length: 100000\r\n\r\n" + big,
		}},
		{PhaseBody, "unexpected EOF", chunks, []string{"6\r\nhello", "5\r\nhello\r\n",
			"0\r\nA: b\r\n"}},
		{PhaseBody, "too large", chunks, []string{"0\r\n" + strings.Repeat("A: b\r\n", 20_000)}},
		{PhaseBody, "trailer", chunks, []string{"0\r\nnonsense\r\n\r\n"}},
		{PhaseBody, "chunked body", chunks, []string{"5\nhello\r\n0\r\n\r\n",
			"4\r\nhello\r\n0\r\n\r\n", "5;" + big}},
		{PhaseBody, "chunk size", chunks, []string{";x\r\nhello\r\n0\r\n\r\n",
			"ffffffffffffffff1\r\n", "-1\r\n"}},
		{PhaseBody, "gzip", okHead,
			[]string{"Content-Encoding: gzip\r\nContent-Length: 11\r\n\r\nnot gzipped"}},
		{PhaseBody, "larger than allowed", okHead, []string{"\r\n" + big + big,
			"Content-Length: 999999999\r\n\r\n"}},
	} {
		for _, rest := range of.rest {
			table = append(table, nasty{fmt.Sprintf("%.60q", of.head+rest), say(of.head + rest),
				of.phase, false, of.text})
		}
	}
	for _, tt := range table {
		try := func(t *testing.T, cfg Config) {
			cfg.maxBody = 100 << 10
			c := newClient(t, cfg)
			resp, err := get(t, c)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.Phase != tt.phase || e.Timeout != tt.timeout ||
				!strings.Contains(err.Error(), tt.text) {
				t.Errorf(
					"got phase %v, timeout %v, %q; want %v, %v, %q",
					e.Phase,
					e.Timeout,
					err,
					tt.phase,
					tt.timeout,
					tt.text,
				)
			}
			if resp.Sent.IsZero() || resp.Done.Before(resp.Sent) {
				t.Errorf("instants are missing: %+v", resp)
			}
			if c.conn != nil {
				t.Error("the connection was kept")
			}
			// Nothing of it is left for the next one, whose server behaves.
			if resp, err := get(t, c); err != nil || string(resp.Body) != "ok" || !resp.Dialed {
				t.Errorf("afterwards: %q, %v", resp.Body, err)
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			if tt.timeout {
				synctest.Test(t, func(t *testing.T) {
					t.Cleanup(func() { time.Sleep(time.Second) }) // the servers end
					try(t, Config{
						URL:     "http://host",
						Dial:    piped(tt.server, ok(9)),
						Timeout: 150 * time.Millisecond,
					})
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
			resp, err := get(t, c)
			if err != nil || string(resp.Body) != tt.body || resp.Status != 200 {
				t.Errorf(
					"%s: got %d %q, %v; want %q",
					tt.name,
					resp.Status,
					resp.Body,
					err,
					tt.body,
				)
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
