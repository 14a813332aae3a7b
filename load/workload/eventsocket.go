package workload

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// Reopening is the pause before a user's attempt to open a lost WebSocket again, where n are made
// already: 1 s, twice as long each time, at most 30 s, times the pace. It is up to a quarter longer or
// shorter, by the user's number, so that those who lost theirs in one moment do not come back in one.
func (u *User) Reopening(n int) time.Duration {
	pause := min(time.Second<<min(n, 5), 30*time.Second)
	_, part := math.Modf(math.Phi * float64(u.ID))
	return time.Duration((0.75 + part/2) * float64(pause) * u.Pace)
}

// An EventSocket is the WebSocket of one user, which stays open across actions: a goroutine hands
// over each message as it arrives, and opens a connection that was lost again. Attempts to open it,
// and as errors connections that were lost, are operations of the series [Socket]. The ledger knows
// when it is open. Its methods are for the user's goroutine, except where noted.
type EventSocket struct {
	// Path is appended to the server's address.
	Path string
	// Header holds further lines of the handshake.
	Header []wire.Field
	// Greet is called for each new connection, also of one that was lost, before the ledger knows
	// of it. It sends what the server has to know. Nil sends nothing.
	Greet func() error
	// Heard is called with each message and its arrival, one at a time. It may not keep the data,
	// and does not wait. Nil drops messages.
	Heard func(data []byte, at time.Time)

	caller
	steady, inbox, delivery measure.Name

	stop    context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	ws      *wire.WS // nil while there is none
	joined  map[string]struct{}
	key     string // of the answer that is waited for; "" for none
	answers chan socketAnswer
}

// socketAnswer is the end of an operation.
type socketAnswer struct {
	text string
	at   time.Time
	err  error
}

var errNotOpen = &wire.Error{Phase: wire.PhaseWS, Err: errors.New("the WebSocket is not open")}

// EventSocket returns the WebSocket of a user, which is not open. The caller sets its fields, and
// closes it.
func (c *Cast) EventSocket(env Env, u *User) *EventSocket {
	s := &EventSocket{caller: caller{User: u, cast: c, env: env}, answers: make(chan socketAnswer, 1)}
	s.steady, s.inbox, s.delivery = s.series(Socket), s.series(Inbox), s.series(Delivery)
	return s
}

// Open opens the WebSocket: in a login, with the prefix [Login] of the series' name, or with
// [Setup]. ctx is that of the user's whole life.
func (s *EventSocket) Open(ctx context.Context, prefix string) error {
	s.Close()
	ws, err := s.dial(ctx, s.User, prefix+"_"+Socket)
	if err != nil {
		return err
	}
	life, stop := context.WithCancel(ctx)
	s.stop = stop
	s.wg.Go(func() {
		for ws != nil {
			err := s.read(life, ws)
			ws.Release()
			_ = ws.Close(wire.CloseNormal, "") // the server may be gone already
			s.env.Ledger.Disconnected(s.User.ID)
			s.use(nil)
			if s.end(socketAnswer{at: time.Now(), err: err}); life.Err() != nil {
				return
			}
			s.User.rec.Error(s.steady, ClassOf(err))
			s.cast.note(&s.env, &CallError{Op: Socket, Class: ClassOf(err), Err: err})
			ws = s.reopen(life)
		}
	})
	return nil
}

// reopen opens a lost connection again; nil when life is over.
func (s *EventSocket) reopen(life context.Context) *wire.WS {
	for n := 0; ; n++ {
		again := s.User.Now() + s.User.Reopening(n)
		if s.User.clock.SleepUntil(life, again) != nil {
			return nil
		}
		rec := s.User.Beside(again).Followed()
		ws, err := s.dial(life, rec, Socket)
		if life.Err() == nil {
			rec.Close()
		}
		if err == nil || life.Err() != nil {
			return ws
		}
	}
}

// dial makes one connection and records it.
func (s *EventSocket) dial(ctx context.Context, rec interface {
	Begin(n measure.Name)
	Done(n measure.Name, due, sent, done time.Time, class measure.Class, bytes int64) time.Duration
}, name string) (*wire.WS, error) {
	n := s.User.rec.Name(name)
	rec.Begin(n)
	due := time.Now()
	ws, err := wire.DialWS(ctx, wire.WSConfig{
		URL:     "ws" + strings.TrimPrefix(s.env.URL, "http") + s.Path,
		Header:  s.Header,
		Timeout: s.env.Timeout,
		Clock:   s.env.Clock,
		Dial:    s.env.Dial,
	})
	switch {
	case err == nil:
		rec.Done(n, due, due, ws.Arrived(), measure.OK, 0)
		if s.use(ws); s.Greet != nil {
			err = s.Greet()
		}
		if err != nil {
			s.use(nil)
			ws.Drop()
			return nil, err
		}
		s.env.Ledger.Connected(s.User.ID, time.Now(), false)
		return ws, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	e := &CallError{Op: name, Class: ClassOf(err), Err: err}
	if h, ok := errors.AsType[*wire.HandshakeError](err); ok {
		e.Status = h.Status
	}
	Answered(s.env.Registry, name, e.Status, rec.Done(n, due, due, time.Now(), e.Class, 0))
	s.cast.note(&s.env, e)
	return nil, e
}

// use makes a connection the one that is written to. The user is in no channel by it yet.
func (s *EventSocket) use(ws *wire.WS) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ws = ws
	for channel := range s.joined {
		s.env.Ledger.Leave(s.User.ID, channel)
	}
	s.joined = map[string]struct{}{}
}

// read hands messages over until the connection ends.
func (s *EventSocket) read(life context.Context, ws *wire.WS) error {
	for {
		_, data, at, err := ws.Read(life)
		if err == nil {
			if read, kernel := ws.LastRead(); kernel {
				s.User.rec.Lag(s.inbox, max(read.Sub(at), 0))
			}
			err = s.handle(data, at)
		}
		if err != nil {
			return err
		}
	}
}

// handle is the boundary of one message, which is text of the target: a panic ends the connection.
func (s *EventSocket) handle(data []byte, at time.Time) (err error) {
	defer boundary.Recover("handling a message", &err)
	if s.Heard != nil {
		s.Heard(data, at)
	}
	return nil
}

// Send sends a text. It is safe for concurrent use.
func (s *EventSocket) Send(data []byte) error {
	s.mu.Lock()
	ws := s.ws
	s.mu.Unlock()
	if ws == nil {
		return errNotOpen
	}
	return ws.WriteText(data)
}

// Join tells the ledger that the user gets the messages of a channel since this instant, until it
// leaves or the connection ends. It is for Heard, and safe for concurrent use as Leave is.
func (s *EventSocket) Join(channel string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined[channel] = struct{}{}
	s.env.Ledger.Join(s.User.ID, channel, at)
}

// Leave tells the ledger that the user is about to leave a channel.
func (s *EventSocket) Leave(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.joined, channel)
	s.env.Ledger.Leave(s.User.ID, channel)
}

// Seen enters the event of a channel's message into the ledger; pending is the author's own id for
// it, or "". It is for Heard.
func (s *EventSocket) Seen(channel, id, pending string, at time.Time) {
	s.env.Ledger.Seen(s.User.ID, []byte(channel), []byte(id), []byte(pending), at, s.User.rec, s.delivery)
}

// Answer ends the [EventSocket.Ask] that waits for this key, if there is one. It is for Heard.
func (s *EventSocket) Answer(key, answer string, at time.Time) {
	s.mu.Lock()
	waits := s.key != "" && s.key == key
	s.mu.Unlock()
	if waits {
		s.end(socketAnswer{text: answer, at: at})
	}
}

// end ends the operation under way, if there is one.
func (s *EventSocket) end(a socketAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != "" {
		s.key = ""
		s.answers <- a
	}
}

// Ask sends a text and waits for the [EventSocket.Answer] of that key, which it returns: one
// operation of that name, from the sending to the arrival of the message. The error is a
// [*CallError], or the cause of ctx if the run ended: then nothing is recorded.
func (s *EventSocket) Ask(ctx context.Context, name string, data []byte, key string) (string, error) {
	a, _, err := s.ask(ctx, name, data, key)
	return a.text, err
}

// Post is Ask for a message, which the server gives an id and repeats in its events with
// m.Pending, the author's own id for it: the answer of the key m.Pending is the server's id. The
// ledger knows from it what became of the message. m has a channel as well.
func (s *EventSocket) Post(ctx context.Context, name string, m Message, data []byte) error {
	m.Author = s.User.ID
	s.env.Ledger.Sending(m.Channel, m.Pending, m.Author)
	a, sent, err := s.ask(ctx, name, data, m.Pending)
	m.ID, m.Sent, m.Acked = a.text, sent, a.at
	switch {
	case err == nil:
		s.env.Ledger.Acked(m)
	case errors.Is(err, errNotOpen):
		s.env.Ledger.Refused(m.Channel, m.Pending)
	default:
		s.env.Ledger.Unanswered(m)
	}
	return err
}

func (s *EventSocket) ask(
	ctx context.Context,
	name string,
	data []byte,
	key string,
) (a socketAnswer, sent time.Time, err error) {
	n := s.series(name)
	s.User.Begin(n)
	due := time.Now()
	within, cancel := s.deadline(ctx)
	defer cancel()
	s.mu.Lock()
	s.key = key
	s.mu.Unlock()
	sent = time.Now()
	a.err = s.Send(data)
	if a.err == nil {
		select {
		case a = <-s.answers:
		case <-within.Done():
			a.err = &wire.Error{Phase: wire.PhaseWS, Timeout: true, Err: context.Cause(within)}
		}
	}
	s.mu.Lock()
	if s.key == "" && len(s.answers) > 0 {
		<-s.answers // it came too late
	}
	s.key = ""
	s.mu.Unlock()
	if a.err != nil && ctx.Err() != nil {
		a.at = time.Now()
		return a, sent, context.Cause(ctx)
	}
	if a.err == nil {
		s.User.Done(n, due, sent, a.at, measure.OK, int64(len(data)))
		return a, sent, nil
	}
	a.at = time.Now()
	e := &CallError{Op: name, Class: ClassOf(a.err), Err: a.err}
	s.User.Done(n, due, sent, a.at, e.Class, 0)
	s.cast.note(&s.env, e)
	return a, sent, e
}

// deadline ends an operation by the run's clock, or in real time if the target works on while that
// stands still.
func (s *EventSocket) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(s.env.Timeout, wire.DefaultTimeout)
	if s.User.clock.Unpaused() {
		return context.WithTimeout(ctx, limit)
	}
	return s.User.clock.WithDeadline(ctx, s.User.Now()+limit)
}

// Close closes the WebSocket and waits for its goroutine. An EventSocket that is not open may be
// closed.
func (s *EventSocket) Close() {
	if s.stop == nil {
		return
	}
	s.stop()
	s.wg.Wait()
	s.stop = nil
}
