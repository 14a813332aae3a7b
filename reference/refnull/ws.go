package refnull

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	mostMessage  = 64 << 10
	writeTimeout = time.Second // of the pusher, which must not wait for one slow reader
)

var pool = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// sockets are the open WebSockets, in the order in which the pusher visits them.
type sockets struct {
	mu     sync.Mutex
	list   []*socket
	pushed atomic.Int64
}

// A socket is one WebSocket.
type socket struct {
	conn net.Conn
	at   int // in the list

	mu  sync.Mutex
	seq int64 // of the next event
}

func (x *sockets) add(w *socket) {
	x.mu.Lock()
	w.at = len(x.list)
	x.list = append(x.list, w)
	x.mu.Unlock()
}

func (x *sockets) remove(w *socket) {
	x.mu.Lock()
	last := len(x.list) - 1
	x.list[w.at] = x.list[last]
	x.list[w.at].at = w.at
	x.list[last] = nil
	x.list = x.list[:last]
	x.mu.Unlock()
}

func (x *sockets) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.list)
}

// pick returns the socket at a position, counted round the list.
func (x *sockets) pick(k int) *socket {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == 0 {
		return nil
	}
	return x.list[k%len(x.list)]
}

// websocket shakes hands (RFC 6455, 4.2.2), sends hello, and answers every action until the
// connection ends. early holds the bytes received behind the request.
func (s *Server) websocket(c net.Conn, out []byte, r *request, early []byte) {
	if len(r.key) == 0 || !r.get {
		_, _ = c.Write(append(out, appendHead(nil, 400, 0, -1, "Connection", "close")...))
		return
	}
	sum := sha1.Sum(append(bytes.Clone(r.key), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	out = append(
		out,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "...)
	out = base64.StdEncoding.AppendEncode(out, sum[:])
	out = append(out, "\r\n\r\n"...)
	w := &socket{conn: c}
	if len(r.token) > 0 {
		out = w.hello(out)
	}
	if _, err := c.Write(out); err != nil {
		return
	}
	s.sockets.add(w)
	defer s.sockets.remove(w)
	w.read(early)
}

// hello appends the first event. The lock is not needed before other goroutines have the socket.
func (w *socket) hello(out []byte) []byte {
	w.seq = 1
	return appendFrame(
		out,
		1,
		[]byte(
			`{"event":"hello","data":{"connection_id":"null","server_hostname":"null","server_version":"11.0.0.null"},"broadcast":{"omit_users":null,"user_id":"","channel_id":"","team_id":"","connection_id":"","omit_connection_id":""},"seq":0}`,
		),
	)
}

// read answers the client's messages.
func (w *socket) read(b []byte) {
	in := append(make([]byte, 0, max(256, len(b))), b...)
	for {
		for {
			op, fin, payload, n := parseFrame(in)
			if n < 0 {
				return
			}
			if n == 0 {
				break
			}
			if !w.take(op, fin, payload) {
				return
			}
			in = append(in[:0], in[n:]...)
		}
		if len(in) == cap(in) {
			if len(in) > mostMessage {
				return
			}
			in = append(in, make([]byte, len(in))...)[:len(in)]
		}
		n, err := w.conn.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
	}
}

// take handles one message of the client. Fragments get one answer each, which no client of this
// server sends.
func (w *socket) take(op byte, fin bool, payload []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []byte
	switch op {
	case 8:
		out = appendFrame(nil, 8, payload[:min(len(payload), 2)])
	case 9:
		out = appendFrame(nil, 10, payload)
	case 1:
		if string(field(payload, "action")) == "authentication_challenge" && w.seq == 0 {
			out = w.hello(nil)
		}
		b := append(make([]byte, 0, 64), `{"status":"OK","seq_reply":`...)
		b = strconv.AppendInt(b, integer(payload, `"seq":`), 10)
		out = appendFrame(out, 1, append(b, '}'))
	}
	return (len(out) == 0 || w.write(out)) && op != 8 && fin
}

// integer returns the number behind a key, 0 if there is none.
func integer(b []byte, key string) (n int64) {
	at := bytes.Index(b, []byte(key))
	if at < 0 {
		return 0
	}
	for _, c := range bytes.TrimLeft(b[at+len(key):], " ") {
		if c < '0' || c > '9' || n > 1<<53 {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// parseFrame reads one frame of a client (RFC 6455, 5.2) and takes its mask off in place. n is its
// length, 0 if it is not complete, -1 if it is not a frame.
func parseFrame(b []byte) (op byte, fin bool, payload []byte, n int) {
	if len(b) < 6 {
		return 0, false, nil, 0
	}
	op, fin = b[0]&15, b[0]&0x80 != 0
	if b[0]&0x70 != 0 || b[1]&0x80 == 0 {
		return 0, false, nil, -1
	}
	length, head := int(b[1]&0x7f), 2
	switch length {
	case 126:
		if len(b) < 8 {
			return 0, false, nil, 0
		}
		length, head = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		return 0, false, nil, -1 // more than any action needs
	}
	if n = head + 4 + length; len(b) < n {
		return 0, false, nil, 0
	}
	mask := b[head : head+4]
	payload = b[head+4 : n]
	for i := range payload {
		payload[i] ^= mask[i&3]
	}
	return op, fin, payload, n
}

// appendFrame appends an unmasked frame.
func appendFrame(b []byte, op byte, payload []byte) []byte {
	b = append(b, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

// push sends pings and posted events to all sockets, one after another and evenly over time, until
// ctx ends.
func (s *Server) push(ctx context.Context) {
	const tick = 10 * time.Millisecond
	t := time.NewTicker(tick)
	defer t.Stop()
	var events, pings float64 // that are due
	var nextEvent, nextPing int
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		dt := min(now.Sub(last), time.Second).Seconds()
		last = now
		n := float64(s.sockets.count())
		if s.stall.armed.Load() && s.stall.left(now) > 0 {
			continue
		}
		events += n * s.cfg.Push * dt
		pings += n / s.cfg.ping.Seconds() * dt
		for ; events >= 1 && ctx.Err() == nil; events-- {
			if w := s.sockets.pick(nextEvent); w != nil && w.event(s, now) {
				s.sockets.pushed.Add(1)
			}
			nextEvent++
		}
		for ; pings >= 1 && ctx.Err() == nil; pings-- {
			if w := s.sockets.pick(nextPing); w != nil {
				w.mu.Lock()
				w.write(appendFrame(nil, 9, nil))
				w.mu.Unlock()
			}
			nextPing++
		}
	}
}

// event sends a posted event, and reports whether it went out.
func (w *socket) event(s *Server, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seq == 0 {
		return false // not authenticated yet
	}
	buf := pool.Get().(*[]byte)
	defer pool.Put(buf)
	b := append(
		(*buf)[:0],
		`{"event":"posted","data":{"channel_display_name":"c","channel_name":"null-000","channel_type":"O","post":"{\"id\":\"`...)
	b = s.fresh(b)
	b = append(b, `\",\"create_at\":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,\"user_id\":\"`...)
	b = append(append(b, 'u'), teamID[1:]...)
	b = append(b, `\",\"channel_id\":\"`...)
	b = append(append(b, 'c'), teamID[1:]...)
	b = append(
		b,
		`\",\"root_id\":\"\",\"message\":\"nothing to say, and that in as many words as usual\",\"type\":\"\",\"props\":{},\"hashtags\":\"\",\"metadata\":{}}","sender_name":"@nobody","team_id":""},"broadcast":{"omit_users":null,"user_id":"","channel_id":"`...)
	b = append(append(b, 'c'), teamID[1:]...)
	b = append(b, `","team_id":""},"seq":`...)
	b = strconv.AppendInt(b, w.seq, 10)
	b = append(b, '}')
	w.seq++
	*buf = b
	frame := pool.Get().(*[]byte)
	defer pool.Put(frame)
	*frame = appendFrame((*frame)[:0], 1, b)
	return w.write(*frame)
}

// write sends a frame. A client that does not read loses its connection: the deadline ends it. The
// lock is held.
func (w *socket) write(frame []byte) bool {
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return false
	}
	_, err := w.conn.Write(frame)
	if err != nil {
		w.conn.Close()
		return false
	}
	return true
}
