package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/load/clock"
)

// pausing is a server for tests of stops: it answers /ID when the test sends to answer.
type pausing struct {
	*httptest.Server
	*pipes
	came   chan struct{}
	answer chan struct{}
	n      atomic.Int64
}

func newPausing(t *testing.T, secure bool) *pausing {
	p := &pausing{pipes: newPipes(), came: make(chan struct{}, 100), answer: make(chan struct{})}
	over := make(chan struct{})
	p.Server = unstarted(p.pipes, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.n.Add(1)
		p.came <- struct{}{}
		select {
		case <-p.answer:
		case <-r.Context().Done():
		case <-over:
		}
		_, _ = w.Write([]byte("ok"))
	}))
	if p.EnableHTTP2 = secure; secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(func() { close(over); p.Server.Close() })
	return p
}

// unstarted is [httptest.NewUnstartedServer] with another listener.
func unstarted(l net.Listener, h http.Handler) *httptest.Server {
	return &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
}

// forms are the ways in which a client reaches the server.
var forms = []struct {
	name          string
	secure, http2 bool
}{{"plain", false, false}, {"TLS", true, false}, {"HTTP/2", true, true}}

// A limit counts the time of the clock: a stop that is longer does not end an operation, a time
// that has passed on the clock does, and an operation that begins in a stop waits for its end.
func TestLimitThroughStops(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testLimitThroughStops(t, f.secure, f.http2) })
		})
	}
}

func testLimitThroughStops(t *testing.T, secure, http2 bool) {
	const limit = 100 * time.Millisecond
	srv := newPausing(t, secure)
	c := clock.NewStopped(time.Now())
	client := newClient(t, Config{
		URL:     srv.URL,
		Timeout: time.Minute,
		HTTP2:   http2,
		Clock:   c,
		Dial:    srv.dial,
		tls:     &tls.Config{InsecureSkipVerify: true},
	})
	type result struct {
		resp *Response
		err  error
	}
	do := func(ctx context.Context) <-chan result {
		out := make(chan result, 1)
		go func() {
			resp, err := client.Do(ctx, &Request{Path: "/"})
			out <- result{resp, err}
		}()
		return out
	}
	first := do(t.Context())
	synctest.Wait()
	if n := srv.n.Load(); n != 0 {
		t.Errorf("%d requests before the clock was started", n)
	}
	began := time.Now()
	c.Start()
	<-srv.came
	srv.answer <- struct{}{}
	if r := <-first; r.err != nil || r.resp.Due.Before(began) {
		t.Fatalf("an operation that begins with the clock: %v", r.err)
	}

	// The connection's deadline strikes several times in the stop, and once after it.
	for _, again := range []bool{false, true} {
		client.timeout = limit
		if again {
			client.timeout = 20 * limit // no deadline is near, as a rule
		}
		second := do(t.Context())
		<-srv.came
		c.Stop()
		select {
		case r := <-second:
			t.Fatalf("ended in a stop: %v", r.err)
		case <-time.After(5 * limit):
		}
		if n := srv.n.Load(); n > 3 {
			t.Errorf("%d requests", n)
		}
		c.Start()
		srv.answer <- struct{}{}
		if r := <-second; r.err != nil {
			t.Errorf("an operation across a stop of five limits: %v", r.err)
		}
	}

	// No answer: the limit ends it, on the clock.
	client.timeout = limit
	third, from := do(t.Context()), c.Now()
	<-srv.came
	stops(c, limit)
	r := <-third
	if timedOut(r.err) == nil || c.Now()-from != limit {
		t.Errorf("%v after %v of the clock, want a time-out after %v", r.err, c.Now()-from, limit)
	}

	// A context ends an operation in a stop, one that is under way and one that has not begun, and
	// at its deadline.
	client.timeout = time.Minute
	for _, how := range []string{"canceled", "canceled before it begins", "deadline"} {
		ctx, cancel := context.WithCancel(t.Context())
		if how == "deadline" {
			ctx, cancel = context.WithTimeout(t.Context(), limit)
		}
		begun := how != "canceled before it begins"
		if !begun {
			c.Stop()
		}
		out := do(ctx)
		if begun {
			<-srv.came
			c.Stop()
		}
		if how != "deadline" {
			cancel()
		}
		r := <-out
		e, ok := errors.AsType[*Error](r.err)
		if !ok || e.Timeout != (how == "deadline") || !e.Timeout &&
			!errors.Is(e, context.Canceled) || begun && e.Phase != PhaseHeader {
			t.Errorf("%s: %v", how, r.err)
		}
		cancel()
		c.Start()
	}
}

// A clock that cannot be stopped is real time, at no cost.
func TestRunningClockIsNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newPausing(t, false)
		client := newClient(t, Config{URL: srv.URL, Dial: srv.dial, Clock: clock.New(time.Now())})
		if client.o.clock != nil {
			t.Error("the client watches a clock that cannot be stopped")
		}
		_, err := get(t, client)
		if timedOut(err) == nil {
			t.Errorf("%v, want a time-out", err)
		}
	})
}

// A WebSocket's limits are times of the clock, too: of the handshake, of an idle connection and of
// a write.
func TestWSLimitsThroughStops(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testWSLimitsThroughStops(t, secure) })
		})
	}
}

func testWSLimitsThroughStops(t *testing.T, secure bool) {
	const limit = 100 * time.Millisecond
	speak, l := make(chan string), newPipes()
	url, _ := gorillaOn(t, l, secure, func(c *websocket.Conn, _ *http.Request) {
		go func() { // what the client writes, and its end
			for _, _, err := c.ReadMessage(); err == nil; _, _, err = c.ReadMessage() {
			}
		}()
		for text := range speak {
			if c.WriteMessage(websocket.TextMessage, []byte(text)) != nil {
				return
			}
		}
	})
	t.Cleanup(func() { close(speak) })
	c := clock.NewStopped(time.Now())
	began := time.Now()
	time.AfterFunc(3*limit, func() { c.Start() })
	w, err := DialWS(t.Context(), WSConfig{
		URL:     url,
		Dial:    l.dial,
		tls:     &tls.Config{InsecureSkipVerify: true},
		Timeout: time.Minute,
		Idle:    limit,
		Clock:   c,
	})
	if err != nil || time.Since(began) != 3*limit {
		t.Fatalf("dialed after %v: %v; want it to wait for the clock", time.Since(began), err)
	}
	defer w.Close(CloseNormal, "")
	type message struct {
		text string
		err  error
	}
	read := func(ctx context.Context) <-chan message {
		out := make(chan message, 1)
		go func() {
			_, data, _, err := w.Read(ctx)
			out <- message{string(data), err}
		}()
		return out
	}
	c.Stop()
	out := read(t.Context())
	select {
	case m := <-out:
		t.Fatalf("a stop ended the read: %v", m.err)
	case <-time.After(5 * limit):
	}
	if err := w.WriteText([]byte("written in a stop")); err != nil {
		t.Error(err)
	}
	c.Start()
	speak <- "hello"
	if m := <-out; m.err != nil || m.text != "hello" {
		t.Errorf("%q, %v after a stop of five limits", m.text, m.err)
	}
	c.Stop()
	ctx, cancel := c.WithTimeout(t.Context(), limit/10)
	defer cancel()
	out = read(ctx)
	time.Sleep(limit)
	c.Start()
	if m := <-out; timedOut(m.err) == nil {
		t.Errorf("a context whose time on the clock is over: %v, want a time-out", m.err)
	}
	from := c.Now()
	out = read(t.Context())
	stops(c, limit)
	if m := <-out; timedOut(m.err) == nil || c.Now()-from != limit {
		t.Errorf("%v after %v of the clock, want a time-out after %v", m.err, c.Now()-from, limit)
	}
}

// stops stops a clock three times before it has run for a limit.
func stops(c *clock.Clock, limit time.Duration) {
	for range 3 {
		time.Sleep(limit / 10)
		c.Stop()
		time.Sleep(2 * limit)
		c.Start()
	}
}

// timedOut returns err if it is a time-out.
func timedOut(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Timeout {
		return e
	}
	return nil
}
