package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// wsNames are the members of the module k6/ws.
var wsNames = []string{"connect", "default"}

func wsMember(r *realm, name string) sobek.Value {
	if name == "default" {
		return r.module("k6/ws")
	}
	return r.function(r.wsConnect)
}

// A wsEvent is what the reader of a session passes on.
type wsEvent struct {
	name string // of the handler
	op   wire.Opcode
	data []byte
	at   time.Time
	err  error // of close: why the connection ended
}

// A wsTimer is a function of the script that is due at a time of the user's clock.
type wsTimer struct {
	f     sobek.Callable
	due   time.Duration
	every time.Duration // 0: once
}

// A session is one call of ws.connect. It belongs to the user's own goroutine.
type session struct {
	r      *realm
	ws     *wire.WS // nil if there is no connection
	object *sobek.Object
	on     map[string][]sobek.Callable
	timers []*wsTimer // by time
	code   int        // with which the script has closed it; 0 before
}

// wsConnect is ws.connect(url, params, function (socket) {…}): it returns when the connection has
// ended.
func (r *realm) wsConnect(c sobek.FunctionCall) sobek.Value {
	t := r.talks()
	setup, ok := sobek.AssertFunction(c.Argument(2))
	params := c.Argument(1)
	if !ok {
		setup, ok = sobek.AssertFunction(params)
		params = nil
	}
	switch {
	case !ok:
		panic(r.fault("ws.connect(url, params, function (socket) {…}): there is no function"))
	case r.frame.beside != nil:
		panic(r.fault("ws.connect() in a handler of a socket: no message is read meanwhile; use user.socket"))
	}
	cfg := r.endpoint("ws.connect", c.Argument(0), r.own(params, "headers"))
	s := &session{r: r, on: map[string][]sobek.Callable{}}
	s.object = r.host(module{sessionNames, s.member})
	events, over := make(chan wsEvent, 64), make(chan struct{})
	cfg.Control = func(pong bool, data []byte) {
		name := "ping"
		if pong {
			name = "pong"
		}
		pass(events, over, wsEvent{name: name, data: slices.Clone(data), at: time.Now()})
	}
	ws, err := r.dial(cfg)
	if err != nil {
		return s.refused(setup, cfg.URL, err)
	}
	s.ws = ws
	start := r.user.Now()
	t.wg.Go(func() { listen(ws, events, over) })
	t.open++
	r.presence()
	good := false
	defer func() { // the run may have ended, or a handler have thrown
		_ = ws.Close(wire.CloseNormal, "") // a connection that is gone is closed, too
		close(over)
		t.open--
		r.presence()
		if r.frame.ctx.Err() == nil {
			r.span(r.series.group("ws session"), start, r.user.Now()-start, !good)
		}
	}()
	must(setup(sobek.Undefined(), s.object))
	s.call("open")
	s.loop(events)
	good = true
	return s.response(101, cfg.URL, "")
}

// refused is the end of a call without a connection.
func (s *session) refused(setup sobek.Callable, url string, err error) sobek.Value {
	must(setup(sobek.Undefined(), s.object))
	text := plain.Excerpt(err.Error(), mostText)
	s.call("error", s.fault(text))
	status := 0
	if e, ok := errors.AsType[*wire.HandshakeError](err); ok {
		status = e.Status
	}
	return s.response(status, url, text)
}

func (s *session) fault(text string) sobek.Value { return s.r.rt.NewGoError(errors.New(text)) }

// response is what ws.connect returns.
func (s *session) response(status int, url, problem string) sobek.Value {
	return s.r.object("status", status, "url", url, "error", problem, "body", "",
		"headers", s.r.rt.NewObject())
}

// listen reads a connection until it ends.
func listen(ws *wire.WS, events chan<- wsEvent, over <-chan struct{}) {
	end := wsEvent{name: "close"}
	end.err = boundary.Do("reading a WebSocket", func() error {
		defer ws.Release()
		for {
			op, data, at, err := ws.Read(context.Background()) // ends with the connection
			if err != nil {
				return err
			}
			name := "message"
			if op == wire.OpBinary {
				name = "binaryMessage"
			}
			pass(events, over, wsEvent{name: name, op: op, data: slices.Clone(data), at: at})
		}
	})
	end.at = time.Now()
	pass(events, over, end)
}

// pass hands an event to the user's goroutine, unless it listens no more.
func pass(events chan<- wsEvent, over <-chan struct{}, e wsEvent) {
	select {
	case events <- e:
	case <-over:
	}
}

// loop handles events and timers until the connection has ended.
func (s *session) loop(events <-chan wsEvent) {
	r := s.r
	timer := r.user.Clock().NewTimer()
	defer timer.Stop()
	for s.code == 0 {
		if len(s.timers) > 0 {
			timer.Reset(s.timers[0].due)
		}
		var e wsEvent
		r.apart(func(ctx context.Context) {
			select {
			case e = <-events:
			case <-timer.C:
			case <-ctx.Done():
			}
		})
		r.ended()
		switch {
		case e.name == "":
			s.tick()
		case s.handle(e):
			return
		}
	}
	s.call("close", r.rt.ToValue(s.code))
}

// handle calls the handlers of an event, and reports whether it was the last.
func (s *session) handle(e wsEvent) (last bool) {
	r := s.r
	r.user.Rejoin(r.user.Since(e.at)) // the user could go on when it came
	if e.name == "close" {
		code := closeCode(e.err)
		if code != wire.CloseNormal && code != 1005 {
			r.broke(r.talk, e.err)
			s.call("error", s.fault(plain.Excerpt(e.err.Error(), mostText)))
		}
		s.call("close", r.rt.ToValue(code))
		return true
	}
	if len(s.on[e.name]) == 0 {
		return false
	}
	r.frame.at = e.at
	s.call(e.name, r.value(e.op, e.data))
	r.frame.at = time.Time{}
	return false
}

// call calls the handlers of that name.
func (s *session) call(name string, args ...sobek.Value) {
	for _, f := range s.on[name] {
		must(f(s.object, args...))
	}
}

// tick calls the function that is due.
func (s *session) tick() {
	r := s.r
	if len(s.timers) == 0 || s.timers[0].due > r.user.Now() {
		return
	}
	t := s.timers[0]
	s.timers = s.timers[1:]
	r.user.Rejoin(t.due)
	if t.every > 0 {
		t.due = max(t.due+t.every, r.user.Now()) // what a busy script missed is not made up for
		s.schedule(t)
	}
	must(t.f(s.object))
}

// schedule adds a timer.
func (s *session) schedule(t *wsTimer) {
	i, _ := slices.BinarySearchFunc(s.timers, t.due, func(x *wsTimer, due time.Duration) int {
		if x.due <= due {
			return -1
		}
		return 1
	})
	s.timers = slices.Insert(s.timers, i, t)
}

const (
	mostTimers   = 1000
	mostHandlers = 100 // of one event
)

var sessionNames = []string{"close", "on", "ping", "send", "sendBinary", "setInterval", "setTimeout"}

func (s *session) member(r *realm, name string) sobek.Value {
	var do func(sobek.FunctionCall)
	switch name {
	case "close":
		do = s.close
	case "on":
		do = s.listenTo
	case "ping":
		do = func(sobek.FunctionCall) { s.write(func(ws *wire.WS) error { return ws.Ping(nil) }) }
	case "send":
		do = func(c sobek.FunctionCall) {
			text := []byte(c.Argument(0).String())
			at := time.Now()
			s.write(func(ws *wire.WS) error { return ws.WriteText(text) })
			r.frame.sent = at
		}
	case "sendBinary":
		do = func(c sobek.FunctionCall) {
			b, ok := c.Argument(0).Export().(sobek.ArrayBuffer)
			if !ok {
				panic(r.fault("socket.sendBinary(buffer): want an ArrayBuffer"))
			}
			data := slices.Clone(b.Bytes())
			s.write(func(ws *wire.WS) error { return ws.WriteBinary(data) })
		}
	case "setInterval", "setTimeout":
		do = func(c sobek.FunctionCall) { s.timer(name, c) }
	}
	return r.procedure(do)
}

// write sends a frame. A connection that is lost is found by the reader.
func (s *session) write(f func(*wire.WS) error) {
	if s.ws != nil && s.code == 0 {
		s.r.wait(func(context.Context) { _ = f(s.ws) })
	}
}

// close is socket.close(code).
func (s *session) close(c sobek.FunctionCall) {
	if s.code != 0 || s.ws == nil {
		return
	}
	s.code = codeOfClose(c.Argument(0))
	s.r.wait(func(context.Context) { _ = s.ws.Close(s.code, "") }) // a connection that is gone is closed, too
}

// wsEvents are the events of a session.
const wsEvents = "open message binaryMessage ping pong close error"

// listenTo is socket.on(event, handler).
func (s *session) listenTo(c sobek.FunctionCall) {
	name := c.Argument(0).String()
	f, ok := sobek.AssertFunction(c.Argument(1))
	switch {
	case !slices.Contains(strings.Fields(wsEvents), name):
		panic(s.r.fault("socket.on(%q): there is no such event; want one of %s", name, wsEvents))
	case !ok:
		panic(s.r.fault("socket.on(%q, handler): there is no handler", name))
	case len(s.on[name]) == mostHandlers:
		panic(s.r.fault("socket.on(%q): more than %d handlers", name, mostHandlers))
	}
	s.on[name] = append(s.on[name], f)
}

// timer is setTimeout and setInterval, in milliseconds as at pace 1.
func (s *session) timer(name string, c sobek.FunctionCall) {
	r := s.r
	f, ok := sobek.AssertFunction(c.Argument(0))
	ms := c.Argument(1).ToFloat()
	switch {
	case !ok:
		panic(r.fault("socket.%s(function, milliseconds): there is no function", name))
	case !(ms > 0) || ms > float64(longest.Milliseconds()):
		panic(r.fault("socket.%s(function, milliseconds): want a number above 0", name))
	case len(s.timers) == mostTimers:
		panic(r.fault("socket.%s: more than %d timers", name, mostTimers))
	}
	d := time.Duration(ms * float64(time.Millisecond) * r.user.Pace)
	t := &wsTimer{f: f, due: r.user.Now() + d}
	if name == "setInterval" {
		t.every = max(d, time.Millisecond)
	}
	s.schedule(t)
}

var _ workload.Auditor = (*Behavior)(nil)
