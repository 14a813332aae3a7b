package refchat

import (
	"context"
	"encoding/json"
	"errors"
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
	wsQueue     = 256 // events and replies waiting for a connection
	wsReadLimit = 8 << 10
	wsWriteWait = 30 * time.Second
	wsPongWait  = 100 * time.Second
	wsPingEvery = 60 * time.Second
	wsAuthWait  = 5 * time.Second
	wsHold      = 50 * time.Millisecond // how long the reorder fault keeps an event back when no other comes
)

var upgrader = websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 4096, WriteBufferPool: new(sync.Pool)}

// wsConn is one WebSocket: the handler's goroutine reads, another writes. The hub offers events through the queue.
type wsConn struct {
	s      *Server
	ws     *websocket.Conn
	sess   *session // nil until authenticated; reader only
	userID string   // set before the connection is registered
	queue  chan wsItem
	done   chan struct{}
	once   sync.Once

	channels map[string]struct{} // hub goroutine only, as are teams
	teams    []string
	seq      int64  // writer only
	frame    []byte // writer only
}

// wsItem is an event, or the bytes of a reply.
type wsItem struct {
	ev    *event
	reply []byte
	late  bool // the reorder fault: send after the next event
}

// wsRequest is what clients send.
type wsRequest struct {
	Seq    int64          `json:"seq"`
	Action string         `json:"action"`
	Data   map[string]any `json:"data"`
}

func (r *wsRequest) text(key string) string {
	v, _ := r.Data[key].(string)
	return v
}

func (c *wsConn) enter(sh *hubShard, channelID string) {
	c.channels[channelID] = struct{}{}
	put(sh.channels, channelID, c)
}

// connectWebSocket upgrades the request and stays until the connection ends.
func (s *Server) connectWebSocket(q *request) error {
	q.status = http.StatusSwitchingProtocols
	s.bg.Add(1)
	defer s.bg.Done()
	ws, err := upgrader.Upgrade(q.w, q.r, nil)
	if err != nil {
		q.status = http.StatusBadRequest
		return nil // Upgrade has answered
	}
	c := &wsConn{s: s, ws: ws, queue: make(chan wsItem, wsQueue), done: make(chan struct{}), channels: map[string]struct{}{}}
	s.bg.Go(c.writeLoop)
	defer c.close()
	ws.SetReadLimit(wsReadLimit)
	if q.sess != nil {
		c.start(q.sess)
	} else {
		_ = ws.SetReadDeadline(time.Now().Add(wsAuthWait))
	}
	c.readLoop()
	if c.sess != nil {
		s.hub.unregister(c, func() {
			if !s.hub.closed.Load() { // at the server's end everybody stays as they are
				s.background(func(ctx context.Context) { s.setOffline(ctx, c.userID) })
			}
		})
	}
	return nil
}

// start registers an authenticated connection with the hub, which then says hello.
func (c *wsConn) start(sess *session) {
	c.sess, c.userID = sess, sess.UserID
	extend := func(string) error { return c.ws.SetReadDeadline(time.Now().Add(wsPongWait)) }
	_ = extend("")
	c.ws.SetPongHandler(extend)
	s := c.s
	s.hub.register(c)
	if s.hub.closed.Load() {
		c.close()
		return
	}
	ctx, cancel := context.WithTimeout(s.bgCtx, 30*time.Second)
	defer cancel()
	roles, err := s.rolesOf(ctx, c.userID)
	if err != nil {
		s.log.Warn("placing a connection", "err", err)
		c.close()
		return
	}
	teams, err := s.teamsOfUser(ctx, c.userID)
	if err != nil {
		s.log.Warn("placing a connection", "err", err)
		c.close()
		return
	}
	s.hub.place(c, slices.Collect(maps.Keys(roles)), slices.Collect(maps.Keys(teams)))
	s.setOnline(ctx, c.userID)
}

// close ends the connection; the loops notice. It does not block.
func (c *wsConn) close() {
	c.once.Do(func() {
		close(c.done)
		c.ws.NetConn().Close()
	})
}

// offer queues an event, unless a fault or a full queue is in the way. The hub's goroutine calls it.
func (c *wsConn) offer(e *event) {
	f := c.s.faults
	n := 1
	late := false
	if e.name != "hello" {
		if f.drop.hit() {
			c.s.met.wsDropped.WithLabelValues("fault").Inc()
			return
		}
		if f.dup.hit() {
			n = 2
		}
		late = f.reorder.hit()
	}
	if e.unimportant() && len(c.queue) > wsQueue/2 {
		c.s.met.wsDropped.WithLabelValues("skipped").Inc()
		return
	}
	for range n {
		select {
		case c.queue <- wsItem{ev: e, late: late}:
		default:
			select {
			case <-c.done: // gone already
			default:
				c.s.met.wsDropped.WithLabelValues("overflow").Add(float64(len(c.queue) + 1))
				c.close()
			}
			return
		}
	}
}

func (c *wsConn) writeLoop() {
	defer c.close()
	ping := time.NewTicker(wsPingEvery)
	defer ping.Stop()
	var held *event
	var release <-chan time.Time
	for {
		var err error
		select {
		case <-c.done:
			return
		case it := <-c.queue:
			switch {
			case it.ev == nil:
				err = c.write(it.reply)
			case it.late && held == nil:
				held, release = it.ev, time.After(wsHold)
			default:
				if err = c.writeEvent(it.ev); err == nil && held != nil {
					err = c.writeEvent(held)
					held, release = nil, nil
				}
			}
		case <-release:
			err = c.writeEvent(held)
			held, release = nil, nil
		case <-ping.C:
			err = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(wsWriteWait))
		}
		if err != nil {
			return
		}
	}
}

// writeEvent puts the connection's next sequence number into an event.
func (c *wsConn) writeEvent(e *event) error {
	c.frame = append(c.frame[:0], e.prefix...)
	c.frame = strconv.AppendInt(c.frame, c.seq, 10)
	c.frame = append(c.frame, "}\n"...)
	c.seq++
	err := c.write(c.frame)
	if cap(c.frame) > 16<<10 {
		c.frame = nil
	}
	return err
}

func (c *wsConn) write(b []byte) error {
	if err := c.ws.SetWriteDeadline(time.Now().Add(wsWriteWait)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, b)
}

func (c *wsConn) readLoop() {
	for {
		_, b, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var r wsRequest
		if json.Unmarshal(b, &r) != nil {
			return
		}
		data, err := c.act(&r)
		if c.sess == nil && r.Action == "authentication_challenge" {
			return // wrong token: closed without an answer
		}
		c.answer(&r, data, err)
	}
}

// answer queues the reply to a request; a reader must not overtake the writer for long, so it waits for room.
func (c *wsConn) answer(r *wsRequest, data any, err error) {
	out := struct {
		Status   string    `json:"status"`
		SeqReply int64     `json:"seq_reply,omitempty"`
		Data     any       `json:"data,omitempty"`
		Error    *apiError `json:"error,omitempty"`
	}{Status: "OK", SeqReply: r.Seq, Data: data}
	if err != nil {
		out.Status, out.Data = "FAIL", nil
		if out.Error, _ = errors.AsType[*apiError](err); out.Error == nil || out.Error.StatusCode >= 500 && out.Error.cause != nil {
			c.s.log.Error("websocket request", "action", r.Action, "err", err)
			out.Error = newError(http.StatusInternalServerError, "api.internal.app_error", "Internal Server Error")
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return
	}
	select {
	case c.queue <- wsItem{reply: append(b, '\n')}:
	case <-c.done:
	}
}

// act carries out one request.
func (c *wsConn) act(r *wsRequest) (any, error) {
	s := c.s
	ctx, cancel := context.WithTimeout(s.bgCtx, 30*time.Second)
	defer cancel()
	switch {
	case r.Action == "":
		return nil, newError(http.StatusBadRequest, "api.web_socket_router.no_action.app_error", "No websocket action.")
	case r.Seq <= 0:
		return nil, newError(http.StatusBadRequest, "api.web_socket_router.bad_seq.app_error", "Invalid sequence for WebSocket message.")
	case r.Action == "authentication_challenge":
		if c.sess != nil {
			return nil, nil
		}
		sess, err := s.session(ctx, r.text("token"))
		if err == nil {
			c.start(sess)
		}
		return nil, err
	case c.sess == nil:
		return nil, newError(http.StatusUnauthorized, "api.web_socket_router.not_authenticated.app_error", "WebSocket connection is not authenticated. Please log in and try again.")
	}
	if _, err := s.session(ctx, c.sess.Token); err != nil { // it may have been logged out
		return nil, err
	}
	switch r.Action {
	case "ping":
		return map[string]any{"text": "pong", "version": s.cfg.Version, "server_time": millis(), "node_id": ""}, nil
	case "user_typing":
		return nil, c.typing(ctx, r)
	case "get_statuses":
		roles := map[string]string{}
		s.statuses.each(func(id string, x *status) { roles[id] = x.Status })
		return roles, nil
	case "get_statuses_by_ids":
		list, _ := r.Data["user_ids"].([]any)
		var ids []string
		for _, v := range list {
			if id, ok := v.(string); ok && validID(id) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return nil, newError(http.StatusBadRequest, "api.websocket_handler.invalid_param.app_error", "Invalid user_ids parameter.")
		}
		found, err := s.statusesOf(ctx, ids)
		out := map[string]string{}
		for _, x := range found {
			out[x.UserID] = x.Status
		}
		return out, err
	case "user_update_active_status":
		if active, ok := r.Data["user_is_active"].(bool); ok && active {
			s.setOnline(ctx, c.userID)
		}
		return nil, nil
	case "presence", "posted_notify_ack": // newer clients send these and expect no more
		return nil, nil
	}
	return nil, newError(http.StatusInternalServerError, "api.web_socket_router.bad_action.app_error", "Unknown WebSocket action.")
}

// typing tells a channel's other members that a user types.
func (c *wsConn) typing(ctx context.Context, r *wsRequest) error {
	id := r.text("channel_id")
	if !validID(id) || c.s.mustReadChannel(ctx, c.sess, id) != nil {
		return newError(http.StatusBadRequest, "api.websocket_handler.invalid_param.app_error", "Invalid channel_id parameter.")
	}
	c.s.typing(id, r.text("parent_id"), c.userID)
	return nil
}

func (s *Server) typing(channelID, parentID, userID string) {
	s.hub.publish(newEvent("typing", broadcast{ChannelID: channelID, OmitUsers: map[string]bool{userID: true}},
		eventField{"parent_id", parentID}, eventField{"user_id", userID}))
}

// publishTyping is the same by HTTP.
func (s *Server) publishTyping(q *request) error {
	id, err := s.own(q)
	if err != nil {
		return err
	}
	var in struct {
		ChannelID string `json:"channel_id"`
		ParentID  string `json:"parent_id"`
	}
	if err := q.decode(&in, "typing_request"); err != nil || !validID(in.ChannelID) {
		return errBody("channel_id")
	}
	if err := s.mustReadChannel(q.r.Context(), q.sess, in.ChannelID); err != nil {
		return err
	}
	s.typing(in.ChannelID, in.ParentID, id)
	return q.ok()
}
