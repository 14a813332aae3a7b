package workload

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"time"

	"plimsoll/load/measure"
)

// numberKey is a message of another process in a channel.
type numberKey struct{ agent, number uint32 }

// numbered is what a ledger that goes by sequence keeps of a message of another process, until it has heard of it.
type numbered struct {
	key   numberKey // number 0: none
	known bool      // a mark says that it was accepted
	doubt bool      // the counts need its acknowledgment
	asked bool
	// overdue are recipients that got it later than the grace after it was sent.
	overdue []ledgerOverdue
}

type ledgerOverdue struct {
	user int32
	at   int64
}

// ledgerRef is a message that may be forgotten meanwhile: then its use is another.
type ledgerRef struct {
	e   *ledgerMessage
	use uint32
}

// ledgerBehind is an event of a message that came to a user after those of messages which were sent later.
type ledgerBehind struct {
	ledgerRef
	user  int32
	n     int // of later
	later [8]ledgerRef
}

// mostMarked is how many numbers one mark may have, and mostUnsure how many events of a shard wait until it is known
// whether they came in order. Further ones are taken to have.
const (
	mostMarked = 1 << 20
	mostUnsure = 1 << 12
)

// number reads the id in a message's first event. It returns the part by which the author's process knows the message;
// all of it if it is none of [Ledger.Number]. The instant of sending counts if it is possible: not after the event, and
// not before messages that are still remembered. The shard is locked.
func (l *Ledger) number(s *ledgerShard, e *ledgerMessage, pending []byte, now int64) []byte {
	if !l.sequence.on {
		return pending
	}
	id, fields, digits := parseNumbered(pending)
	if fields != 5 || digits != stampDigits || !l.ofAgent(id[3], id[0]) {
		return pending
	}
	text, agent := pending[:len(pending)-StampSize], int(id[0])
	if agent == l.agent {
		if s.pending[string(text)] != nil { // the answer has the exact instant
			e.sent = l.possible(int64(id[4]), now, 0)
		}
		return text
	}
	c, key := e.channel, numberKey{uint32(id[0]), uint32(id[2])}
	if c.numbered[key] != nil {
		return text // one number is one message
	}
	if c.numbered == nil {
		c.numbered = map[numberKey]*ledgerMessage{}
	}
	c.numbered[key] = e
	e.key = key
	var sent int64
	sent, e.within, e.from = l.here(agent, int64(id[4]))
	e.sent = l.possible(sent, now, e.within)
	e.doubt = e.sent == noTime
	return text
}

// possible returns an instant of sending as an event has it; noTime if it cannot be.
func (l *Ledger) possible(sent, now int64, within time.Duration) int64 {
	if took := now - sent; took < -int64(within) || took > ledgerHold*int64(l.keep) {
		return noTime
	}
	return sent
}

// timed records a delivery by the event alone, and reports whether it could. The shard is locked.
func (l *Ledger) timed(e *ledgerMessage, u int32, now int64, rec *measure.Recorder, name measure.Name) bool {
	if e.key.number == 0 || e.sent == noTime {
		return false
	}
	took := now - e.sent
	if took < -int64(e.within) {
		l.question(e)
		return false
	}
	if took > int64(l.grace) {
		e.overdue = append(e.overdue, ledgerOverdue{u, now})
		l.question(e)
	}
	l.delivered(e, rec, name, now)
	return true
}

// question notes that the counts need the acknowledgment of a message, and asks for it once it is known to be one of
// the fleet's: who only claims to be one costs nobody anything. The shard is locked.
func (l *Ledger) question(e *ledgerMessage) {
	if e.key.number == 0 || e.acked != noTime {
		return
	}
	if e.doubt = true; e.known && !e.asked {
		e.asked = true
		l.outbox.ask(Numbered{int(e.key.agent), e.channel.name, e.key.number})
	}
}

func (o *outbox) ask(n Numbered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, n)
}

// overtake looks whether user u, who has just got the event of e, had those of later messages before. The shard is
// locked.
func (l *Ledger) overtake(s *ledgerShard, e *ledgerMessage, u int32) {
	if u == e.author {
		return
	}
	x := ledgerBehind{ledgerRef: ledgerRef{e, e.use}, user: u}
	if x.find(); x.n == 0 || s.passed(x) || len(s.behind) >= mostUnsure {
		return
	}
	s.behind = append(s.behind, x)
	l.question(e)
}

// find looks for messages of the channel that were sent after x.e and that the user has got.
func (x *ledgerBehind) find() {
	e, recent := x.e, x.e.channel.recent
	for i, n := len(recent)-1, 0; i >= 0 && n < 8*mostBehind && x.n < len(x.later); i, n = i-1, n+1 {
		b := recent[i]
		if e.sent != noTime && b.born <= e.sent {
			return // this one and all before it were sent before e
		}
		if b != e && b.sent != noTime && b.sent > e.sent && b.seen.has(x.user) {
			x.later[x.n] = ledgerRef{b, b.use}
			x.n++
		}
	}
}

// passed counts an event that came after one of a later message, if that one was sent after the acknowledgment of this
// one. It reports false as long as it depends on what is not known yet: that acknowledgment, or whether the later
// message was accepted. The shard is locked.
func (s *ledgerShard) passed(x ledgerBehind) bool {
	e := x.e
	switch {
	case e.use != x.use: // forgotten
		return true
	case e.acked == noTime:
		return false
	case x.user == e.author:
		return true
	}
	unsure := false
	for _, k := range x.later[:x.n] {
		b := k.e
		switch {
		case b.use != k.use || b.sent <= e.acked:
		case b.acked != noTime || b.known:
			s.count.Misordered++
			return true
		default:
			unsure = true
		}
	}
	return !unsure
}

// resolve decides which events of e came late, now that its acknowledgment is known. The shard is locked.
func (l *Ledger) resolve(s *ledgerShard, e *ledgerMessage) {
	if len(e.overdue) == 0 {
		return
	}
	l.presence.RLock()
	defer l.presence.RUnlock()
	for _, o := range e.overdue {
		if o.at > e.acked+int64(l.grace) && e.channel.members.has(o.user) && l.owes(e.channel, o.user, e.sent, e.acked) {
			s.count.Seen--
			s.count.Late++
		}
	}
	e.overdue = emptied(e.overdue, mostAfter)
}

// await has e judged when its grace is over. One of another process may be heard of after messages that were
// acknowledged later and, by sequence, after its grace. The shard is locked.
func (l *Ledger) await(s *ledgerShard, e *ledgerMessage, now int64) {
	if l.sequence.on && e.acked+int64(l.grace) <= now {
		l.settle(s, e)
		return
	}
	n := len(s.unsettle)
	if n > 0 && s.unsettle[n-1].acked > e.acked {
		n, _ = slices.BinarySearchFunc(s.unsettle, e.acked, func(x *ledgerMessage, acked int64) int {
			if x.acked <= acked {
				return -1
			}
			return 1
		})
	}
	s.unsettle = slices.Insert(s.unsettle, n, e)
}

// owes reports whether a member of a channel should have got a message that was sent and acknowledged at these instants:
// who is connected since before it was sent. By sequence that may be asked long after the grace, and who was connected
// until then owes it too. presence is locked.
func (l *Ledger) owes(c *ledgerChannel, u int32, sent, acked int64) bool {
	if int(u) >= len(l.since) {
		return false
	}
	if at, ok := c.joined[u]; ok && at > sent {
		return false
	}
	p := l.since[u]
	return p.connected != 0 && p.connected-1 <= sent ||
		l.sequence.on && p.was != 0 && p.was-1 <= sent && p.ended-1 >= acked+int64(l.grace)
}

// Marked takes in which messages of another process were accepted. Those whose events came to all who should have them
// are settled by it. Of the others, and of those that came in an order, or at a time, that a fault of the server may
// explain, the ledger asks for the acknowledgment ([Numbering]), and [Ledger.Heard] then judges them as any. Marks of
// agents of this host, whose messages are heard of, are ignored.
func (l *Ledger) Marked(m Mark, now time.Time) {
	switch h := l.sequence.hosts; {
	case !l.sequence.on, m.To < m.After, m.To-m.After > mostMarked, m.Agent < 0, m.Agent >= l.deal.agents:
		return // no mark of this fleet
	case m.Agent == l.agent, h > 0 && m.Agent%h == l.agent%h:
		return
	}
	s := l.shard(maphash.String(l.seed, m.Channel))
	s.mu.Lock()
	defer s.mu.Unlock()
	l.sweep(s, l.nanos(now))
	c := s.channels[m.Channel]
	if c == nil {
		return
	}
	for n := uint64(m.After) + 1; n <= uint64(m.To); n++ {
		if _, not := slices.BinarySearch(m.Not, uint32(n)); !not {
			l.accepted(s, c, numberKey{uint32(m.Agent), uint32(n)})
		}
	}
	for _, n := range m.Late {
		l.accepted(s, c, numberKey{uint32(m.Agent), n})
	}
}

// accepted takes in that a message of another process was accepted. The shard is locked.
func (l *Ledger) accepted(s *ledgerShard, c *ledgerChannel, key numberKey) {
	e := c.numbered[key]
	if e == nil {
		if l.attended(c) {
			l.outbox.ask(Numbered{int(key.agent), c.name, key.number})
		}
		return
	}
	if e.known || e.acked != noTime {
		return
	}
	e.known = true
	if e.doubt {
		l.question(e)
		return
	}
	s.marked = append(s.marked, ledgerRef{e, e.use})
}

// attended reports whether a member of a channel is connected, or was and may resume.
func (l *Ledger) attended(c *ledgerChannel) bool {
	l.presence.RLock()
	defer l.presence.RUnlock()
	for w, members := range c.members {
		for ; members != 0; members &= members - 1 {
			u := w<<6 + bits.TrailingZeros64(members)
			if u < len(l.since) && l.since[u].connected|l.since[u].before != 0 {
				return true
			}
		}
	}
	return false
}

// judge settles the messages that a mark has named and whose grace is over, as nobody lacks them, or asks; and decides
// the order of events of which enough is known. The shard is locked.
func (l *Ledger) judge(s *ledgerShard, now int64) {
	s.behind = slices.DeleteFunc(s.behind, s.passed)
	s.marked = slices.DeleteFunc(s.marked, func(k ledgerRef) bool {
		switch e := k.e; {
		case k.use != e.use || e.acked != noTime: // forgotten, or heard of
		case e.sent+int64(l.grace) > now:
			return false
		case l.whole(e):
			e.settled = true
		default:
			l.question(e)
		}
		return true
	})
}

// whole reports whether all who should have a message have it.
func (l *Ledger) whole(e *ledgerMessage) bool {
	l.presence.RLock()
	defer l.presence.RUnlock()
	for w, members := range e.channel.members {
		if w < len(e.seen) {
			members &^= e.seen[w]
		}
		for ; members != 0; members &= members - 1 {
			if l.owes(e.channel, int32(w<<6+bits.TrailingZeros64(members)), e.sent, e.sent) {
				return false
			}
		}
	}
	return true
}

// drop forgets the number of a message that is forgotten, and those who wait for it. The shard is locked.
func (l *Ledger) drop(e *ledgerMessage) {
	if l.sequence.on {
		e.use++
	}
	if e.key.number != 0 {
		delete(e.channel.numbered, e.key)
	}
}
