package join

import (
	"bytes"
	"time"

	"github.com/nats-io/nats.go"
)

// A Responder is an agent's end of a [Requester]. Read returns the bytes of requests, each once,
// and each Write is the reply to the last one. It is kept, and sent again when it was lost, until
// the next request comes or another session begins, also after Close. Reads wait until the session
// is closed. Methods are safe for concurrent use.
type Responder struct {
	nc *nats.Conn
	to string // the subject of replies

	inbox
	number uint64 // of the last request
	reply  []byte // to it; nil while there is none
	heard  time.Time
}

func newResponder(nc *nats.Conn, to string) *Responder {
	s := &Responder{nc: nc, to: to, heard: time.Now()}
	s.changed.L = &s.mu
	return s
}

// send sends a message of the last request. Errors are not reported: the reply stays. s.mu is held.
func (s *Responder) send(number uint64, st state, body []byte) {
	_ = s.nc.PublishMsg(numbered(s.to, "", number, st, body))
}

// receive takes in a message of the coordinator.
func (s *Responder) receive(number uint64, st state, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
	switch st {
	case whole:
		if number > s.number && !s.closed {
			s.number, s.reply = number, nil
			s.put(body)
		}
	case ask:
		switch {
		case number > s.number:
			s.send(number, lacks, nil)
		case number == s.number && s.reply != nil:
			s.send(number, replied, nil)
		}
	case repeat:
		if number == s.number && s.reply != nil {
			s.send(number, whole, s.reply)
		}
	case here:
	default:
		return errMessage
	}
	return nil
}

// Write replies to the last request. It keeps no reference to b.
func (s *Responder) Write(b []byte) (int, error) {
	if err := fits(s.nc, len(b)); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	s.reply = bytes.Clone(b)
	s.send(s.number, whole, s.reply)
	return len(b), nil
}

// Close ends the session at this end.
func (s *Responder) Close() error {
	s.shut()
	return nil
}

// Silent returns the time since anything came from the coordinator.
func (s *Responder) Silent() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard)
}

// over reports whether the session is closed.
func (s *Responder) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
