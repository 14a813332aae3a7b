package workload

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// A Mark tells the recipients' processes which messages of one agent's users in one channel the server has accepted.
// Each accepted number is in one mark.
type Mark struct {
	Channel string
	// Agent is the process of the authors.
	Agent int
	// After and To: the numbers after After up to To were given since the mark before, and the messages of all of them
	// that are not in Not were accepted by an answer. The others failed, or their requests are under way.
	After, To uint32
	Not       []uint32
	// Late are numbers of earlier marks' Not that were accepted since.
	Late []uint32
}

// MarkSlots is how many parts the marks are cut in, one after the other, so that those of all channels do not come at
// once.
const MarkSlots = 10

// MarkSlot returns the part, from 0, that the marks of a channel are in. It is the same in every process: what all agents
// have to say of a channel comes together.
func MarkSlot(channel string) int {
	h := uint32(2166136261) // FNV-1a
	for i := range len(channel) {
		h = (h ^ uint32(channel[i])) * 16777619
	}
	return int(h % MarkSlots)
}

// Slots is a set of parts of the marks: bit k is set for part k.
type Slots uint16

// AllSlots has every part.
const AllSlots Slots = 1<<MarkSlots - 1

// A Numbered names a message by the process of its author, its channel and its number there.
type Numbered struct {
	Agent   int    `json:"a"`
	Channel string `json:"c"`
	Number  uint32 `json:"n"`
}

// A Numbering holds the data that ledgers which go by sequence exchange beside [Traffic].
type Numbering struct {
	Marks []Mark
	// Joined are channels that have their first user here: their marks are needed from now on.
	Joined []string
	// Asked are accepted messages whose instants are needed, see [Ledger.Marked].
	Asked []Numbered
}

// A Peer describes the clock of a host of authors. An instant t of a message of theirs, as an offset from the run's
// epoch, is t + Offset + t·Drift here.
type Peer struct {
	Offset time.Duration `json:"o,omitempty"`
	Drift  int64         `json:"d,omitempty"` // parts in a million millions
	Within time.Duration `json:"w,omitempty"` // what the sum may be off
}

// sequence is the state of a ledger that goes by sequence.
type sequence struct {
	on       bool
	hosts    int // over which the agents are dealt; 0 for one host
	ordinals atomic.Uint32
	peers    atomic.Pointer[[]Peer] // by host; nil before the first are known
}

// Sequence makes a shared ledger go by sequence: the id that an author gives its message holds the author's process, a
// number that counts its messages in the channel, and the instant of sending. Recipients in other processes time the
// delivery by the event alone, and learn by [Ledger.Marked] which numbers the server has accepted; [Ledger.Heard]
// brings the few messages of which more is needed. It is called after [Ledger.Share], before anything is counted.
// Agent k is on host k mod hosts; 0 means that all are on one.
//
// A message keeps as much memory as it does without; of a channel that users of this process write to, the numbers of
// the requests under way are kept.
func (l *Ledger) Sequence(hosts int) { l.sequence.on, l.sequence.hosts = true, max(hosts, 0) }

// Sequenced reports whether the ledger goes by sequence.
func (l *Ledger) Sequenced() bool { return l != nil && l.sequence.on }

// StampSize is the length of what [Ledger.Stamp] writes, in bytes, and mostNumbered that of the longest id that is
// read.
const (
	StampSize    = 1 + stampDigits
	stampDigits  = 10 // of 36: 42 days in nanoseconds
	mostNumbered = 64
)

// ledgerNumbers counts the messages that users of this process send to a channel.
type ledgerNumbers struct {
	ordinal     uint32 // of the channel: ids of two channels differ
	given, told uint32 // the last number, and that of the last mark
	open        []uint32
	failed      []uint32 // since the last mark
	late        []uint32
	listed      bool // in ledgerShard.posted
	slot        uint8
}

// Number gives a user's next message to a channel its number, and returns the second part of the message's id; the
// first is the user's own and ends in a colon. [Ledger.Sending] and those that follow get both as pending. In the
// request, what [Ledger.Stamp] writes stands behind them. It returns "" if the ledger does not go by sequence.
func (l *Ledger) Number(channel string, author int) string {
	if !l.Sequenced() {
		return ""
	}
	s := l.shard(maphash.String(l.seed, channel))
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channel([]byte(channel))
	n := c.numbers
	if n == nil {
		n = &ledgerNumbers{ordinal: l.sequence.ordinals.Add(1), slot: uint8(MarkSlot(channel))}
		c.numbers = n
	}
	n.given++
	n.open = append(n.open, n.given)
	s.list(c)
	b := make([]byte, 0, mostNumbered)
	for i, v := range [...]uint64{uint64(l.agent), uint64(n.ordinal), uint64(n.given), uint64(author)} {
		if i > 0 {
			b = append(b, '-')
		}
		b = strconv.AppendUint(b, v, 36)
	}
	return string(b)
}

// Stamp writes the instant at which a request is sent into the StampSize bytes of to, behind the id of its message.
func (l *Ledger) Stamp(to []byte, sent time.Time) {
	to[0] = '-'
	v := uint64(max(l.nanos(sent), 0))
	for i := StampSize - 1; i > 0; i-- {
		to[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[v%36]
		v /= 36
	}
}

// list notes that the next marks of the channel's part have one of it. The shard is locked.
func (s *ledgerShard) list(c *ledgerChannel) {
	if !c.numbers.listed {
		c.numbers.listed = true
		s.posted = append(s.posted, c)
	}
}

// decide ends the request of a number of this process. It returns the number if marks will name it, and 0 if others
// have to hear of the message by itself, for instance when its request had ended before. The shard is locked.
func (l *Ledger) decide(s *ledgerShard, m Message, accepted bool) uint32 {
	if !l.sequence.on || m.Pending == "" {
		return 0
	}
	id, fields, _ := parseNumbered([]byte(m.Pending))
	c := s.channels[m.Channel]
	if fields != 4 || id[0] != uint64(l.agent) || c == nil || c.numbers == nil {
		return 0
	}
	n, number := c.numbers, uint32(id[2])
	i := slices.Index(n.open, number)
	if i < 0 {
		return 0
	}
	n.open = slices.Delete(n.open, i, i+1)
	switch {
	case number > n.told && !accepted:
		n.failed = append(n.failed, number)
	case number <= n.told && accepted:
		n.late = append(n.late, number)
		s.list(c)
	}
	if !accepted {
		return 0
	}
	return number
}

// cut returns the mark of the numbers since the last one.
func (n *ledgerNumbers) cut(agent int, channel string) Mark {
	m := Mark{Channel: channel, Agent: agent, After: n.told, To: n.given, Not: n.failed, Late: n.late}
	for _, number := range n.open {
		if number > n.told {
			m.Not = append(m.Not, number)
		}
	}
	slices.Sort(m.Not)
	n.told, n.failed, n.late, n.listed = n.given, nil, nil, false
	return m
}

// cut returns the marks of the numbers so far, of the channels in some parts.
func (l *Ledger) cut(slots Slots) (out []Mark) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		s.posted = slices.DeleteFunc(s.posted, func(c *ledgerChannel) bool {
			if slots>>c.numbers.slot&1 == 0 {
				return false
			}
			out = append(out, c.numbers.cut(l.agent, c.name))
			return true
		})
		s.mu.Unlock()
	}
	return out
}

// Numbering returns what others have to learn since the call before, and the marks of the numbers so far in the channels
// of some parts. It is called before [Ledger.Outbox], which then has all messages that marks name.
func (l *Ledger) Numbering(slots Slots) (out Numbering) {
	if !l.Sequenced() {
		return out
	}
	if slots != 0 {
		out.Marks = l.cut(slots)
	}
	o := l.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	out.Joined, out.Asked = o.joined, o.asked
	o.joined, o.asked = nil, nil
	return out
}

// announce notes that a channel has users here. The shard is locked.
func (l *Ledger) announce(c *ledgerChannel) {
	if !l.sequence.on || c.announced {
		return
	}
	c.announced = true
	l.outbox.mu.Lock()
	l.outbox.joined = append(l.outbox.joined, c.name)
	l.outbox.mu.Unlock()
}

// parseNumbered reads the numbers behind the last colon of an id: agent, ordinal, number, author and, in an event, the
// instant, whose digits it counts too. fields is 0 for any other text.
func parseNumbered(text []byte) (v [5]uint64, fields, digits int) {
	i := bytes.LastIndexByte(text, ':')
	if i < 0 || len(text) > mostNumbered {
		return v, 0, 0
	}
	k := 0
	for _, c := range text[i+1:] {
		d := uint64(0)
		switch {
		case c == '-' && digits > 0 && k+1 < len(v):
			k, digits = k+1, 0
			continue
		case '0' <= c && c <= '9':
			d = uint64(c - '0')
		case 'a' <= c && c <= 'z':
			d = uint64(c-'a') + 10
		default:
			return v, 0, 0
		}
		v[k] = v[k]*36 + d
		if digits++; digits > stampDigits {
			return v, 0, 0
		}
	}
	if digits == 0 || v[2] == 0 || v[2] > 1<<32-1 {
		return v, 0, 0
	}
	return v, k + 1, digits
}

// ofAgent reports whether an author is one of the users of an agent.
func (l *Ledger) ofAgent(author, agent uint64) bool {
	all := uint64(l.deal.agents)
	if author >= firstServer { // one that serves arrivals: these are numbered agent by agent, however users are dealt
		return agent < all && (author-firstServer)%all == agent
	}
	of, _ := l.deal.Of(int(author))
	return uint64(of) == agent
}

// here returns an instant of an author's process in the time of this one, what it may be off, and Message.From.
func (l *Ledger) here(agent int, sent int64) (at int64, within time.Duration, from int) {
	hosts := l.sequence.hosts
	if hosts == 0 || agent%hosts == l.agent%hosts {
		return sent, 0, 0
	}
	from = agent%hosts + 1
	if peers := l.sequence.peers.Load(); peers != nil {
		p := (*peers)[from-1]
		return sent + int64(p.Offset) + int64(float64(p.Drift)*1e-12*float64(sent)), p.Within, from
	}
	return sent, 0, from
}

// Peers takes in the clocks of all hosts, by their number; the zero value is one that is not known. The list is not
// changed any more. Another number of them than that of [Ledger.Sequence] is ignored.
func (l *Ledger) Peers(list []Peer) {
	if l.Sequenced() && l.sequence.hosts > 0 && len(list) == l.sequence.hosts {
		l.sequence.peers.Store(&list)
	}
}
