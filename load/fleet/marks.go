package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plimsoll/load/workload"
)

// markEvery is how often the agents of a fleet that goes by sequence report which messages of a channel were accepted.
// They do so of one part of the channels after the other, each at its own tick, so that no round has all marks.
const markEvery = 10 * time.Second

// keptFor is how long the coordinator of such a fleet keeps an acknowledgment for those who ask for it: a mark is of ten
// seconds, waits a tick and for the grace, and an agent may be silent for twenty.
const keptFor = time.Minute

// mark holds workload.Marks of one channel: each is the agent, After and To and, unless both are empty, the length of
// Not, Not and Late. A report has those of one agent.
type mark struct {
	Channel string     `json:"c"`
	Parts   [][]uint32 `json:"m"`
}

func packMarks(list []workload.Mark) (out []mark) {
	for _, m := range list {
		part := []uint32{uint32(m.Agent), m.After, m.To}
		if len(m.Not)+len(m.Late) > 0 {
			part = append(append(append(part, uint32(len(m.Not))), m.Not...), m.Late...)
		}
		out = append(out, mark{m.Channel, [][]uint32{part}})
	}
	return out
}

// errMark refuses a mark that no agent sends.
var errMark = errors.New("a mark of messages is broken; are both programs of one version?")

func (m mark) unpack() (out []workload.Mark, err error) {
	for _, p := range m.Parts {
		if len(p) < 3 {
			return nil, errMark
		}
		w := workload.Mark{Channel: m.Channel, Agent: int(p[0]), After: p[1], To: p[2]}
		if rest := p[3:]; len(rest) > 0 {
			n := int(rest[0])
			if rest = rest[1:]; n > len(rest) {
				return nil, errMark
			}
			w.Not, w.Late = rest[:n], rest[n:]
		}
		out = append(out, w)
	}
	return out, nil
}

// due returns the parts of the channels whose marks a report of a tick has: those whose turn has come since the report
// before. All agents have the marks of a part at the same tick.
func (s *served) due(tick time.Duration) (slots workload.Slots) {
	if tick <= 0 {
		tick = time.Since(s.epoch)
	}
	n := int64(tick / (markEvery / workload.MarkSlots))
	for k := max(s.marks+1, n-workload.MarkSlots+1); k <= n; k++ {
		slots |= 1 << (k % workload.MarkSlots)
	}
	s.marks = max(s.marks, n)
	return slots
}

// learn takes in which messages of other agents were accepted.
func (s *served) learn(c *collect, now time.Time) error {
	if len(c.Clocks) > 0 {
		peers, err := s.clocks.take(c.Clocks)
		if err != nil {
			return err
		}
		s.agent.Ledger.Peers(peers)
	}
	for _, raw := range c.Accepted {
		var m mark
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("a mark of messages: %w", err)
		}
		list, err := m.unpack()
		if err != nil {
			return err
		}
		for _, w := range list {
			s.agent.Ledger.Marked(w, now)
		}
	}
	return nil
}

// sequences is what the coordinator of a fleet that goes by sequence knows of its messages. Marks go to the links that
// have users in their channel, one round after the agents' reports have come: those of the same tick may name a user who
// has just joined it.
type sequences struct {
	mu      sync.Mutex
	readers map[string][]uint16 // links that have users in a channel
	came    map[string][][]uint32
	next    map[string][][]uint32 // of the round before
	kept    map[string]map[uint64]kept
	order   []keptAt
	turn    int // of tell
}

// kept is an acknowledgment, in the time of the run.
type kept struct {
	id          string
	author      int
	sent, acked time.Duration
	from        int
	within      time.Duration
}

// keptAt is its place in sequences.kept, and when it came.
type keptAt struct {
	channel string
	key     uint64
	at      time.Time
}

func newSequences() *sequences {
	return &sequences{readers: map[string][]uint16{}, came: map[string][][]uint32{}, kept: map[string]map[uint64]kept{}}
}

func numberKey(agent int, number uint32) uint64 { return uint64(agent)<<32 | uint64(number) }

// take takes in a report of an agent. It returns the messages that others have to hear of by themselves, and those that
// the agent has asked for.
func (q *sequences) take(a *agent, r *report, now time.Time) (relay, asked []message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range r.Acked {
		if m.Number == 0 {
			relay = append(relay, m)
			continue
		}
		of := q.kept[m.Channel]
		if of == nil {
			of = map[uint64]kept{}
			q.kept[m.Channel] = of
		}
		key := numberKey(a.n, m.Number)
		of[key] = kept{m.ID, m.Author, m.Sent, m.Acked, m.From, m.Within}
		q.order = append(q.order, keptAt{m.Channel, key, now})
	}
	for _, channel := range r.Joined {
		if n := uint16(a.link.n); !slices.Contains(q.readers[channel], n) {
			q.readers[channel] = append(q.readers[channel], n)
		}
	}
	for _, m := range r.Accepted {
		for _, part := range m.Parts {
			if len(part) > 0 {
				part[0] = uint32(a.n) // an agent speaks for itself
				q.came[m.Channel] = append(q.came[m.Channel], part)
			}
		}
	}
	for _, n := range r.Asked {
		if k, ok := q.kept[n.Channel][numberKey(n.Agent, n.Number)]; ok && n.Agent >= 0 {
			asked = append(asked, message{ID: k.id, Channel: n.Channel, Author: k.author, Sent: k.sent, Acked: k.acked, From: k.from, Within: k.within, Number: n.Number})
		}
	}
	r.Accepted, r.Joined, r.Asked = nil, nil, nil
	return relay, asked
}

// distribute ends a round: the links get the marks of the round before, each encoded once for all of them, and the lines
// of clocks that have changed.
func (q *sequences) distribute(links []*link, now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for ; n < len(q.order) && now.Sub(q.order[n].at) > keptFor; n++ {
		k := q.order[n]
		delete(q.kept[k.channel], k.key)
		if len(q.kept[k.channel]) == 0 {
			delete(q.kept, k.channel)
		}
	}
	q.order = slices.Delete(q.order, 0, n)
	q.turn = tell(links, q.turn, now)
	marks := q.next
	q.next, q.came = q.came, map[string][][]uint32{}
	for _, channel := range slices.Sorted(maps.Keys(marks)) {
		m := mark{channel, marks[channel]}
		raw, err := json.Marshal(m)
		if err != nil {
			return err
		}
		for _, k := range q.readers[channel] {
			if l := links[k]; !m.within(len(links), l.n) {
				l.inform(raw, nil)
			}
		}
	}
	return nil
}

// within reports whether all authors of the messages are behind one link, whose processes hear of each other there.
func (m mark) within(links, n int) bool {
	for _, part := range m.Parts {
		if int(part[0])%links != n {
			return false
		}
	}
	return true
}

// inform adds a mark, or lines of clocks, to those for the next collect; all links share their bytes.
func (l *link) inform(mark, clocks []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mark != nil {
		l.news.accepted = append(l.news.accepted, mark)
	}
	if clocks != nil {
		l.news.clocks = append(l.news.clocks, clocks)
	}
}

// informed takes the marks and the lines of clocks.
func (l *link) informed() shared {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := l.news
	l.news = shared{}
	return news
}
