package workload

import (
	"math/bits"
	"slices"
	"time"
)

// misorder counts the event of e that user u has just got if u had a later message before. The
// shard is locked.
func (s *ledgerShard) misorder(e *ledgerMessage, u int32) {
	if e.acked == noTime || u == e.author {
		return // all that u has seen was sent before this one's acknowledgment
	}
	recent := e.channel.recent
	for i, n := len(recent)-1, 0; i >= 0 && n < mostBehind; i, n = i-1, n+1 {
		b := recent[i]
		if b.born <= e.acked {
			return // this one and all before it were sent before e was acknowledged
		}
		switch {
		case b == e || !b.seen.has(u):
		case b.acked == noTime:
			b.after = append(b.after, e.acked) // decided when b's author reports its Sent instant
			return
		case b.sent > e.acked:
			s.count.Misordered++
			return
		}
	}
}

// Settle judges every message whose grace is over, and writes the ids for the audit to their file.
// It is called about once a second, and before the users stop.
func (l *Ledger) Settle(now time.Time) {
	if l == nil {
		return
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.next = 0
		l.sweep(s, l.nanos(now))
		s.mu.Unlock()
	}
	l.spool.write()
}

// sweep judges due messages and drops old ones, at most once in sweepEvery. The shard is locked.
func (l *Ledger) sweep(s *ledgerShard, now int64) {
	if now < s.next {
		return
	}
	s.next = now + int64(sweepEvery)
	l.order(s, now) // before any of it is forgotten
	n := 0
	for ; n < len(s.unsettle) && s.unsettle[n].acked+int64(l.grace) <= now; n++ {
		l.settle(s, s.unsettle[n])
	}
	s.unsettle = trim(s.unsettle, n)
	l.expire(s, now)
	s.foreign.age(now, 2*ledgerHoldOpen*int64(l.keep))
	s.named.age(now, 2*ledgerHoldOpen*int64(l.keep))
	for n = 0; n < len(s.order) && l.past(s.order[n], now); n++ {
		e := s.order[n]
		c := e.channel
		if e.acked == noTime {
			if e.line != nil {
				e.line.named, e.line = nil, nil
			}
			if l.outbox == nil {
				s.count.Foreign++
			}
			l.outbox.add(func(t *Traffic) { t.Foreign = append(t.Foreign, e.id) })
			s.count.Seen -= int64(e.seen.count())
		}
		c.recent = trim(c.recent, 1) // both lists are by birth
		delete(s.messages, e.id)
		s.waited(e)
		e.after = emptied(e.after, mostAfter)
		s.free = append(s.free, e)
	}
	s.order = trim(s.order, n)
	if n > 0 {
		for _, c := range s.channels {
			for u, at := range c.joined {
				if at+ledgerHold*int64(l.keep) < now {
					delete(c.joined, u)
				}
			}
			if len(c.joined) == 0 {
				c.joined = nil
			}
		}
	}
}

// past reports whether a message can be forgotten.
func (l *Ledger) past(e *ledgerMessage, now int64) bool {
	switch {
	case e.born+int64(l.keep) > now:
		return false
	case e.acked == noTime:
		return !l.held(e, now)
	}
	return e.settled
}

// settle counts the recipients who should have had a message and have not. The shard is locked.
func (l *Ledger) settle(s *ledgerShard, e *ledgerMessage) {
	e.settled = true
	s.count.Judged++
	c := e.channel
	l.presence.RLock()
	defer l.presence.RUnlock()
	for w, members := range c.members {
		if w < len(e.seen) {
			members &^= e.seen[w]
		}
		for ; members != 0; members &= members - 1 {
			u := int32(w<<6 + bits.TrailingZeros64(members))
			if u == e.author || !l.owes(c, u, e.sent) {
				continue
			}
			e.missing.set(u)
			s.count.Lost++
		}
	}
}

// await has e judged when its grace is over. One of another process may be heard of after messages
// that were acknowledged later. The shard is locked.
func (s *ledgerShard) await(e *ledgerMessage) {
	n := len(s.unsettle)
	if n > 0 && s.unsettle[n-1].acked > e.acked {
		n, _ = slices.BinarySearchFunc(
			s.unsettle,
			e.acked,
			func(x *ledgerMessage, acked int64) int {
				if x.acked <= acked {
					return -1
				}
				return 1
			},
		)
	}
	s.unsettle = slices.Insert(s.unsettle, n, e)
}

// owes reports whether a member of a channel should have got a message that was sent at this
// instant: who is connected since before it. presence is locked.
func (l *Ledger) owes(c *ledgerChannel, u int32, sent int64) bool {
	if int(u) >= len(l.since) {
		return false
	}
	if at, ok := c.joined[u]; ok && at > sent {
		return false
	}
	p := l.since[u]
	return p.connected != 0 && p.connected-1 <= sent
}

// trim drops the first n of a list and keeps its room.
func trim[T any](s []T, n int) []T {
	if n == 0 {
		return s
	}
	k := copy(s, s[n:])
	clear(s[k:])
	return s[:k]
}
