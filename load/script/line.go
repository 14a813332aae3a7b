package script

import (
	"context"
	"errors"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// A line is a socket of a user that lives across actions: a goroutine reads it, and opens it again
// when it breaks. Its fields belong to the holder of the realm's lock, except where noted.
type line struct {
	r                     *realm
	cfg                   wire.WSConfig
	open, message, closed sobek.Callable // nil without
	object                *sobek.Object
	quit                  context.Context // over when the script has closed it, or the user ends
	stop                  context.CancelFunc
	ws                    *wire.WS      // nil while it is lost
	up                    chan struct{} // closed while there is one
	code                  int           // of the end; 0 before
	asked                 *asking       // by the user's own code; nil when it awaits nothing

	// Of the goroutine that reads:
	beside workload.Beside
	op     wire.Opcode
	data   []byte
	hear   func() error // l.handle
}

// socket is user.socket(url, {open, message, close, headers}).
func (r *realm) socket(c sobek.FunctionCall) sobek.Value {
	t := r.talks()
	if len(t.lines) >= mostSockets {
		panic(r.fault("user.socket: %d sockets are open; close those that are not needed", mostSockets))
	}
	on := c.Argument(1)
	l := &line{r: r, cfg: r.endpoint("user.socket", c.Argument(0), r.own(on, "headers")), up: make(chan struct{})}
	for name, to := range map[string]*sobek.Callable{
		"open": &l.open, "message": &l.message, "close": &l.closed,
	} {
		if f := r.own(on, name); f != nil {
			var ok bool
			if *to, ok = sobek.AssertFunction(f); !ok {
				panic(r.fault("user.socket: %s is not a function", name))
			}
		}
	}
	l.hear = l.handle
	l.object = r.host(module{lineNames, l.member})
	l.quit, l.stop = context.WithCancel(t.life)
	t.lines[l] = struct{}{}
	t.open++
	t.down++
	r.presence()
	ws, err := r.dial(l.cfg)
	if err != nil {
		ws = nil // [line.live] tries again
	} else if l.connected(ws); l.open != nil {
		r.frame.stretch.Pause()
		err := r.interpose(r.frame.ctx, ws.Arrived(), new(workload.Beside), l.opened)
		r.frame.stretch.Resume()
		r.threw("socket.open", err)
		r.ended()
	}
	t.wg.Go(func() {
		r.env.Panic(boundary.Do("a socket of a script", func() error {
			l.live(ws)
			return nil
		}))
	})
	return l.object
}

// connected takes in a connection.
func (l *line) connected(ws *wire.WS) {
	l.ws = ws
	close(l.up)
	l.r.talk.down--
	l.r.presence()
}

// opened calls the handler of a new connection.
func (l *line) opened() error {
	if l.open == nil {
		return nil
	}
	return finished(l.open(sobek.Undefined(), l.object))
}

// finished returns the error of an action or a handler. A handler that is async is a mistake: nothing
// goes on after it.
func finished(v sobek.Value, err error) error {
	_, err = settled(v, err)
	return err
}

// live reads the connection, if there is one, and opens it again when it breaks: after 1 s, then 2 s,
// 4 s and so on up to 30 s, as at pace 1.
func (l *line) live(ws *wire.WS) {
	r := l.r
	for n := 0; ; n++ {
		if ws != nil {
			n = 0
			if !l.lost(ws, l.read(ws)) {
				return
			}
		}
		again := r.user.Now() + r.user.Reopening(n)
		if r.user.Clock().SleepUntil(l.quit, again) != nil {
			return
		}
		ws = l.regain(again)
	}
}

// regain opens the connection again; nil if that failed.
func (l *line) regain(at time.Duration) (ws *wire.WS) {
	r := l.r
	rec := r.user.Beside(at).Followed()
	ws, err := r.connect(l.quit, r.talk, rec, l.cfg)
	if l.quit.Err() == nil {
		rec.Close() // an op that was given up has not ended
	}
	if err != nil {
		return nil
	}
	taken := false
	err = r.handle(r.talk.life, ws.Arrived(), &l.beside, func() error {
		if l.quit.Err() != nil {
			return nil // closed meanwhile
		}
		taken = true
		l.connected(ws)
		return l.opened()
	})
	r.threw("socket.open", err)
	if !taken {
		ws.Drop()
		return nil
	}
	return ws
}

// read reads a connection until it ends.
func (l *line) read(ws *wire.WS) error {
	defer ws.Release()
	for {
		op, data, at, err := ws.Read(l.r.talk.life)
		if err == nil {
			err = l.deliver(ws, op, data, at)
		}
		if err != nil {
			return err
		}
	}
}

// deliver has the script handle a message. It is the boundary of one message.
func (l *line) deliver(ws *wire.WS, op wire.Opcode, data []byte, at time.Time) (err error) {
	defer boundary.Recover("handling a message of a socket", &err)
	r := l.r
	if read, kernel := ws.LastRead(); kernel && r.series.prefix == "" {
		r.user.Recorder().Lag(r.talk.inbox, max(read.Sub(at), 0))
	}
	l.op, l.data = op, data
	r.threw("socket.message", r.handle(r.talk.life, at, &l.beside, l.hear))
	l.data = nil
	return nil
}

// handle passes the message on: to who asked for it, and to the handler.
func (l *line) handle() error {
	if l.code != 0 || l.asked == nil && l.message == nil {
		return nil
	}
	v := l.r.value(l.op, l.data)
	if l.asked != nil {
		l.match(v)
	}
	if l.message == nil {
		return nil
	}
	return finished(l.message(sobek.Undefined(), v, l.object))
}

// lost takes in the end of a connection, and reports whether it is to be opened again.
func (l *line) lost(ws *wire.WS, err error) (again bool) {
	ws.Drop()
	r := l.r
	r.mu.Lock()
	t := r.talk
	code := l.code
	if again = code == 0 && l.quit.Err() == nil; again {
		l.ws, l.up = nil, make(chan struct{})
		t.down++
		r.presence()
		if l.asked != nil && !l.asked.sent.IsZero() {
			l.asked.settle(nil, nil, time.Now(), measure.WS)
		}
	}
	r.mu.Unlock()
	if again {
		r.broke(t, err)
		code = closeCode(err)
	}
	if l.closed != nil {
		r.threw("socket.close", r.handle(t.life, time.Now(), &l.beside, func() error {
			return finished(l.closed(sobek.Undefined(), r.rt.ToValue(code), l.object))
		}))
	}
	return again
}

// codeOfClose returns the code with which a script closes a connection.
func codeOfClose(v sobek.Value) int {
	if code := v.ToInteger(); 1000 <= code && code <= 4999 {
		return int(code)
	}
	return wire.CloseNormal
}

// closeCode returns the code with which a connection was closed; 1006 if there is none.
func closeCode(err error) int {
	if e, ok := errors.AsType[*wire.CloseError](err); ok {
		return e.Code
	}
	return 1006
}

var lineNames = []string{"ask", "close", "send"}

func (l *line) member(_ *realm, name string) sobek.Value {
	switch name {
	case "ask":
		return l.r.function(l.ask)
	case "send":
		return l.r.function(l.send)
	}
	return l.r.function(l.close)
}

// close is socket.close(code): the socket is not opened again.
func (l *line) close(c sobek.FunctionCall) sobek.Value {
	if l.code != 0 {
		return sobek.Undefined()
	}
	l.code = codeOfClose(c.Argument(0))
	if l.asked != nil { // by a handler
		l.asked.settle(nil, nil, time.Now(), measure.WS)
	}
	r, ws := l.r, l.ws
	t := r.talk
	delete(t.lines, l)
	t.open--
	if ws == nil {
		t.down--
	}
	r.presence()
	l.stop()
	if l.ws = nil; ws != nil {
		r.wait(func(context.Context) { _ = ws.Close(l.code, "") }) // a connection that is gone is closed, too
	}
	return sobek.Undefined()
}

// began is the instant from which the instants that scripts get are counted, in nanoseconds.
var began = time.Now()

// send is socket.send(text). Its result is the instant for ledger.sent; undefined while the
// connection is lost.
func (l *line) send(c sobek.FunctionCall) sobek.Value {
	l.closable("send")
	ws, text, at := l.ws, []byte(c.Argument(0).String()), time.Now()
	if ws == nil {
		return sobek.Undefined()
	}
	var err error
	l.r.wait(func(context.Context) { err = ws.WriteText(text) })
	if err != nil {
		return sobek.Undefined() // which the reader finds, too
	}
	l.r.frame.sent = at
	return l.r.rt.ToValue(int64(at.Sub(began)))
}

// closable throws if the script has closed the socket.
func (l *line) closable(call string) {
	if l.code != 0 {
		panic(l.r.fault("socket.%s(): the socket is closed", call))
	}
}
