package wire

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A server may close a connection that it kept, half of it, or say too much on it, before the next
// request. Such requests are repeated where that is no lie, and each is counted.
func TestRetryAndReuse(t *testing.T) {
	// The second request of a connection is read and then the connection is closed.
	swallow := func(conn net.Conn) { ok(1)(conn); readRequest(conn) }
	half := func(conn net.Conn) {
		ok(1)(conn)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}
	evil := func(conn net.Conn) {
		readRequest(conn)
		io.WriteString(
			conn,
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
		)
		readRequest(conn)
	}
	late := func(conn net.Conn) {
		ok(1)(conn)
		time.Sleep(50 * time.Millisecond)
		io.WriteString(
			conn,
			"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		)
		readRequest(conn)
	}
	for _, tt := range []struct {
		name  string
		conns []func(net.Conn)
		// Each request and its outcome. Before one that is seen, the connection has something to
		// read; an idle one has been idle as well, so that it is checked.
		steps []string
	}{
		{"GET is repeated", []func(net.Conn){swallow, ok(9)},
			[]string{"GET: dialed", "GET: retried"}},
		{"POST is not", []func(net.Conn){swallow, ok(9)},
			[]string{"POST: dialed", "POST: failed", "POST: dialed"}},
		{"only once", []func(net.Conn){swallow, say(""), ok(9)},
			[]string{"GET: dialed", "GET: retried and failed"}},
		{"a new connection is no reason", []func(net.Conn){say(""), ok(9)},
			[]string{"GET: failed"}},
		{"an idle connection that was closed is replaced", []func(net.Conn){ok(1), half, ok(9)},
			[]string{"POST: dialed", "POST seen idle: dialed", "POST seen idle: dialed"}},
		{"half closed, GET", []func(net.Conn){half, ok(9)},
			[]string{"GET: dialed", "GET seen: retried"}},
		// On a connection that was used a moment ago it has gone out before the end is seen: it may
		// have been done.
		{"half closed, POST", []func(net.Conn){half, ok(9)},
			[]string{"GET: dialed", "POST seen: failed"}},
		{"half closed, POST that may be repeated", []func(net.Conn){half, ok(9)},
			[]string{"GET: dialed", "POST seen repeatable: retried"}},
		{"too much was said", []func(net.Conn){evil, ok(9)},
			[]string{"GET: dialed", "GET: dialed"}},
		{"something was said while idle", []func(net.Conn){late, ok(9)},
			[]string{"GET: dialed", "GET seen idle: dialed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, Config{URL: script(t, tt.conns...)})
			before, want := Stamps(), Clocks{Requests: int64(len(tt.steps))}
			for i, step := range tt.steps {
				how, outcome, _ := strings.Cut(step, ": ")
				method, _, _ := strings.Cut(how, " ")
				for strings.Contains(how, "seen") && !stale(c.conn) {
					time.Sleep(time.Millisecond)
				}
				if strings.Contains(how, "idle") {
					c.since = c.since.Add(-idleCheck)
					want.Reopened++
				}
				resp, err := c.Do(t.Context(), &Request{Method: method, Path: "/",
					Repeatable: strings.Contains(how, "repeatable")})
				retried := strings.HasPrefix(outcome, "retried")
				failed := strings.HasSuffix(outcome, "failed")
				if retried {
					want.Repeats++
				}
				if resp.Retried != retried || (err != nil) != failed || !failed &&
					(string(resp.Body) != "ok" || !resp.Dialed) {
					t.Errorf("request %d: %+v, %v; want %s", i, resp, err, step)
				}
				if e, ok := errors.AsType[*Error](err); failed &&
					(!ok || e.Phase != PhaseHeader || e.Timeout) {
					t.Errorf("request %d: %v, want an error in the header phase", i, err)
				}
			}
			got := Stamps().Sub(before)
			got.Kernel, got.Process = 0, 0
			if got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
		})
	}
}
