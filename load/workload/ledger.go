package workload

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// A Ledger follows each message from its author to every recipient, and keeps the acknowledged
// ones.
//
// Authors report accepted messages ([Ledger.Acked]); recipients report events that their
// connections read ([Ledger.Seen]) and when they are connected and members ([Ledger.Connected],
// [Ledger.Join]). Response and event may arrive in either order. The time from the author's Sent
// instant to the event is recorded once per recipient, as soon as both are known.
//
// # Counts
//
// A message is accepted when the server's answer names it, or when an event does by the id that its
// author gave it ([Ledger.Sending]): then the response was lost, not the message.
//
// A message is lost to a recipient who was a member of its channel and connected without a break
// from before it was sent until grace after it was acknowledged, and never got the event. It is
// late if the event came after that. It is duplicated if the same recipient got it again. It is
// misordered if the recipient had already got a message of the channel that was sent after this one
// had been acknowledged: messages that were under way together have no order, and raise no alarm.
//
// Recipients are users of this process, by number (authors may be elsewhere, see [Ledger.Share]); a
// user with several connections reports one of them. Users that never report a connection only
// author. The author's own events are not counted.
//
// # Cost
//
// A message is kept for about half a minute, with one bit for each user of the process
// ([Ledger.Divide]); one that was requested under an id of the author's until that request is over,
// five minutes at most, and of a shared ledger one that may have been for a minute. An event costs
// a map look-up and, for the order, a scan of the messages of the channel that were sent after this
// one's acknowledgment: none while events come in order, at most 64. Nothing is allocated per event
// once the pools are warm. Of each acknowledged message the id stays until the end for the audit,
// and that of the post that it answers, in a temporary file that has no name (of 26 letters: 29
// bytes, 55 of a reply): a million messages; beyond, a sample chosen by a hash of the id. Only
// where no file can be written they are in memory. A ledger that shares ([Ledger.Share]) keeps
// none.
//
// A nil Ledger does nothing. All methods are safe for concurrent use.
type Ledger struct {
	clock  atomic.Pointer[clock.Clock]
	grace  time.Duration
	keep   time.Duration
	seed   maphash.Seed
	shards [32]ledgerShard

	presence sync.RWMutex
	since    []instants // by place of the user

	agent int // of deal, whose users have places; see Divide
	deal  *Deal

	outbox *outbox // nil unless shared

	elsewhere sync.Mutex
	counts    map[int]LedgerCount // of other processes, of a ledger that gathers

	spool ledgerSpool
}

// instants are times of the ledger's clock in nanoseconds, plus one; 0 is never.
type instants struct{ connected, before int64 }

// DefaultGrace is the time after its acknowledgment in which a message arrives without being late.
const DefaultGrace = 10 * time.Second

const (
	ledgerKeep = 3               // times the grace: how long a message is remembered
	mostBehind = 64              // messages checked for the order of one event
	mostAcked  = 1_000_000       // ids kept for the audit
	sweepEvery = time.Second     // of a shard
	noTime     = int64(-1 << 62) // not sent yet, as far as is known
)

type ledgerShard struct {
	mu       sync.Mutex
	channels map[string]*ledgerChannel
	messages map[string]*ledgerMessage
	order    []*ledgerMessage // by birth
	unsettle []*ledgerMessage // acknowledged and not judged yet, by acknowledgment
	next     int64            // sweep
	free     []*ledgerMessage
	lists    ledgerLists
	count    LedgerCount
	foreign  recentIDs // of a ledger that gathers

	unordered []ledgerArrival // events as they came, of a ledger that shares

	pending map[string]*ledgerPending // by the author's id
	over    []*ledgerPending          // those whose request has ended, by its end
	spare   []*ledgerPending
	named   recentIDs // that no answer gave, of a ledger that gathers
}

type ledgerChannel struct {
	name    string
	members bitmap
	joined  map[int32]int64 // within the time that messages are kept
	// by birth, oldest first; ends of the list are trimmed with the messages
	recent  []*ledgerMessage
	spooled int // its number in the spool, from 1; 0 for none
	deleted map[string]struct{}
	readers []string // the first few of Message.Reader
}

type ledgerMessage struct {
	id          string
	use         uint32 // how often this place was used
	channel     *ledgerChannel
	author      int32 // its place; -1 if it is not known, or not of this process
	born        int64
	sent, acked int64 // noTime while only events were seen
	from        int   // Message.From and Message.Within
	within      time.Duration
	settled     bool
	unanswered  bool           // acknowledged by an event
	pending     []byte         // the author's id for it, as its first event or the answer says
	line        *ledgerPending // of a request under way with that id
	first       time.Time      // when the first event came
	seen        bitmap
	ordered     bitmap          // whose event was checked for the order; of a ledger that shares
	missing     bitmap          // judged lost; set by settle
	waiting     []ledgerWaiting // until it is acknowledged; of ledgerShard.lists
	// acknowledgments of messages that a recipient got after this one, while this one is pending
	after []int64
}

// A LedgerCount holds the counts of a Ledger.
type LedgerCount struct {
	// Acked is the number of messages that the server accepted.
	Acked int64 `json:"acked"`
	// Judged counts the ones that are old enough to determine their recipients.
	Judged int64 `json:"judged"`
	// Seen is the number of deliveries; Late those after the grace; Lost those that should have
	// come and did not. The deliveries expected are the sum of the three.
	Seen int64 `json:"seen"`
	Late int64 `json:"late"`
	Lost int64 `json:"lost"`
	// Duplicated counts events that repeat one, Misordered those that came after an event of a
	// later message.
	Duplicated int64 `json:"duplicated"`
	Misordered int64 `json:"misordered"`
	// Unanswered counts those in Acked that no answer named: the request timed out or its
	// connection broke, and an event with the author's own id for the message showed that the
	// server had accepted it.
	Unanswered int64 `json:"unanswered,omitempty"`
	// Foreign counts messages with events and no acknowledgment here: another client wrote it, or
	// the request failed, the message was delivered all the same, and its author had no id of its
	// own for it.
	Foreign int64 `json:"foreign"`
	// Unnamed counts messages that the server accepted by an answer without an id; they are not in
	// Acked. Repeated counts those in Acked whose id another message had shortly before. Neither
	// can be looked up.
	Unnamed  int64 `json:"unnamed,omitempty"`
	Repeated int64 `json:"repeated,omitempty"`
}

// Expected returns the number of deliveries that came or should have come.
func (c LedgerCount) Expected() int64 { return c.Seen + c.Late + c.Lost }

// Sub returns the difference to an earlier count. Lost may be negative: late events that were
// counted as lost.
func (c LedgerCount) Sub(o LedgerCount) LedgerCount {
	return LedgerCount{
		c.Acked - o.Acked,
		c.Judged - o.Judged,
		c.Seen - o.Seen,
		c.Late - o.Late,
		c.Lost - o.Lost,
		c.Duplicated - o.Duplicated,
		c.Misordered - o.Misordered,
		c.Unanswered - o.Unanswered,
		c.Foreign - o.Foreign,
		c.Unnamed - o.Unnamed,
		c.Repeated - o.Repeated,
	}
}

// Add returns the sum of two counts.
func (c LedgerCount) Add(o LedgerCount) LedgerCount { return c.Sub(LedgerCount{}.Sub(o)) }

// NewLedger returns an empty ledger in real time, see [Ledger.UseClock]. A grace of 0 means
// DefaultGrace. The seed chooses the sample of ids if there are more than a million.
func NewLedger(grace time.Duration, seed uint64) *Ledger {
	if grace <= 0 {
		grace = DefaultGrace
	}
	l := &Ledger{grace: grace, keep: ledgerKeep * grace, seed: maphash.MakeSeed(), deal: Evenly(1),
		spool: ledgerSpool{salt: seed, most: mostAcked}}
	l.clock.Store(clock.New(time.Now()))
	for i := range l.shards {
		l.shards[i].channels, l.shards[i].messages = map[string]*ledgerChannel{}, map[string]*ledgerMessage{}
		l.shards[i].pending = map[string]*ledgerPending{}
	}
	return l
}

// UseClock makes the ledger count grace and delivery times in the time of a run's clock, the one to
// which the marks of its registry refer. It is called before anything is counted; again with the
// same clock, it does nothing.
func (l *Ledger) UseClock(c *clock.Clock) {
	if l != nil && c != nil {
		l.clock.Store(c)
	}
}

// Grace returns how long after its acknowledgment a message may arrive without being late.
func (l *Ledger) Grace() time.Duration {
	if l == nil {
		return 0
	}
	return l.grace
}

// A Message is one that the server accepted. Its author's client took the instants.
type Message struct {
	ID, Channel string
	Root        string // the message that it answers and is deleted with; "" if there is none
	Author      int    // the user's number
	// Reader is a member of the channel, in the behavior's own words, through whom the audit can
	// read a channel that its administrator may not; "" if the channel needs none.
	Reader string
	// Pending is the author's own id for the message, see [Ledger.Sending]; "" if it has none.
	Pending     string
	Unanswered  bool // Acked is when an event named it; no answer did
	Sent, Acked time.Time
	// From is set if the author is on another host: its number there, counted from 1. Its instants
	// are then known within Within.
	From   int
	Within time.Duration
}

// Acked records that the server accepted a message. A message without ID was accepted by an answer
// that does not name it: it is counted only. One that the server names again for the same Pending
// is the same message, and counts once.
func (l *Ledger) Acked(m Message) {
	if l == nil {
		return
	}
	s := l.lock(m.Channel)
	defer s.mu.Unlock()
	now := l.nanos(m.Acked)
	if m.ID != "" {
		l.sweep(s, now) // as long as a request holds the message that its event has named
	}
	s.conclude(m.Pending)
	switch {
	case m.ID == "":
		s.count.Unnamed++
	case !s.again(m):
		l.enter(s, m, now)
		if !m.Unanswered {
			m.Pending = "" // nobody else asks for it
		}
		l.outbox.acked(m)
	}
}

// enter counts an accepted message. The shard is locked.
func (l *Ledger) enter(s *ledgerShard, m Message, now int64) {
	s.count.Acked++
	if m.Unanswered {
		s.count.Unanswered++
	}
	if e := l.acked(s, m, now); e != nil {
		l.remember(s, e.channel, m)
	} else {
		s.count.Repeated++
	}
	l.order(s, now)
}

// acked takes in an acknowledgment that became known here at now, and returns its message; nil if
// it was known. The shard is locked.
func (l *Ledger) acked(s *ledgerShard, m Message, now int64) *ledgerMessage {
	e := s.messages[m.ID]
	if e == nil {
		e = s.message([]byte(m.ID), l.channel(s, []byte(m.Channel)), now)
	}
	if e.acked != noTime {
		return nil
	}
	e.author = l.authorPlace(m.Author)
	e.sent, e.acked, e.unanswered = l.nanos(m.Sent), l.nanos(m.Acked), m.Unanswered
	e.from, e.within = m.From, m.Within
	remembered := l.keep // since it was sent, at least
	if len(e.pending) > 0 {
		remembered *= ledgerHold
	} else if m.Pending != "" {
		e.pending = append(e.pending, m.Pending...)
	}
	for _, w := range e.waiting {
		if w.user == e.author {
			s.count.Seen-- // counted before its author was known
			continue
		}
		l.delivered(e, w.rec, w.name, w.at)
	}
	s.waited(e)
	for _, acked := range e.after {
		if acked < e.sent {
			s.count.Misordered++
		}
	}
	e.after = emptied(e.after, mostAfter)
	if known := max(e.acked, now); known-e.sent < int64(remembered) {
		s.await(e)
	} else {
		e.settled = true // its events may have come and been forgotten
	}
	return e
}

// Deleted records that a message was deleted, or a request to delete it: the audit expects neither
// it nor its answers. The deleting user need not know of the answers.
func (l *Ledger) Deleted(channel, id string) {
	if l == nil {
		return
	}
	if l.outbox != nil { // the audit is that of the ledger that gathers
		l.outbox.add(func(t *Traffic) { t.Deleted = append(t.Deleted, [2]string{channel, id}) })
		return
	}
	s := l.lock(channel)
	defer s.mu.Unlock()
	c := l.channel(s, []byte(channel))
	if c.deleted == nil {
		c.deleted = map[string]struct{}{}
	}
	c.deleted[id] = struct{}{}
}

// Seen records that a user's connection read the event of a new message at this instant. Events of
// one user are reported in the order in which they came. The delivery is recorded with rec under
// name, unless the user is the author or had it already. pending is the author's id for the message
// as the event has it, or empty; it is not kept.
func (l *Ledger) Seen(
	user int,
	channel, id, pending []byte,
	at time.Time,
	rec *measure.Recorder,
	name measure.Name,
) {
	if l == nil {
		return
	}
	s := l.shard(maphash.Bytes(l.seed, channel))
	s.mu.Lock()
	u, now := l.place(user), l.nanos(at)
	e := s.messages[string(id)]
	var p *ledgerPending
	if e == nil {
		l.sweep(s, now)
		e = s.message(id, l.channel(s, channel), now)
		if e.first = at; len(pending) > 0 {
			p = l.name(s, e, pending)
		}
	}
	l.arrived(s, e, u, now, rec, name)
	if p != nil && p.over {
		l.accept(s, p, now)
	}
	s.mu.Unlock()
}

// arrived counts an event. The shard is locked.
func (l *Ledger) arrived(
	s *ledgerShard,
	e *ledgerMessage,
	u int32,
	now int64,
	rec *measure.Recorder,
	name measure.Name,
) {
	if e.seen.set(u) {
		if u != e.author {
			s.count.Duplicated++
		}
		return
	}
	if l.outbox == nil {
		s.misorder(e, u)
	} else {
		s.unordered = append(s.unordered, ledgerArrival{e, e.use, u})
		l.order(s, now)
	}
	if e.acked == noTime {
		s.count.Seen++
		s.wait(e, ledgerWaiting{rec, now, u, name})
		return
	}
	if u == e.author {
		return
	}
	l.delivered(e, rec, name, now)
	if e.missing.has(u) {
		s.count.Lost--
		s.count.Late++
		return
	}
	s.count.Seen++
}

// Connected records that a user's event connection is open since this instant. With resumed, the
// server has promised to send the missed events, and the connection counts as unbroken.
func (l *Ledger) Connected(user int, at time.Time, resumed bool) {
	if l == nil {
		return
	}
	l.presence.Lock()
	defer l.presence.Unlock()
	u := int(l.place(user))
	for u >= len(l.since) {
		l.since = append(l.since, instants{})
	}
	p := &l.since[u]
	p.connected = l.nanos(at) + 1
	if resumed && p.before != 0 {
		p.connected = p.before
	}
	p.before = 0
}

// Disconnected records that a user's event connection has ended, from either side.
func (l *Ledger) Disconnected(user int) {
	if l == nil {
		return
	}
	l.presence.Lock()
	defer l.presence.Unlock()
	if u := int(l.place(user)); u < len(l.since) && l.since[u].connected != 0 {
		l.since[u] = instants{before: l.since[u].connected}
	}
}

// Join records that a user is a member of a channel since this instant, or longer. It may be called
// again.
func (l *Ledger) Join(user int, channel string, at time.Time) {
	if l == nil {
		return
	}
	s := l.lock(channel)
	defer s.mu.Unlock()
	c := l.channel(s, []byte(channel))
	u := l.place(user)
	if !c.members.set(u) {
		if c.joined == nil {
			c.joined = map[int32]int64{}
		}
		c.joined[u] = l.nanos(at)
	}
}

// Leave records that a user is about to leave a channel. It is called before the request, so that
// events that cannot come are not missed.
func (l *Ledger) Leave(user int, channel string) {
	if l == nil {
		return
	}
	s := l.lock(channel)
	defer s.mu.Unlock()
	c := l.channel(s, []byte(channel))
	c.members.clear(l.place(user))
	delete(c.joined, l.place(user))
}

// Count returns the counts so far.
func (l *Ledger) Count() LedgerCount {
	var sum LedgerCount
	if l == nil {
		return sum
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		sum = sum.Add(s.count)
		s.mu.Unlock()
	}
	l.elsewhere.Lock()
	defer l.elsewhere.Unlock()
	for _, c := range l.counts {
		sum = sum.Add(c)
	}
	return sum
}

// nanos returns an instant in the time of the target, which is the time of the ledger's clock
// unless the target works on while that stands still.
func (l *Ledger) nanos(t time.Time) int64 { return int64(l.clock.Load().Target(t)) }

// due turns a time of nanos into the time of the ledger's clock, to which the marks of its registry
// refer.
func (l *Ledger) due(at int64) time.Duration { return l.clock.Load().OfTarget(time.Duration(at)) }

// lock returns the shard of a channel, locked.
func (l *Ledger) lock(channel string) *ledgerShard {
	s := l.shard(maphash.String(l.seed, channel))
	s.mu.Lock()
	return s
}

func (l *Ledger) shard(hash uint64) *ledgerShard { return &l.shards[hash%uint64(len(l.shards))] }

// channel returns a channel of a shard, which is locked.
func (l *Ledger) channel(s *ledgerShard, name []byte) *ledgerChannel {
	c := s.channels[string(name)]
	if c == nil {
		c = &ledgerChannel{name: string(name)}
		s.channels[c.name] = c
		l.outbox.add(func(t *Traffic) { t.Channels = append(t.Channels, c.name) })
	}
	return c
}

// message adds a message; neither end of it is known yet.
func (s *ledgerShard) message(id []byte, c *ledgerChannel, now int64) *ledgerMessage {
	var e *ledgerMessage
	if n := len(s.free); n > 0 {
		e, s.free = s.free[n-1], s.free[:n-1]
	} else {
		e = new(ledgerMessage)
	}
	*e = ledgerMessage{
		id:      string(id),
		use:     e.use + 1,
		channel: c,
		author:  -1,
		born:    now,
		sent:    noTime,
		acked:   noTime,
		pending: emptied(e.pending, mostPending),
		seen:    e.seen,
		ordered: e.ordered,
		missing: e.missing,
		after:   e.after,
	}
	clear(e.seen)
	clear(e.ordered)
	clear(e.missing)
	s.messages[e.id] = e
	s.order = append(s.order, e)
	c.recent = append(c.recent, e)
	return e
}
