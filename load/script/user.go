package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// ownNames are the members of the module plimsoll.
var ownNames = []string{"ledger", "user"}

func ownMember(r *realm, name string) sobek.Value {
	if name == "ledger" {
		return r.host(module{ledgerNames, ledgerMember})
	}
	return r.host(module{userNames, userMember})
}

var userNames = []string{"id", "pick", "rank", "socket"}

func userMember(r *realm, name string) sobek.Value {
	switch name {
	case "id":
		return r.rt.ToValue(r.user.ID)
	case "rank":
		return r.rt.ToValue(r.user.Rank)
	case "pick":
		return r.function(func(c sobek.FunctionCall) sobek.Value {
			n := c.Argument(0).ToInteger()
			if n < 1 {
				panic(r.fault("user.pick(n): n is %d; want 1 or more", n))
			}
			return r.rt.ToValue(r.user.Pick.Int64N(n))
		})
	}
	return r.function(r.socket)
}

// talk is what one user has of sockets and of the ledger. Its fields belong to the holder of the
// realm's lock, except wg.
type talk struct {
	life   context.Context // of all its sockets; ends when the user ends
	end    context.CancelFunc
	wg     sync.WaitGroup // of the goroutines that read
	lines  map[*line]struct{}
	ledger *workload.Ledger // nil around a run
	open   int              // sockets that should be connected
	down   int              // those of them that are not
	is     bool             // the ledger's word: the user is connected

	connect, inbox, delivery measure.Name
	lost                     measure.Name // of connections that broke
	scratch                  []byte
	id, channel, own         []byte // of a call of the ledger

	pending workload.Message // begun with ledger.sending
}

const (
	mostSockets = 64 // of one user at a time
	askTimeout  = 10 * time.Second
)

// talks returns the user's talk.
func (r *realm) talks() *talk {
	if r.init {
		panic(r.fault("a socket, or the ledger, in the init code; use it in setup or in an action"))
	}
	if r.talk != nil {
		return r.talk
	}
	reg := r.series.reg
	t := &talk{
		lines: map[*line]struct{}{}, ledger: r.env.Ledger,
		inbox: reg.Name(workload.Inbox), delivery: reg.Name(workload.Delivery), lost: reg.Name(workload.Socket),
	}
	if r.series.prefix != "" {
		t.ledger = nil
	}
	t.connect = r.series.op(&t.scratch, workload.Connect, "", "").Name
	t.life, t.end = context.WithCancel(context.Background())
	r.talk = t
	r.closers = append(r.closers, r.hangUp)
	return t
}

// hangUp ends all sockets of the user, and waits for their goroutines.
func (r *realm) hangUp() {
	r.mu.Lock()
	t := r.talk
	r.unanswered()
	t.end()
	var open []*wire.WS
	for l := range t.lines {
		if l.ws != nil {
			open = append(open, l.ws)
		}
	}
	t.open = 0
	r.presence()
	r.mu.Unlock()
	for _, ws := range open {
		_ = ws.Close(wire.CloseNormal, "") // a connection that is gone is closed, too
	}
	t.wg.Wait()
}

// presence reports to the ledger whether the user hears everything: it has sockets, and all of them
// are connected.
func (r *realm) presence() {
	t := r.talk
	is := t.open > 0 && t.down == 0
	switch {
	case is == t.is:
	case is:
		t.ledger.Connected(r.user.ID, time.Now(), false)
	default:
		t.ledger.Disconnected(r.user.ID)
	}
	t.is = is
}

// dial opens a WebSocket in the code that runs, as a host call that waits.
func (r *realm) dial(cfg wire.WSConfig) (ws *wire.WS, err error) {
	t, rec := r.talks(), r.recorder()
	r.apart(func(ctx context.Context) { ws, err = r.connect(ctx, t, rec, cfg) })
	r.ended()
	r.rejoined()
	r.frame.failed = r.frame.failed || err != nil
	return ws, err
}

// connect opens a WebSocket and records it. It needs no lock. There is none if ctx is over.
func (r *realm) connect(ctx context.Context, t *talk, rec recorder, cfg wire.WSConfig) (*wire.WS, error) {
	if err := r.user.Clock().Wait(ctx); err != nil {
		return nil, workload.ErrStop
	}
	rec.Begin(t.connect)
	start := time.Now() // the op is the connecting itself: nothing of it is wait
	ws, err := wire.DialWS(ctx, cfg)
	if ctx.Err() != nil {
		if ws != nil {
			ws.Drop()
		}
		return nil, workload.ErrStop
	}
	done, class := time.Now(), measure.OK
	if err == nil {
		done = ws.Arrived()
	} else {
		class = workload.ClassOf(err)
		text := plain.Excerpt(err.Error(), mostText)
		r.first(workload.Connect, class, text)
	}
	rec.Done(t.connect, start, start, done, class, 0)
	return ws, err
}

// first prints the first failure of a series in its class.
func (r *realm) first(series string, class measure.Class, text string) {
	r.once(series+class.String(), "first failure of its kind: "+series+": "+text+" ("+class.String()+")")
}

// broke counts the end of a connection that the script did not close. It needs no lock.
func (r *realm) broke(t *talk, err error) {
	if r.series.prefix != "" {
		return
	}
	class := workload.ClassOf(err)
	r.user.Recorder().Error(t.lost, class)
	r.first(workload.Socket, class, "lost: "+plain.Excerpt(err.Error(), mostText))
}

// threw counts an exception of a handler. It needs no lock.
func (r *realm) threw(handler string, err error) {
	if e, ok := errors.AsType[*Exception](err); ok {
		n := r.series.reg.Name(workload.Iteration + handler)
		r.user.Recorder().ErrorOf(n, measure.Script, r.user.Now())
		r.once(e.Error(), workload.Exception(handler, e.Error()))
	}
}

// endpoint returns how to open a WebSocket of the target at an address of the script, with these
// header fields.
func (r *realm) endpoint(what string, to, header sobek.Value) wire.WSConfig {
	w := r.http()
	address := to.String()
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		switch strings.ToLower(scheme) {
		case "ws":
			address = "http://" + rest
		case "wss":
			address = "https://" + rest
		}
	}
	path, login, err := w.target.locate(address)
	if missing(to) {
		err = errors.New("there is no URL")
	}
	if err != nil {
		panic(r.fault("%s: %v", what, err))
	}
	cfg := wire.WSConfig{
		URL: "ws" + strings.TrimPrefix(w.target.url, "http") + path, Timeout: r.env.Timeout,
		Clock: r.env.Clock, Dial: r.env.Dial,
	}
	if !missing(header) {
		o := header.ToObject(r.rt)
		for _, name := range o.Keys() {
			cfg.Header = append(cfg.Header, wire.Field{Name: name, Value: o.Get(name).String()})
		}
	}
	set := func(name, value string) {
		if value != "" && !slices.ContainsFunc(cfg.Header, func(f wire.Field) bool {
			return strings.EqualFold(f.Name, name)
		}) {
			cfg.Header = append(cfg.Header, wire.Field{Name: name, Value: value})
		}
	}
	set("User-Agent", w.agent)
	set("Authorization", login)
	return cfg
}

// value returns a message as a value: text, or an ArrayBuffer.
func (r *realm) value(op wire.Opcode, data []byte) sobek.Value {
	if op == wire.OpBinary {
		return r.rt.ToValue(r.rt.NewArrayBuffer(slices.Clone(data)))
	}
	return r.rt.ToValue(string(data))
}

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

// finished returns the error of a handler. One that is async is a mistake: nothing goes on after it.
func finished(v sobek.Value, err error) error {
	if err == nil {
		_, err = settled(v)
	}
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

// asking is a message that the user's own code awaits.
type asking struct {
	match sobek.Callable
	sent  time.Time     // zero before
	done  chan struct{} // closed by settle
	over  bool
	value sobek.Value
	err   error
	at    time.Time
	class measure.Class
	bytes int
}

func (q *asking) settle(v sobek.Value, err error, at time.Time, class measure.Class) {
	if !q.over {
		q.over, q.value, q.err, q.at, q.class = true, v, err, at, class
		close(q.done)
	}
}

// stale is how long before its question a message may have come and be its answer: the kernel's clock
// is not exactly this one.
const stale = time.Millisecond

// match settles the question if a message answers it.
func (l *line) match(v sobek.Value) {
	q, at := l.asked, l.r.frame.at
	if q.over || q.sent.IsZero() || q.sent.Sub(at) > stale {
		return
	}
	got, err := q.match(sobek.Undefined(), v)
	switch {
	case err != nil:
		l.r.rt.ClearInterrupt() // the question's own code goes on with it
		q.settle(nil, err, at, measure.Script)
	case got.ToBoolean():
		q.bytes = len(l.data)
		q.settle(got, nil, at, measure.OK)
	}
}

// ask is socket.ask(name, text, match, timeout): one operation from sending to the arrival of the
// first message for which match returns something true. A connection that is lost is awaited first,
// which is no part of the operation: the user is away, and counts as disconnected.
func (l *line) ask(c sobek.FunctionCall) sobek.Value {
	r := l.r
	l.closable("ask")
	name, text := c.Argument(0).String(), []byte(c.Argument(1).String())
	match, ok := sobek.AssertFunction(c.Argument(2))
	switch {
	case r.frame.beside != nil:
		panic(r.fault("socket.ask() in a handler of a socket: no message is read meanwhile"))
	case !ok || name == "":
		panic(r.fault("want socket.ask(name, text, match, timeout), as in " +
			"ask(\"history\", text, (answer) => JSON.parse(answer).ids)"))
	}
	timeout := askTimeout
	if v := c.Argument(3); !missing(v) {
		timeout = r.duration(v, time.Millisecond)
	}
	t := r.talk
	n := r.series.op(&t.scratch, name, "", "").Name
	timer := r.user.Clock().NewTimer()
	defer timer.Stop()
	q := &asking{match: match, done: make(chan struct{})}
	l.asked = q
	defer func() { l.asked = nil }()
	class := measure.WS
	if timer.Reset(r.user.Now() + timeout); l.connection(q, timer.C) {
		class = measure.Timeout
	}
	r.user.Begin(n)
	due := time.Now()
	q.sent = due
	if ws := l.ws; class == measure.Timeout {
		r.frame.sent = q.sent
		timer.Reset(r.user.Now() + timeout)
		r.apart(func(ctx context.Context) {
			_ = ws.WriteText(text) // the reader finds a connection that is lost
			q.await(ctx, timer.C, nil)
		})
		r.ended()
	}
	q.settle(nil, nil, time.Now(), class)
	sent, done := q.sent, q.at
	if done.Before(sent) {
		done = sent
	}
	r.user.Done(n, due, sent, done, q.class, int64(q.bytes))
	r.rejoined()
	r.frame.failed = r.frame.failed || q.class != measure.OK
	switch {
	case q.err != nil:
		panic(q.err)
	case q.value == nil:
		r.first(name, q.class, "no answer")
		return sobek.Undefined()
	}
	return q.value
}

// await waits until the question is settled, until the time is over or until there is a connection.
func (q *asking) await(ctx context.Context, late <-chan time.Time, up <-chan struct{}) (over bool) {
	select {
	case <-up:
		return false
	case <-q.done:
	case <-late:
	case <-ctx.Done():
	}
	return true
}

// connection waits for a connection, and reports whether there is one in time.
func (l *line) connection(q *asking, late <-chan time.Time) bool {
	for l.ws == nil {
		up, over := l.up, false
		l.r.apart(func(ctx context.Context) { over = q.await(ctx, late, up) })
		l.r.ended()
		if l.r.user.Rejoin(l.r.user.Now()); over {
			return false
		}
	}
	return true
}
