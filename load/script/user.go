package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"

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
		r.first(workload.Connect, class, "", plain.Excerpt(err.Error(), mostText))
	}
	rec.Done(t.connect, start, start, done, class, 0)
	return ws, err
}

// first prints the first failure of a series in its class and with the same more.
func (r *realm) first(series string, class measure.Class, more, text string) {
	r.once(series+class.String()+more, "first failure of its kind: "+series+": "+text+" ("+class.String()+")")
}

// broke counts the end of a connection that the script did not close. It needs no lock.
func (r *realm) broke(t *talk, err error) {
	if r.series.prefix != "" {
		return
	}
	class := workload.ClassOf(err)
	r.user.Recorder().Error(t.lost, class)
	r.first(workload.Socket, class, "", "lost: "+plain.Excerpt(err.Error(), mostText))
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
	cfg.Header = addField(cfg.Header, "User-Agent", w.agent)
	cfg.Header = addField(cfg.Header, "Authorization", login)
	return cfg
}

// value returns a message as a value: text, or an ArrayBuffer.
func (r *realm) value(op wire.Opcode, data []byte) sobek.Value {
	if op == wire.OpBinary {
		return r.rt.ToValue(r.rt.NewArrayBuffer(slices.Clone(data)))
	}
	return r.rt.ToValue(string(data))
}
