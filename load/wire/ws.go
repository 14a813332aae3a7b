package wire

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"plimsoll/load/clock"
)

const (
	maxMessage = 1 << 20 // bytes of a WebSocket message
	// The fragments of a message have so many bytes on average, or there are too many.
	leastFragment = 256
	mostControls  = 100 // control frames within controlsOver
	// A server's own pings come a few times a minute, and a pong is the reply to a ping of ours.
	controlsOver = 10 * time.Second
)

// A WSConfig describes a WebSocket connection.
type WSConfig struct {
	URL     string        // ws://host:port/path?query or wss://...
	Header  []Field       // further header lines of the handshake
	Token   string        // if not empty, sent as "Authorization: Bearer Token"
	Timeout time.Duration // of the whole handshake, and of every write; 0 means DefaultTimeout
	// Read fails with a time-out if nothing at all comes for so long; 0 means never
	Idle time.Duration

	// Control, if not nil, is called by the reading goroutine for each ping and pong that came. The
	// data is valid during the call.
	Control func(pong bool, data []byte)

	// Clock counts Timeout and Idle. While it stands still, no handshake begins. Nil means real
	// time.
	Clock *clock.Clock

	// Dial replaces [Dial]. It may be nil.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// For tests: TLS of a wss URL, and the budget in place of the process's.
	tls    *tls.Config
	budget *Budget
}

// A CloseError reports that the server closed the connection with a close frame.
type CloseError struct {
	Code   int // RFC 6455, 7.4; 1005 if the server gave none
	Reason string
}

// Error describes the reason.
func (e *CloseError) Error() string {
	return fmt.Sprintf("closed by the server: %d %s", e.Code, e.Reason)
}

// Close codes that this package sends itself.
const (
	CloseNormal   = 1000
	closeProtocol = 1002
	closeNoStatus = 1005
	closeNotText  = 1007
	closePolicy   = 1008
	closeTooBig   = 1009
)

// A WS is one user's WebSocket connection. One goroutine may Read while any number of others write
// and one closes.
type WS struct {
	conn    net.Conn
	clock   *clock.Clock // nil unless it can be stopped
	timeout time.Duration
	idle    time.Duration
	heard   func(pong bool, data []byte)

	// Of the reader:
	watch watch
	rd    reader
	first [maxServerHead]byte
	at    time.Time // arrival of the last message
	kern  bool      // that is the kernel's stamp
	// the read under way ends with its context's deadline, before it has been idle for too long
	ours  bool
	tally *tally
	kept  *buffer // a fragmented message
	skip  int     // bytes of rd that the last message occupied
	err   *Error  // final

	controls int       // control frames since
	since    time.Time // at most controlsOver ago when the last of them came

	wmu    sync.Mutex
	werr   error // final
	closed bool  // a close frame was sent
}

// DialWS connects and shakes hands. A server that answers with anything but a good 101 is reported
// as a [*HandshakeError] inside the [*Error]; ctx limits the handshake only.
func DialWS(ctx context.Context, cfg WSConfig) (w *WS, err error) {
	aside(func() { w, err = dialWS(ctx, cfg) })
	return w, err
}

func dialWS(ctx context.Context, cfg WSConfig) (*WS, error) {
	o, err := parseOrigin(cfg.URL, "ws", "wss", cfg.tls)
	if err != nil {
		return nil, &Error{Err: err}
	}
	o.dial, o.clock = cfg.Dial, stoppable(cfg.Clock)
	w := &WS{
		clock:   o.clock,
		timeout: cfg.Timeout,
		idle:    cfg.Idle,
		heard:   cfg.Control,
		watch:   watch{reads: true},
		tally:   nextTally(),
	}
	w.rd.of = cfg.budget
	if w.timeout <= 0 {
		w.timeout = DefaultTimeout
	}
	path := o.path
	if path == "" || path[0] == '?' {
		path = "/" + path
	}
	req := &Request{Path: path, Header: cfg.Header, Token: cfg.Token}
	if err := req.check(); err != nil {
		return nil, &Error{Err: err}
	}
	if w.clock != nil {
		_ = w.clock.Wait(ctx) // its error is that of ctx
	}
	if ctx.Err() != nil {
		return nil, newError(ctx, PhaseNone, nil)
	}
	l := within(ctx, time.Now(), w.timeout, patience(w.clock))
	conn, e := o.connect(ctx, l)
	if e != nil {
		return nil, e
	}
	w.conn = conn
	both := watch{}
	both.begin(ctx, conn, l)
	err = w.handshake(req, &o)
	both.end()
	both.unregister()
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		w.rd.release()
		return nil, newError(ctx, PhaseWS, err)
	}
	both.set(conn, limit{}) // fails only on a closed connection, which the first read reports
	return w, nil
}

// LastRead returns when the last message was handed to this process, and whether the arrival that
// Read returned with it was the kernel's stamp. The difference is the delay within this process.
// Like Read, it belongs to the reading goroutine.
func (w *WS) LastRead() (read time.Time, kernel bool) { return w.rd.last.now, w.kern }

// Arrived returns when the last byte of the last message came, or before the first one that of the
// handshake. Like Read, it belongs to the reading goroutine.
func (w *WS) Arrived() time.Time { return w.at }

// Read returns the next text or binary message, with its fragments joined, and the arrival of its
// last byte. Pings are answered on the way. The data is valid until the next Read. An error is an
// [*Error] with a [*CloseError] inside if the server closed in order; it is final, except that of a
// context that is over while nothing was on the way.
func (w *WS) Read(ctx context.Context) (op Opcode, data []byte, at time.Time, err error) {
	if w.err != nil {
		return 0, nil, w.at, w.err
	}
	w.forget()
	w.await(ctx)
	op, data, err = w.message(ctx)
	w.watch.end()
	if err == nil {
		w.at, w.kern = w.rd.last.arrival(w.at)
		w.tally.count(w.kern)
		return op, data, w.at, nil
	}
	e := newError(ctx, PhaseWS, err)
	again := (w.ours || ctx.Err() != nil) && isTimeout(err) && w.rd.r == w.rd.w && w.kept == nil
	if !again {
		w.err = e
		w.fail(err)
		w.watch.unregister()
		w.rd.empty()
		putBuffer(w.kept)
		w.kept = nil
	}
	return 0, nil, time.Now(), e
}

// await limits the read that begins, or goes on after a sign of life: to the idle time from now on,
// or the deadline of ctx if that is earlier.
func (w *WS) await(ctx context.Context) {
	var l limit
	if w.idle > 0 {
		l = within(context.Background(), time.Now(), w.idle, patience(w.clock))
	}
	d, ok := ctx.Deadline()
	if w.ours = ok && (l.at.IsZero() || d.Before(l.at)); w.ours {
		l = limit{at: d}
	}
	w.watch.begin(ctx, w.conn, l)
}

// forget releases the last message.
func (w *WS) forget() {
	putBuffer(w.kept)
	w.kept = nil
	w.rd.r += w.skip
	w.skip = 0
	if w.rd.buf != nil && w.rd.r == w.rd.w {
		w.rd.empty()
	}
}

// Release ends the reading: the last message and the context of the reads go, and each further Read
// fails. The reading goroutine calls it when it reads no more, as after a message that it has no
// use for; a context that outlives the connection holds both else. It does not close the
// connection.
func (w *WS) Release() {
	if w.err == nil {
		w.err = newError(context.Background(), PhaseWS, net.ErrClosed)
	}
	w.watch.unregister()
	w.forget()
	w.rd.empty()
}

// fail reports a protocol error to the server and closes the connection.
func (w *WS) fail(err error) {
	code := 0
	switch err {
	case errUTF8:
		code = closeNotText
	case ErrMessageSize, ErrBudget:
		code = closeTooBig
	case ErrFragments, ErrControls:
		code = closePolicy
	default:
		if _, ok := errors.AsType[ProtocolError](err); ok {
			code = closeProtocol
		}
	}
	if code != 0 {
		_ = w.sendClose(code, "") // the connection goes down either way
	}
	w.conn.Close()
}

// closeCode reports whether a code may stand in a close frame (RFC 6455, 7.4).
func closeCode(code int) bool {
	switch {
	case code < 1000,
		code == 1004,
		code == closeNoStatus,
		code == 1006,
		1015 <= code && code < 3000,
		code >= 5000:
		return false
	}
	return true
}

var errUTF8 = errors.New("text is not UTF-8")

// message reads frames until one message is whole.
func (w *WS) message(ctx context.Context) (Opcode, []byte, error) {
	kept, fragments := 0, int64(0)
	op := opContinuation // of the message that has begun
	for {
		h, err := w.head()
		if err != nil {
			return 0, nil, err
		}
		if !h.op.control() {
			switch {
			case (h.op == opContinuation) != (op != opContinuation):
				return 0, nil, ProtocolError(
					"a message begins within another, or a continuation without a beginning",
				)
			case h.length > maxMessage-int64(kept):
				return 0, nil, ErrMessageSize
			}
		}
		if err := w.need(h.size + int(h.length)); err != nil {
			return 0, nil, err
		}
		payload := w.rd.buf.b[w.rd.r+h.size : w.rd.r+h.size+int(h.length)]
		if h.op.control() {
			err := w.restrain()
			if err == nil {
				err = w.control(h.op, payload)
			}
			w.rd.r += h.size + len(payload)
			if err != nil {
				return 0, nil, err
			}
			if w.rd.r == w.rd.w {
				w.rd.empty()
			}
			if w.idle > 0 {
				w.await(ctx)
			}
			continue
		}
		if h.op != opContinuation {
			op = h.op
			if h.fin { // by far the most common case: the message stays where it is
				w.skip = h.size + len(payload)
				if op == OpText && !utf8.Valid(payload) {
					return 0, nil, errUTF8
				}
				return op, payload, nil
			}
			w.kept = getBuffer(w.rd.of)
		}
		if fragments++; fragments > maxMessage/leastFragment {
			return 0, nil, ErrFragments
		}
		if err := w.kept.grow(kept, kept+len(payload), maxMessage); err != nil {
			return 0, nil, err
		}
		kept += copy(w.kept.b[kept:], payload)
		w.rd.r += h.size + len(payload)
		if h.fin {
			if op == OpText && !utf8.Valid(w.kept.b[:kept]) {
				return 0, nil, errUTF8
			}
			return op, w.kept.b[:kept], nil
		}
	}
}

// head reads the head of the next frame and leaves it where it is.
func (w *WS) head() (frameHead, error) {
	for n := 1; ; n++ {
		if err := w.need(n); err != nil {
			return frameHead{}, err
		}
		n = w.rd.w - w.rd.r
		h, err := parseFrameHead(w.rd.buf.b[w.rd.r:w.rd.w])
		if err != nil || h.size > 0 {
			return h, err
		}
	}
}

// need makes at least n bytes of the next frames available. It waits for the first byte without a
// buffer.
func (w *WS) need(n int) error {
	for w.rd.w-w.rd.r < n {
		var err error
		switch {
		case w.rd.buf != nil:
			if n > len(w.rd.buf.b) {
				err = w.rd.fillTo(n)
			} else {
				err = w.rd.fill()
			}
		case w.rd.plain() != nil:
			err = w.rd.fill()
		default: // no buffer while waiting for TLS, either
			var m int
			if m, err = w.rd.direct(w.first[:]); m > 0 {
				w.rd.buf = getBuffer(w.rd.of)
				w.rd.r, w.rd.w = 0, copy(w.rd.buf.b, w.first[:m])
			}
		}
		if err != nil {
			if w.rd.buf != nil || w.kept != nil {
				err = noEOF(err)
			}
			return err
		}
	}
	return nil
}

// restrain counts a control frame and fails if there were too many.
func (w *WS) restrain() error {
	if now := w.rd.last.now; now.Sub(w.since) > controlsOver {
		w.since, w.controls = now, 0
	}
	if w.controls++; w.controls > mostControls {
		return ErrControls
	}
	return nil
}

// control handles a control frame.
func (w *WS) control(op Opcode, payload []byte) error {
	if w.heard != nil && op != opClose {
		w.heard(op == opPong, payload)
	}
	switch op {
	case opPing:
		return w.write(opPong, payload)
	case opClose:
		e := &CloseError{Code: closeNoStatus}
		if len(payload) == 1 {
			return ProtocolError("close frame with half a code")
		}
		if len(payload) >= 2 {
			if e.Code = int(binary.BigEndian.Uint16(payload)); !closeCode(e.Code) {
				return ProtocolError(
					fmt.Sprintf("close frame with the code %d, which must not be sent", e.Code),
				)
			}
			if !utf8.Valid(payload[2:]) {
				return errUTF8
			}
			e.Reason = string(payload[2:])
		}
		code := e.Code
		if code == closeNoStatus {
			code = CloseNormal
		}
		_ = w.sendClose(code, "") // the server may be gone already
		return e
	default:
		return nil // a pong
	}
}

// WriteText sends one text message. It is safe to call from several goroutines, also while another
// reads.
func (w *WS) WriteText(data []byte) error { return w.result(w.write(OpText, data)) }

// WriteBinary is WriteText for a binary message.
func (w *WS) WriteBinary(data []byte) error { return w.result(w.write(OpBinary, data)) }

// Ping sends a ping with at most 125 bytes.
func (w *WS) Ping(data []byte) error {
	return w.result(w.write(opPing, data[:min(len(data), maxControl)]))
}

// Close sends a close frame with a code of RFC 6455, 7.4 ([CloseNormal]) and at most 123 bytes of
// reason, and closes the connection. A Read under way fails. Closing twice does nothing.
func (w *WS) Close(code int, reason string) error {
	err := w.sendClose(code, reason)
	w.conn.Close()
	return w.result(err)
}

// Drop closes the connection without a close frame, like a network failure.
func (w *WS) Drop() { w.conn.Close() }

func (w *WS) result(err error) error {
	if err == nil {
		return nil
	}
	return newError(context.Background(), PhaseWS, err)
}

func (w *WS) sendClose(code int, reason string) error {
	if len(reason) > maxControl-2 {
		reason = reason[:maxControl-2]
	}
	payload := binary.BigEndian.AppendUint16(make([]byte, 0, maxControl), uint16(code))
	return w.write(opClose, append(payload, reason...))
}

// write sends one frame, masked with a fresh random key. The first error is final: a frame cut in
// two cannot be mended.
func (w *WS) write(op Opcode, data []byte) error {
	w.wmu.Lock()
	defer w.wmu.Unlock()
	if w.werr != nil {
		return w.werr
	}
	if w.closed {
		if op == opClose {
			return nil
		}
		return net.ErrClosed
	}
	w.closed = op == opClose
	var key [4]byte
	binary.LittleEndian.PutUint32(key[:], rand.Uint32())
	buf := getBuffer(w.rd.of)
	buf.b = appendFrame(buf.b[:0], op, key, data)
	now := time.Now()
	if s := sockOf(w.conn); s != nil && s.clock != nil {
		s.bound(writes, within(context.Background(), now, w.timeout, patience(w.clock)))
	}
	if err := w.conn.SetWriteDeadline(now.Add(w.timeout)); err != nil {
		w.werr = err
	} else if _, err := w.conn.Write(buf.b); err != nil {
		w.werr = err
	}
	putBuffer(buf)
	return w.werr
}
