//go:build unix

package wire

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The deadline of the connection may lie before that of the operation: it is put right when it
// strikes, for reads and for writes, and an operation that is late all the same, or whose context
// ends, still ends.
func TestDeadlineIsSetSeldom(t *testing.T) { synctest.Test(t, testDeadlineIsSetSeldom) }

func testDeadlineIsSetSeldom(t *testing.T) {
	const slow = 300 * time.Millisecond
	defer time.Sleep(slow) // the server ends
	server := piped(func(conn net.Conn) {
		for line := readRequest(conn); line != ""; line = readRequest(conn) {
			if strings.Contains(line, "/slow") {
				time.Sleep(slow)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := newClient(t, Config{URL: "http://host", Dial: server, Timeout: 30 * time.Second})
	do := func(ctx context.Context, path string) error {
		_, err := c.Do(ctx, &Request{Path: path})
		return err
	}
	must(t, do(t.Context(), "/"))
	s := sockOf(c.conn)
	armed := s.armed.Load()
	if err := do(t.Context(), "/"); err != nil || s.armed.Load() != armed {
		t.Errorf("the deadline was set for the second of two operations in a moment (%v)", err)
	}
	// It strikes while the response is waited for, or has struck.
	for _, early := range []time.Duration{slow / 3, -time.Second} {
		c.timeout = slow + often/2
		must(t, s.deadline(time.Now().Add(early)))
		s.armed.Store(s.until.Load())
		if err := do(t.Context(), "/slow"); err != nil || c.resp.Retried || c.resp.Dialed {
			t.Errorf(
				"deadline of the connection %v from now: %v, retried %v; want it set again",
				early,
				err,
				c.resp.Retried,
			)
		}
	}
	c.timeout = 30 * time.Second
	must(t, do(t.Context(), "/"))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(slow/6, cancel)
	begin := time.Now()
	if err := do(ctx, "/slow"); err == nil || time.Since(begin) != slow/6 {
		t.Errorf("an operation whose context ended: %v after %v", err, time.Since(begin))
	}
	c.timeout = slow / 3
	if err := do(t.Context(), "/slow"); timedOut(err) == nil {
		t.Errorf("an operation that takes too long: %v, want a time-out", err)
	}
}
