package join

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// mostAway is how many pieces may be on their way, not acknowledged.
	mostAway = 32
	// beat is how often an end gives a sign of life, and looks for pieces that did not arrive.
	beat = time.Second
	// again is the least time between two repetitions.
	again = 300 * time.Millisecond
)

// errClosed is returned by a stream that this end closed.
var errClosed = errors.New("the link is closed")

// A Stream carries the bytes of one session, whole and in order, over connections that come and go. One Write is
// received as a whole. Reads and writes wait for the other end until the stream is closed. Methods are safe for
// concurrent use.
type Stream struct {
	id        sessionID
	direction byte // of what this end sends
	publish   func(packet) error
	refuse    func(format string, args ...any) // a line about a message that was refused

	mu      sync.Mutex
	changed sync.Cond
	number  uint64 // of the last packet sent
	sent    uint64 // pieces
	kept    []packet
	asked   time.Time // when pieces were last repeated
	seen    uint64    // the highest number of the other end's packets
	got     uint64    // pieces
	missed  time.Time // when a gap was last reported
	partial []byte
	inbox   []byte
	heard   time.Time
	closed  error
	stop    chan struct{}

	writing sync.Mutex // one Write at a time
}

func newStream(id sessionID, direction byte, publish func(packet) error, refuse func(string, ...any)) *Stream {
	s := &Stream{id: id, direction: direction, publish: publish, refuse: refuse, heard: time.Now(), stop: make(chan struct{})}
	s.changed.L = &s.mu
	return s
}

// live gives signs of life until the stream is closed.
func (s *Stream) live() {
	t := time.NewTicker(beat)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			s.mu.Lock()
			s.send(packet{kind: ping, piece: s.sent})
			s.mu.Unlock()
		}
	}
}

// send sends a packet of the session. Errors are not reported: the pieces stay, and are sent again. s.mu is held.
func (s *Stream) send(p packet) {
	s.number++
	p.session, p.direction, p.number, p.acked = s.id, s.direction, s.number, s.got
	_ = s.publish(p)
}

// Write sends b; it returns when all of b is on its way, and keeps no reference to it.
func (s *Stream) Write(b []byte) (int, error) {
	if len(b) > mostWhole {
		return 0, fmt.Errorf("a message of %d bytes is refused: a link carries at most %d; use more agents, or fewer users each", len(b), mostWhole)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 0; n < len(b); {
		for len(s.kept) >= mostAway && s.closed == nil {
			s.changed.Wait()
		}
		if s.closed != nil {
			return n, s.closed
		}
		end := min(n+pieceSize, len(b))
		p := packet{kind: data, piece: s.sent, last: end == len(b), body: append([]byte(nil), b[n:end]...)}
		s.kept = append(s.kept, p)
		s.sent++
		s.send(p)
		n = end
	}
	return len(b), nil
}

// Read returns bytes of whole writes of the other end.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.inbox) == 0 && s.closed == nil {
		s.changed.Wait()
	}
	if len(s.inbox) == 0 {
		if errors.Is(s.closed, errClosed) {
			return 0, io.ErrClosedPipe
		}
		return 0, s.closed
	}
	n := copy(b, s.inbox)
	if s.inbox = s.inbox[n:]; len(s.inbox) == 0 {
		s.inbox = nil
	}
	s.changed.Broadcast()
	return n, nil
}

// settle waits until the other end has acknowledged all that was written, at most for so long or until the stream is
// closed.
func (s *Stream) settle(most time.Duration) {
	over := false
	t := time.AfterFunc(most, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		over = true
		s.changed.Broadcast()
	})
	defer t.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.kept) > 0 && s.closed == nil && !over {
		s.changed.Wait()
	}
}

// Close ends the stream at this end. The other end finds out by its own deadline.
func (s *Stream) Close() error { s.end(errClosed); return nil }

func (s *Stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = err
		close(s.stop)
	}
	s.changed.Broadcast()
}

// Silent is how long nothing has come from the other end.
func (s *Stream) Silent() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard)
}

// mine reports whether a packet is of this session, and the first of its number.
func (s *Stream) mine(p packet) error {
	switch {
	case p.session != s.id:
		return errors.New("it is of another session: an old message, played again?")
	case p.direction == s.direction:
		return errors.New("it goes the other way: a message of this end, played back?")
	case p.number <= s.seen:
		return fmt.Errorf("its number %d was there: a message played again", p.number)
	}
	return nil
}

// receive takes in a packet. An error means that it was refused and has changed nothing.
func (s *Stream) receive(p packet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mine(p); err != nil {
		return err
	}
	if p.acked > s.sent {
		return fmt.Errorf("it acknowledges %d pieces of %d", p.acked, s.sent)
	}
	if s.closed != nil {
		return nil
	}
	s.seen, s.heard = p.number, time.Now()
	for len(s.kept) > 0 && s.kept[0].piece < p.acked {
		s.kept = s.kept[1:]
	}
	if p.gap && time.Since(s.asked) >= again {
		s.repeat()
	}
	switch p.kind {
	case data:
		if p.piece == s.got && len(s.inbox) <= mostWhole { // else its sender keeps it until there is room
			if len(s.partial)+len(p.body) > mostWhole {
				s.closed = fmt.Errorf("a message of more than %d bytes is refused", mostWhole)
				close(s.stop)
				s.refuse("%v: the link is closed", s.closed)
				break
			}
			s.got++
			if s.partial = append(s.partial, p.body...); p.last {
				s.inbox, s.partial = append(s.inbox, s.partial...), nil
			}
			s.send(packet{kind: ack})
		} else {
			s.miss(p.piece > s.got)
		}
	case ping:
		s.miss(p.piece > s.got)
	case hello, welcome, ack: // the first two begin a session, elsewhere; the third has been heard above
	}
	s.changed.Broadcast()
	return nil
}

// miss acknowledges the pieces that came, and says whether one is missing. s.mu is held.
func (s *Stream) miss(gap bool) {
	if gap && time.Since(s.missed) < again {
		return
	}
	if gap {
		s.missed = time.Now()
	}
	s.send(packet{kind: ack, gap: gap})
}

// repeat sends all that was not acknowledged again. s.mu is held.
func (s *Stream) repeat() {
	s.asked = time.Now()
	for _, p := range s.kept {
		s.send(p)
	}
}

// resume is called when a connection is there again.
func (s *Stream) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.repeat()
		s.send(packet{kind: ping, piece: s.sent})
	}
}
