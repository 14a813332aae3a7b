package mattermost

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"plimsoll/measure"
	"plimsoll/wire"
)

var (
	opWebSocket = newOp("websocket")
	opTyping    = newOp("typing")
)

// An EventKind says what an event of the WebSocket is about.
type EventKind uint8

// The kinds that a user looks into; everything else is only counted.
const (
	EventOther EventKind = iota
	EventHello
	EventPosted
	EventTyping
	EventReactionAdded
)

// An Event is one event.
type Event struct {
	Kind EventKind
	At   time.Time // when its last byte arrived
	// Late is how long it lay in the kernel until it was read; negative where the kernel does not say when it arrived.
	Late time.Duration
	// Lost is how many events are missing before this one by the server's own numbering; negative if this one came again.
	Lost int64
	// Post is that of a posted event.
	Post  Seen
	Bytes int
}

// A Socket is a user's WebSocket after the server's hello. One goroutine calls Next all the time; Typing may be called from
// another. Replies reach their callers only while Next is running.
type Socket struct {
	ws      *wire.WS
	timeout time.Duration
	next    int64  // of the server's numbering
	scratch []byte // an unescaped post; kept small

	mu      sync.Mutex
	seq     int64 // of our requests
	waiting int64 // the request that someone waits for; 0 if none
	replies chan bool
	closed  chan struct{}
	once    sync.Once
}

// idleWS ends a connection on which nothing came; the server pings every minute.
const idleWS = 150 * time.Second

// Connect opens the user's WebSocket and waits for the server's hello, which proves that the token was accepted. It records one op
// "websocket".
func (c *Client) Connect(ctx context.Context) (*Socket, error) {
	start := time.Now()
	s, err := c.connect(ctx)
	if over(ctx, err) {
		return nil, context.Cause(ctx)
	}
	class := measure.OK
	var e *OpError
	if err != nil {
		e = &OpError{Op: opNames[opWebSocket], Class: classOf(err), Err: err}
		class = e.Class
	}
	c.rec.Done(c.table.names[opWebSocket], start, time.Now(), class, 0)
	if e != nil {
		if c.note != nil {
			c.note(e)
		}
		return nil, e
	}
	return s, nil
}

func (c *Client) connect(ctx context.Context) (*Socket, error) {
	timeout := c.timeout
	if timeout <= 0 {
		timeout = wire.DefaultTimeout
	}
	var fields []wire.Field
	if c.agent != "" {
		fields = []wire.Field{{Name: "User-Agent", Value: c.agent}}
	}
	start := time.Now()
	ws, err := wire.DialWS(ctx, wire.WSConfig{URL: c.wsURL, Token: c.token, Header: fields, Timeout: timeout, Idle: idleWS, Dial: c.dial})
	if err != nil {
		return nil, err
	}
	s := &Socket{ws: ws, timeout: timeout, replies: make(chan bool, 1), closed: make(chan struct{})}
	hctx, cancel := context.WithDeadline(ctx, start.Add(timeout))
	defer cancel()
	ev, err := s.Next(hctx)
	if err == nil && ev.Kind != EventHello {
		err = &wire.Error{Phase: wire.PhaseWS, Err: errors.New("the first event is not the hello")}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close says good-bye and closes the connection. It is safe to call at any time, and more than once.
func (s *Socket) Close() {
	s.once.Do(func() { close(s.closed) })
	_ = s.ws.Close(wire.CloseNormal, "") // nobody is left to hear of it
}

// Next returns the next event. Replies to requests are passed to their callers on the way. A message that is not an event, or an
// event without a number, is an error in phase ws, as is a lost connection; errors are final.
func (s *Socket) Next(ctx context.Context) (Event, error) {
	for {
		_, data, at, err := s.ws.Read(ctx)
		if err != nil {
			return Event{}, err
		}
		ev, seq, err := s.read(data)
		if err != nil {
			return Event{}, &wire.Error{Phase: wire.PhaseWS, Err: fmt.Errorf("bad event: %w", err)}
		}
		if seq < 0 {
			continue // a reply
		}
		ev.At, ev.Late = at, -1
		if read, kernel := s.ws.LastRead(); kernel {
			ev.Late = max(read.Sub(at), 0)
		}
		ev.Bytes = len(data)
		ev.Lost = seq - s.next
		s.next = max(s.next, seq+1)
		return ev, nil
	}
}

// read scans one message. A reply gives seq -1.
func (s *Socket) read(data []byte) (ev Event, seq int64, err error) {
	var name, post, status, replyTo []byte
	var inner []byte
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
		return ev, 0, err
	}
	switch {
	case replyTo != nil || name == nil && status != nil:
		s.answer(number(replyTo), string(status) == "OK")
		return ev, -1, nil
	case name == nil || seq < 0:
		return ev, 0, errors.New("neither an event with a number nor a reply")
	}
	switch string(name) {
	case "hello":
		ev.Kind = EventHello
	case "typing":
		ev.Kind = EventTyping
	case "reaction_added":
		ev.Kind = EventReactionAdded
	case "posted":
		ev.Kind = EventPosted
		if len(inner) == 0 || inner[0] != '{' {
			return ev, 0, errors.New("posted without data")
		}
		if err := eachField(inner, func(k, v []byte) error {
			if string(k) == "post" && len(v) > 1 && v[0] == '"' {
				post = v[1 : len(v)-1]
			}
			return nil
		}); err != nil {
			return ev, 0, err
		}
		s.scratch = appendUnescaped(s.scratch[:0], post)
		if err := ev.Post.read(s.scratch, false); err != nil {
			return ev, 0, fmt.Errorf("post: %w", err)
		}
		if ev.Post.ID.None() {
			return ev, 0, errors.New("posted without a post")
		}
		if cap(s.scratch) > 4<<10 { // one long post must not cost memory for ever
			s.scratch = nil
		}
	}
	return ev, seq, nil
}

// answer hands a reply to whoever waits for it.
func (s *Socket) answer(to int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 || to != s.waiting {
		return // too late
	}
	s.waiting = 0
	s.replies <- ok // has room: there is one waiter at most
}

// Typing tells the members of a channel that the user is typing, in reply to a post if parentID is not empty, and waits until the
// server says OK. It records one op on c, to which the socket belongs.
func (c *Client) Typing(ctx context.Context, s *Socket, channelID, parentID string) error {
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.waiting = seq
	select { // an answer that nobody waited for any more
	case <-s.replies:
	default:
	}
	s.mu.Unlock()
	b := append(make([]byte, 0, 160), `{"action":"user_typing","seq":`...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"data":{"channel_id":`...)
	b = appendString(b, channelID)
	b = append(b, `,"parent_id":`...)
	b = appendString(b, parentID)
	b = append(b, "}}"...)

	sent := time.Now()
	e := &OpError{Op: opNames[opTyping], Class: measure.OK}
	if err := s.ws.WriteText(b); err != nil {
		e.Class, e.Err = classOf(err), err
	} else {
		timer := time.NewTimer(s.timeout)
		defer timer.Stop()
		select {
		case ok := <-s.replies:
			if !ok {
				e.Class, e.Err = measure.WS, errors.New("the server refused the request")
			}
		case <-s.closed:
			e.Class, e.Err = measure.WS, errors.New("connection lost")
		case <-timer.C:
			e.Class, e.Err = measure.Timeout, errors.New("no reply")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	c.rec.Done(c.table.names[opTyping], sent, time.Now(), e.Class, 0)
	if e.Class == measure.OK {
		return nil
	}
	if c.note != nil {
		c.note(e)
	}
	return e
}
