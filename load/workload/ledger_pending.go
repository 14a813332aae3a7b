package workload

import (
	"slices"
)

// A ledgerPending is a message that goes by the id that its author gave it: the server's own is not
// known yet.
type ledgerPending struct {
	message Message        // Pending and Author at first, all but the ID when the request has ended
	named   *ledgerMessage // what an event with that id named; nil before
	over    bool           // the request ended without an answer that says what became of it
	ended   int64
}

// ledgerHold is the factor by which a message that an event named and no answer is remembered for
// longer: the request of its author may be under way. It is longer when that request is known here
// to be.
const (
	ledgerHold     = 2
	ledgerHoldOpen = 10
)

// Sending records that a user is about to request a message under an id of its own, which the
// server repeats in the message's events. [Ledger.Acked], [Ledger.Refused] or [Ledger.Unanswered]
// follows, with the same id as Pending. Until then an event that carries it is known to be of this
// user's message. The same id may be sent again.
func (l *Ledger) Sending(channel, pending string, author int) {
	if l == nil || pending == "" {
		return
	}
	s := l.lock(channel)
	defer s.mu.Unlock()
	p := s.pending[pending]
	if p == nil {
		if n := len(s.spare); n > 0 {
			p, s.spare = s.spare[n-1], s.spare[:n-1]
		} else {
			p = new(ledgerPending)
		}
		s.pending[pending] = p
	}
	*p = ledgerPending{
		message: Message{Pending: pending, Channel: channel, Author: author},
		named:   p.named,
	}
}

// Refused records that the server declined the message.
func (l *Ledger) Refused(channel, pending string) {
	if l == nil || pending == "" {
		return
	}
	s := l.lock(channel)
	defer s.mu.Unlock()
	s.conclude(pending)
}

// Unanswered records that the request of a message ended, at m.Acked, without an answer that says
// whether the server accepted it: it timed out, the connection broke, or a proxy answered for the
// server. m has no ID. If an event names the message, which may have come before or come later, it
// counts as accepted, at that event.
func (l *Ledger) Unanswered(m Message) {
	if l == nil || m.Pending == "" {
		return
	}
	s := l.lock(m.Channel)
	now := l.nanos(m.Acked)
	l.sweep(s, now)
	found := l.unanswered(s, m, now)
	s.mu.Unlock()
	if !found {
		m.ID = ""
		l.outbox.acked(m)
	}
}

// unanswered looks for the event of a message whose request has ended, and awaits it if it has not
// come. The shard is locked.
func (l *Ledger) unanswered(s *ledgerShard, m Message, now int64) (found bool) {
	p := s.pending[m.Pending]
	if p == nil {
		p = &ledgerPending{named: l.channel(s, []byte(m.Channel)).pending(m.Pending)}
		s.pending[m.Pending] = p
	}
	p.message = m
	p.over = true
	p.ended = now
	if p.named != nil {
		l.accept(s, p, now)
		return true
	}
	s.over = append(s.over, p)
	return false
}

// pending returns the channel's message that events named with an author's id and no answer has.
func (c *ledgerChannel) pending(id string) *ledgerMessage {
	for _, e := range slices.Backward(c.recent) {
		if e.acked == noTime && string(e.pending) == id {
			return e
		}
	}
	return nil
}

// name notes the author's id of a message whose first event has come, and returns the message's
// line if a request with that id is known. The shard is locked.
func (l *Ledger) name(s *ledgerShard, e *ledgerMessage, pending []byte) *ledgerPending {
	e.pending = append(e.pending[:0], pending...)
	p := s.pending[string(pending)]
	if p == nil || p.named != nil || p.message.Channel != e.channel.name {
		return nil
	}
	p.named, e.line = e, p
	e.author = l.authorPlace(p.message.Author)
	return p
}

// accept takes in a message that an event has named and no answer. The shard is locked.
func (l *Ledger) accept(s *ledgerShard, p *ledgerPending, now int64) {
	e, m := p.named, p.message
	m.ID = e.id
	m.Acked = e.first
	m.Unanswered = true
	s.conclude(m.Pending)
	l.enter(s, m, now)
	l.outbox.acked(m)
}

// conclude forgets what went by an author's id. The shard is locked.
func (s *ledgerShard) conclude(pending string) {
	p := s.pending[pending]
	if p == nil {
		return
	}
	delete(s.pending, pending)
	if p.named != nil {
		p.named.line = nil
	}
	if p.over {
		return // the list over may have it
	}
	*p = ledgerPending{}
	s.spare = append(s.spare, p)
}

// again reports whether the server has answered with a message that it had accepted already because
// both requests bore the same id: that is one message. The shard is locked.
func (s *ledgerShard) again(m Message) bool {
	e := s.messages[m.ID]
	if e == nil || e.acked == noTime || m.Pending == "" || string(e.pending) != m.Pending {
		return false
	}
	if e.unanswered {
		e.unanswered = false
		s.count.Unanswered--
	}
	return true
}

// held reports whether a message that only events have named is still remembered: someone may
// have asked for it. Without a shared ledger, an author's id that was never sent from here is
// another client's.
func (l *Ledger) held(e *ledgerMessage, now int64) bool {
	switch {
	case e.line != nil:
		return e.born+ledgerHoldOpen*int64(l.keep) > now
	case l.outbox != nil && len(e.pending) > 0:
		return e.born+ledgerHold*int64(l.keep) > now
	}
	return false
}

// expire gives up the requests whose events have not come. The shard is locked.
func (l *Ledger) expire(s *ledgerShard, now int64) {
	n := 0
	for ; n < len(s.over) && s.over[n].ended+ledgerHold*int64(l.keep) <= now; n++ {
		if p := s.over[n]; s.pending[p.message.Pending] == p && p.over {
			s.conclude(p.message.Pending)
		}
	}
	s.over = trim(s.over, n)
}
