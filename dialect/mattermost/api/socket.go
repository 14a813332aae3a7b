package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

var (
	opWebSocket = newOp(workload.Socket, "")
	opTyping    = newOp("typing", "")
)

// An EventKind is the kind of an event of the WebSocket.
type EventKind uint8

// The kinds that a user looks into; everything else is only counted.
const (
	EventOther EventKind = iota
	EventHello
	EventPosted
	EventDeleted // of a post, and of its replies
	EventTyping
	EventReactionAdded
	EventEphemeral // a message that is stored nowhere
)

// A SocketEvent is one event that a socket brought.
type SocketEvent struct {
	Kind EventKind
	At   time.Time // when its last byte arrived
	// Late is the time from its arrival in the kernel to the read; negative without the kernel's
	// time stamp.
	Late time.Duration
	// Lost is the number of events missing before this one by the server's numbering; negative if
	// this one came again.
	Lost int64
	// Post is the post of a posted or deleted event. Channel is the type of its channel (O, P, D,
	// G), and WantsAck a request of the server for an acknowledgement, both of posted events.
	Post     Seen
	Channel  byte
	WantsAck bool
	// Pending is the author's own identifier of the post, see [PendingID], empty if it gave none
	// that could be one of ours. It is valid until the next event is read.
	Pending []byte
	UserID  ID // who types
	Bytes   int
}

// A Socket is a user's WebSocket. One goroutine calls Next all the time; Typing and Tell may be
// called from another. Replies reach their callers only while Next is running.
type Socket struct {
	ws      *wire.WS
	timeout time.Duration
	id      ID     // of the connection, which outlives the socket on servers that can resume it
	next    int64  // of the server's numbering
	scratch []byte // an unescaped post; kept small

	mu      sync.Mutex
	born    ID    // id as it was when the socket was made; not written afterwards
	seq     int64 // of our requests
	waiting int64 // the request that someone waits for; 0 if none
	replies chan reply
	closed  chan struct{}
	once    sync.Once
	lost    atomic.Bool   // by Drop
	ended   chan struct{} // closed by the caller of Next after its last call
}

// A reply is the server's answer to a request over the WebSocket.
type reply struct {
	ok bool
	at time.Time // when its last byte arrived
}

// idleWS ends a connection on which nothing came; the server pings every minute.
const idleWS = 150 * time.Second

// Connect opens the user's WebSocket and waits for the server's hello, which proves that the token
// was accepted. It records one op "websocket".
func (c *Client) Connect(ctx context.Context) (*Socket, error) { return c.Resume(ctx, nil) }

// Resume opens a WebSocket in place of one that was lost (nil: none) and requests the missed events
// from the server. A server that does continues where the old socket ended. One that cannot sends
// hello, and its numbering restarts. It records one op "websocket".
func (c *Client) Resume(ctx context.Context, old *Socket) (s *Socket, err error) {
	if c.Patience == nil {
		return c.resume(ctx, old)
	}
	err = c.Patience.do(ctx, func() error {
		s, err = c.resume(ctx, old)
		return err
	})
	return s, err
}

func (c *Client) resume(ctx context.Context, old *Socket) (*Socket, error) {
	if err := c.Clock.Wait(ctx); err != nil { // the op begins when the clock runs, as every other
		return nil, err
	}
	c.Recorder.Begin(c.Table.names[opWebSocket])
	start := time.Now() // the op is the connecting itself: nothing of it is wait
	s, err := c.connect(ctx, old)
	if over(ctx, err) {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		e := &OpError{Class: workload.ClassOf(err), Cause: brokenCause(err), Err: err}
		return nil, c.finish(opWebSocket, start, start, time.Now(), 0, e)
	}
	return s, c.finish(opWebSocket, start, start, s.ws.Arrived(), 0, nil)
}

func (c *Client) connect(ctx context.Context, old *Socket) (*Socket, error) {
	var fields []wire.Field
	if c.UserAgent != "" {
		fields = []wire.Field{{Name: "User-Agent", Value: c.UserAgent}}
	}
	start := c.Clock.Now()
	// the scheme in either case
	url := "ws" + strings.TrimRight(c.URL, "/")[len("http"):] + root + "/websocket"
	resume := old != nil && !old.id.None()
	if resume {
		url += "?connection_id=" + old.id.String() + "&sequence_number=" + strconv.FormatInt(
			old.next,
			10,
		)
	}
	ws, err := wire.DialWS(ctx, wire.WSConfig{URL: url, Token: c.Token, Header: fields,
		Timeout: c.Timeout, Idle: idleWS, Clock: c.Clock, Dial: c.Dial})
	if err != nil {
		return nil, err
	}
	s := &Socket{
		ws:      ws,
		timeout: c.Timeout,
		replies: make(chan reply, 1),
		closed:  make(chan struct{}),
		ended:   make(chan struct{}),
	}
	if resume {
		// Missed events come first, then new ones, as if nothing had happened; or the hello. The
		// reader handles both.
		s.id = old.id
		s.next = old.next
		s.born = old.id
		return s, nil
	}
	hctx, cancel := c.Clock.WithDeadline(ctx, start+c.Timeout)
	if c.Clock.Unpaused() { // the target works on, so that the time is real
		cancel()
		hctx, cancel = context.WithTimeout(ctx, start+c.Timeout-c.Clock.Now())
	}
	defer cancel()
	ev, err := s.Next(hctx)
	if err == nil && ev.Kind != EventHello {
		err = &wire.Error{Phase: wire.PhaseWS, Err: errors.New("the first event is not the hello")}
	}
	if err != nil {
		s.Release()
		s.Close()
		return nil, err
	}
	s.born = s.id
	return s, nil
}

// Close sends a close frame and closes the connection. It is safe to call at any time, and more
// than once.
func (s *Socket) Close() {
	s.once.Do(func() { close(s.closed) })
	_ = s.ws.Close(wire.CloseNormal, "") // an error has no further effect
}

// Release lets go of the last message and of the context of the reads. The caller of Next and
// Message calls it when it reads no more.
func (s *Socket) Release() { s.ws.Release() }

// Ended is closed when the socket's reader is done with it.
func (s *Socket) Ended() <-chan struct{} { return s.ended }

// End announces that the reader will not call Next or Message again. It is called once.
func (s *Socket) End() { close(s.ended) }

// Dropped reports whether Drop broke the connection.
func (s *Socket) Dropped() bool { return s.lost.Load() }

// Resumable reports whether the server gave the connection an identifier with which it can be taken
// up again.
func (s *Socket) Resumable() bool { return !s.id.None() }

// Message returns the next message and when its last byte arrived, for [Socket.Event]. It is Next
// in two steps: a reader that waits between them needs little memory.
func (s *Socket) Message(ctx context.Context) (data []byte, at time.Time, err error) {
	_, data, at, err = s.ws.Read(ctx)
	return data, at, err
}

// Next returns the next event. Replies to requests are passed to their callers on the way. A
// message that is not an event, or an event without a number, is an error in phase ws, as is a lost
// connection; errors are final.
func (s *Socket) Next(ctx context.Context) (SocketEvent, error) {
	for {
		_, data, at, err := s.ws.Read(ctx)
		if err != nil {
			return SocketEvent{}, err
		}
		var ev SocketEvent
		if ok, err := s.Event(data, at, &ev); ok || err != nil {
			return ev, err
		}
	}
}

// Event makes an event of the message that was read last; ok is false if it is a reply.
func (s *Socket) Event(data []byte, at time.Time, ev *SocketEvent) (ok bool, err error) {
	seq, err := s.read(data, at, ev)
	if err != nil {
		return false, &wire.Error{Phase: wire.PhaseWS, Err: fmt.Errorf("bad event: %w", err)}
	}
	if seq < 0 {
		return false, nil
	}
	ev.At = at
	ev.Late = -1
	if read, kernel := s.ws.LastRead(); kernel {
		ev.Late = max(read.Sub(at), 0)
	}
	ev.Bytes = len(data)
	if ev.Kind == EventHello { // a connection of its own, with its own numbers
		s.next = seq
	}
	ev.Lost = seq - s.next
	s.next = max(s.next, seq+1)
	return true, nil
}

// read scans one message, which arrived at that moment. A reply gives seq -1.
func (s *Socket) read(data []byte, at time.Time, ev *SocketEvent) (seq int64, err error) {
	var name, status, replyTo, inner []byte
	seq = -1
	if err := eachField(data, func(k, v []byte) error {
		switch string(k) {
		case "event":
			name = text(v)
		case "data":
			inner = v
		case "seq":
			seq = number(v)
		case "seq_reply":
			replyTo = v
		case "status":
			status = text(v)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	switch {
	case replyTo != nil || name == nil && status != nil:
		s.answer(number(replyTo), reply{string(status) == "OK", at})
		return -1, nil
	case name == nil || seq < 0:
		return 0, errors.New("neither an event with a number nor a reply")
	}
	switch string(name) {
	case "hello":
		ev.Kind = EventHello
		if err = fields(inner, "connection_id", &s.id); err != nil {
			err = fmt.Errorf("hello: %w", err)
		}
	case "typing":
		ev.Kind = EventTyping
		err = fields(inner, "user_id", &ev.UserID)
	case "reaction_added":
		ev.Kind = EventReactionAdded
	case "ephemeral_message":
		ev.Kind = EventEphemeral
	case "posted":
		ev.Kind = EventPosted
		err = s.readPost(name, inner, ev)
	case "post_deleted":
		ev.Kind = EventDeleted
		err = s.readPost(name, inner, ev)
	}
	return seq, err
}

// readPost reads the data of an event about a post.
func (s *Socket) readPost(name, data []byte, ev *SocketEvent) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%s without data", name)
	}
	var post []byte
	if err := eachField(data, func(k, v []byte) error {
		switch {
		case string(k) == "post" && len(v) > 1 && v[0] == '"':
			post = v[1 : len(v)-1]
		case string(k) == "channel_type" && len(v) == 3:
			ev.Channel = v[1]
		case string(k) == "should_ack":
			ev.WantsAck = string(v) == "true" || string(v) == `"true"`
		}
		return nil
	}); err != nil {
		return err
	}
	s.scratch = appendUnescaped(s.scratch[:0], post)
	if err := ev.Post.read(s.scratch, &ev.Pending); err != nil {
		return fmt.Errorf("post: %w", err)
	}
	if ev.Post.ID.None() {
		return fmt.Errorf("%s without a post", name)
	}
	if cap(s.scratch) > 4<<10 { // one long post must not cost memory for ever
		s.scratch = nil
	}
	return nil
}

// answer hands a reply to its waiting caller.
func (s *Socket) answer(to int64, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 || to != s.waiting {
		return // too late
	}
	s.waiting = 0
	s.replies <- r // has room: there is one waiter at most
}

// Typing notifies the members of a channel that the user is typing, in reply to a post if parentID
// is not empty, and waits for the server's OK. It records one op on c, which owns the socket.
func (c *Client) Typing(ctx context.Context, s *Socket, channelID, parentID string) error {
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.waiting = seq
	select { // an answer that came too late
	case <-s.replies:
	default:
	}
	s.mu.Unlock()
	b := wsRequest(seq, "user_typing", "channel_id", channelID, "parent_id", parentID)

	if err := c.Clock.Wait(ctx); err != nil {
		return err
	}
	c.Recorder.Begin(c.Table.names[opTyping])
	sent := time.Now()
	done, e := c.reply(ctx, s, b)
	if e == nil && done.IsZero() {
		return context.Cause(ctx)
	}
	return c.finish(opTyping, sent, sent, done, 0, e)
}

// reply sends a request and waits for its reply. It returns the time of the reply, or zero and no
// error if the run ends first.
func (c *Client) reply(
	ctx context.Context,
	s *Socket,
	request []byte,
) (done time.Time, e *OpError) {
	if err := s.ws.WriteText(request); err != nil {
		return time.Now(), &OpError{Class: workload.ClassOf(err), Err: err}
	}
	timer := c.Clock.NewTimer()
	defer timer.Stop()
	timer.Reset(c.Clock.Now() + s.timeout)
	select {
	case r := <-s.replies:
		if !r.ok {
			e = &OpError{Class: measure.WS, Err: errors.New("the server refused the request")}
		}
		return r.at, e
	case <-s.closed:
		return time.Now(), &OpError{Class: measure.WS, Err: errors.New("connection lost")}
	case <-timer.C:
		return time.Now(), &OpError{Class: measure.Timeout, Err: errors.New("no reply")}
	case <-ctx.Done():
		return done, nil
	}
}

// wsRequest builds a request of the WebSocket; pairs are strings.
func wsRequest(seq int64, act string, pairs ...string) []byte {
	b := append(make([]byte, 0, 160), `{"action":`...)
	b = appendString(b, act)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"data":{`...)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, pairs[i])
		b = append(b, ':')
		b = appendString(b, pairs[i+1])
	}
	return append(b, "}}"...)
}

// Tell sends a request without waiting for its reply: the channel that the user views (presence),
// or the acknowledgement of a post. A lost connection is found by the reader.
func (s *Socket) Tell(act string, pairs ...string) {
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.mu.Unlock()
	_ = s.ws.WriteText(wsRequest(seq, act, pairs...)) // see above
}

// Drop breaks the connection without a good-bye, as a network does.
func (s *Socket) Drop() {
	s.lost.Store(true)
	s.once.Do(func() { close(s.closed) })
	s.ws.Drop()
}
