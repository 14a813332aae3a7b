package refchat

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// The real server's limits.
const (
	wsQueue     = 256             // events and replies waiting for a connection
	wsReplay    = 128             // sent events that a client may request again
	wsAway      = 5 * time.Minute // how long a connection waits for its client to come back
	wsReadLimit = 8 << 10
	wsWriteWait = 30 * time.Second
	wsPongWait  = 100 * time.Second
	wsPingEvery = 60 * time.Second
	wsAuthWait  = 5 * time.Second
)

var upgrader = websocket.Upgrader{
	ReadBufferSize:  1024,
	WriteBufferSize: 4096,
	WriteBufferPool: new(sync.Pool),
}

// wsConn is the hub's view of a client's connection. It outlives its socket for a while: events go
// on to queue up, and a client that names the connection and the next number resumes it without a
// loss.
type wsConn struct {
	s      *Server
	userID string // set before the connection is registered
	queue  chan wsItem

	// The hub's goroutine alone.
	id       string
	sock     *wsSocket // nil while the client is away
	away     time.Time // since when
	channels map[string]struct{}
	teams    []string
	placed   bool     // hello was queued
	early    []*event // that came before

	// The socket's writer; while there is none, the hub's goroutine.
	seq   int64            // the next number
	sent  [wsReplay]*event // the events numbered below seq, each at its number modulo wsReplay
	frame []byte
}

// wsSocket is one WebSocket of a connection: the handler's goroutine reads, another writes.
type wsSocket struct {
	s      *Server
	ws     *websocket.Conn
	c      *wsConn
	sess   *session // nil until authenticated; reader only
	done   chan struct{}
	once   sync.Once
	hello  *event // to write first, for a client that came back too late
	replay int64  // or the first number to send again
}

// wsItem is an event, or the bytes of a reply.
type wsItem struct {
	ev    *event
	reply []byte
}

func newConn(s *Server) *wsConn {
	return &wsConn{
		s:        s,
		id:       newID(),
		queue:    make(chan wsItem, wsQueue),
		channels: map[string]struct{}{},
	}
}

// connectWebSocket upgrades the request and stays until the socket ends.
func (q *request) connectWebSocket() error {
	q.status = http.StatusSwitchingProtocols
	q.bg.Add(1)
	defer q.bg.Done()
	q.burn()
	ws, err := upgrader.Upgrade(q.w, q.r, nil)
	if err != nil {
		q.status = http.StatusBadRequest
		return nil // Upgrade has answered
	}
	k := &wsSocket{s: q.Server, ws: ws, done: make(chan struct{})}
	defer k.close()
	resumed := false
	if id := q.query("connection_id"); id != "" && q.sess != nil && q.reliable() {
		from, err := strconv.ParseInt(q.query("sequence_number"), 10, 64)
		if !validID(id) || err != nil || from < 0 {
			return nil // a client must know both or neither
		}
		resumed = q.hub.resume(k, q.sess.UserID, id, from)
	}
	if !resumed {
		k.c = newConn(q.Server)
	}
	written := make(chan struct{})
	q.bg.Go(func() {
		defer close(written)
		k.writeLoop()
	})
	ws.SetReadLimit(wsReadLimit)
	switch {
	case resumed:
		k.authenticated(q.sess)
		q.setOnline(q, q.sess.UserID)
	case q.sess != nil:
		k.start(q.sess)
	default:
		_ = ws.SetReadDeadline(time.Now().Add(wsAuthWait))
	}
	k.readLoop()
	k.close()
	<-written
	if k.sess != nil {
		q.hub.leave(k, func() {
			if !q.hub.closed.Load() { // at the server's end all users keep their status
				q.background(func(ctx context.Context) { q.setOffline(ctx, k.sess.UserID) })
			}
		})
	}
	return nil
}

func (k *wsSocket) authenticated(sess *session) {
	k.sess = sess
	extend := func(string) error { return k.ws.SetReadDeadline(time.Now().Add(wsPongWait)) }
	_ = extend("")
	k.ws.SetPongHandler(extend)
}

// start registers a new connection with the hub, which then sends hello.
func (k *wsSocket) start(sess *session) {
	k.authenticated(sess)
	k.c.userID = sess.UserID
	s := k.s
	s.hub.register(k)
	if s.hub.closed.Load() {
		k.close()
		return
	}
	ctx, cancel := context.WithTimeout(s.bgCtx, 30*time.Second)
	defer cancel()
	var teams map[string]bool
	channels, err := s.channelsOfUser(ctx, sess.UserID)
	if err == nil {
		teams, err = s.teamsOfUser(ctx, sess.UserID)
	}
	if err != nil {
		s.log.Warn("placing a connection", "err", err)
		k.close()
		return
	}
	s.hub.place(k.c, slices.Collect(maps.Keys(channels)), slices.Collect(maps.Keys(teams)))
	s.setOnline(ctx, sess.UserID)
}

// close ends the socket; the loops notice. It does not block.
func (k *wsSocket) close() {
	k.once.Do(func() {
		close(k.done)
		k.ws.NetConn().Close()
	})
}

func (c *wsConn) hello() *event {
	fields := []any{"server_version", c.s.client.versionID}
	if c.s.release.atLeast(release{5, 35}) {
		id := ""
		if c.s.reliable() {
			id = c.id
		}
		fields = append([]any{"connection_id", id}, fields...)
	}
	return newEvent("hello", broadcast{UserID: c.userID}, fields...)
}

// rejoin makes k the connection's socket. Without the event that is wanted next, the client starts
// again under another id.
func (c *wsConn) rejoin(k *wsSocket, from int64) {
	k.c, c.sock = c, k
	result := "success"
	switch {
	case from > c.seq || from < c.seq-wsReplay:
		result = "failure"
		c.id, c.seq = newID(), 0
		k.hello = c.hello()
	case from == c.seq:
		result = "lossless"
	}
	k.replay = min(from, c.seq)
	c.s.met.wsResumed.WithLabelValues(result).Inc()
}

func (k *wsSocket) writeLoop() {
	defer k.close()
	c := k.c
	ping := time.NewTicker(wsPingEvery)
	defer ping.Stop()
	var err error
	if k.hello != nil {
		err = k.writeEvent(k.hello)
	} else {
		for n := k.replay; n < c.seq && err == nil; n++ {
			err = k.writeNumbered(c.sent[n%wsReplay], n)
		}
	}
	for err == nil {
		select {
		case <-k.done:
			return
		case it := <-c.queue:
			if it.ev == nil {
				err = k.write(it.reply)
			} else {
				err = k.writeEvent(it.ev)
			}
		case <-ping.C:
			err = k.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(wsWriteWait))
		}
	}
}

// writeEvent gives an event the connection's next number, and keeps it.
func (k *wsSocket) writeEvent(e *event) error {
	n := k.c.seq
	k.c.sent[n%wsReplay] = e
	k.c.seq++
	return k.writeNumbered(e, n)
}

func (k *wsSocket) writeNumbered(e *event, n int64) error {
	c := k.c
	c.frame = append(c.frame[:0], e.prefix...)
	if e.ack[c.userID] {
		c.frame = append(c.frame[:e.cut], `,"should_ack":true`...)
		c.frame = append(c.frame, e.prefix[e.cut:]...)
	}
	c.frame = strconv.AppendInt(c.frame, n, 10)
	c.frame = append(c.frame, "}\n"...)
	err := k.write(c.frame)
	if err == nil {
		c.s.met.broadcasts.WithLabelValues(e.name).Inc()
	}
	if cap(c.frame) > 16<<10 {
		c.frame = nil
	}
	return err
}

func (k *wsSocket) write(b []byte) error {
	if err := k.ws.SetWriteDeadline(time.Now().Add(wsWriteWait)); err != nil {
		return err
	}
	return k.ws.WriteMessage(websocket.TextMessage, b)
}

func (k *wsSocket) readLoop() {
	for {
		_, b, err := k.ws.ReadMessage()
		if err != nil {
			return
		}
		var r wsRequest
		if json.Unmarshal(b, &r) != nil {
			return
		}
		data, err := k.act(&r)
		if k.sess == nil && r.Action == "authentication_challenge" {
			return // wrong token: closed without an answer
		}
		k.answer(&r, data, err)
	}
}
