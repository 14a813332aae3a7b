package workload

import (
	"sync"
	"time"
)

// Traffic holds the data that the ledgers of several processes exchange, so that together they
// count the same as one.
type Traffic struct {
	// Acked are messages that were accepted; those without an ID have ended as [Ledger.Unanswered]
	// says.
	Acked []Message
	// Deleted are messages that were deleted, by channel and id.
	Deleted [][2]string
	// Foreign are the ids of messages that were forgotten before anyone acknowledged them.
	Foreign []string
	// Early are deliveries before their sending, for each host of authors that has any.
	Early []Early
	// Channels became known here: what is acknowledged in them is needed from now on, and what was
	// acknowledged shortly before.
	Channels []string
}

// outbox holds the traffic that was not collected yet. A nil one holds nothing.
type outbox struct {
	mu      sync.Mutex
	traffic Traffic
}

// add has f add to the traffic.
func (o *outbox) add(f func(*Traffic)) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.traffic)
}

func (o *outbox) acked(m Message) {
	o.add(func(t *Traffic) { t.Acked = append(t.Acked, m) })
}

// Share makes the ledger keep the data that ledgers of other processes need, for [Ledger.Outbox].
// It is called before anything is counted. From then on authors may be users of other processes,
// whose acknowledgments come by [Ledger.Heard], later than the events; and Foreign is not counted
// here, but by the ledger that all traffic comes to. That one alone has the messages for the audit,
// too.
func (l *Ledger) Share() { l.outbox = new(outbox) }

// Outbox returns the traffic since the call before.
func (l *Ledger) Outbox() Traffic {
	l.outbox.mu.Lock()
	defer l.outbox.mu.Unlock()
	t := l.outbox.traffic
	l.outbox.traffic = Traffic{}
	return t
}

// Heard takes in that a message was acknowledged to a user of another process, which then counts
// neither in Acked nor for the audit of this ledger; or, without an ID, that the request of such a
// user ended as [Ledger.Unanswered] says.
func (l *Ledger) Heard(m Message, now time.Time) {
	s := l.lock(m.Channel)
	defer s.mu.Unlock()
	at := l.nanos(now)
	l.sweep(s, at)
	switch {
	case m.ID != "":
		s.conclude(m.Pending) // named by an event here or elsewhere
		l.acked(s, m, at)
		l.order(s, at)
	case m.Pending != "":
		l.unanswered(s, m, at)
	}
}

// Gather takes in the traffic of one of several processes that drive a run's users, and its counts
// so far. This ledger, which has no users of its own, then counts for all of them, and holds the
// messages that an audit should find: Acked, Judged, Unanswered, Foreign and Repeated by the
// traffic, the rest as the sum of each process's counts for its users.
func (l *Ledger) Gather(process int, t Traffic, count LedgerCount) {
	if l == nil {
		return
	}
	count.Acked = 0
	count.Judged = 0
	count.Unanswered = 0
	count.Foreign = 0
	count.Repeated = 0
	l.elsewhere.Lock()
	if l.counts == nil {
		l.counts = map[int]LedgerCount{}
	}
	l.counts[process] = count
	l.elsewhere.Unlock()
	for _, m := range t.Acked {
		if m.ID != "" && (!m.Unanswered || l.first(m.ID)) {
			l.Acked(m)
		}
	}
	for _, d := range t.Deleted {
		l.Deleted(d[0], d[1])
	}
	for _, id := range t.Foreign {
		s := l.lock(id)
		if !s.foreign.has(id) && !s.named.has(id) {
			s.foreign.add(id)
			s.count.Foreign++
		}
		s.mu.Unlock()
	}
}

// first reports whether a message that no answer named is new: several processes may have got its
// event. It is not a foreign one, whatever process had forgotten it.
func (l *Ledger) first(id string) bool {
	s := l.lock(id)
	defer s.mu.Unlock()
	if s.named.has(id) {
		return false
	}
	s.named.add(id)
	if s.foreign.has(id) {
		s.foreign.remove(id)
		s.count.Foreign--
	}
	return true
}

// recentIDs are the ids of a time: longer than the processes that got events of one message hold
// it.
type recentIDs struct {
	now, before map[string]struct{}
	turn        int64 // when now becomes before
}

// age forgets ids that are older than span, at the latest when they are twice that. It is called
// about once a second.
func (r *recentIDs) age(now, span int64) {
	if now >= r.turn {
		r.turn = now + span
		r.before, r.now = r.now, nil
	}
}

func (r *recentIDs) has(id string) bool {
	_, is := r.now[id]
	if !is {
		_, is = r.before[id]
	}
	return is
}

func (r *recentIDs) add(id string) {
	if r.now == nil {
		r.now = map[string]struct{}{}
	}
	r.now[id] = struct{}{}
}

func (r *recentIDs) remove(id string) {
	delete(r.now, id)
	delete(r.before, id)
}

// A ledgerArrival is the event of a message that a user has got.
type ledgerArrival struct {
	e    *ledgerMessage
	use  uint32
	user int32
}

// order checks the events as they came, each when its message's acknowledgment
// has come from elsewhere, or has not come within the grace. The shard is locked.
func (l *Ledger) order(s *ledgerShard, now int64) {
	n := 0
	for ; n < len(s.unordered); n++ {
		a := s.unordered[n]
		if a.use != a.e.use {
			continue // forgotten meanwhile
		}
		if a.e.acked == noTime && a.e.born+int64(l.grace) > now {
			break
		}
		if a.e.acked != noTime && a.user != a.e.author && a.e.overtaken(a.user) {
			s.count.Misordered++
		}
		a.e.ordered.set(a.user)
	}
	if n > 0 {
		s.unordered = append(s.unordered[:0], s.unordered[n:]...)
	}
}

// overtaken reports whether a user had got a later message of the channel before e. All that came
// before e's event are decided: an acknowledgment that is missing will not come.
func (e *ledgerMessage) overtaken(user int32) bool {
	// also those that were born while e's event waited, hence more than mostBehind
	recent := e.channel.recent
	for i, n := len(recent)-1, 0; i >= 0 && n < 8*mostBehind && recent[i].born > e.acked; i, n = i-1, n+1 {
		if b := recent[i]; b.acked != noTime && b.sent > e.acked && b.ordered.has(user) {
			return true
		}
	}
	return false
}
