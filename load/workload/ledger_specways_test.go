package workload

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// A specWay is how a run's ledgers work together: neither of both is one process.
type specWay struct {
	name            string
	relay, sequence bool
	turns           bool // by sequence: each round has the marks of a part of the channels, in turn
	asked           *int // counts the acknowledgments that are asked for, if it is not nil
}

// slots are the parts of the marks that a round has.
func (w specWay) slots(ms int) Slots {
	switch {
	case !w.sequence:
		return 0
	case w.turns:
		return 1 << (ms / specTick % MarkSlots)
	case ms%specMarks == 0:
		return AllSlots
	}
	return 0
}

// A specResult holds what ledgers have counted.
type specResult struct {
	count      LedgerCount
	audit      map[string][]string
	deliveries int64
}

// A specFleet is a run's ledgers, with what a coordinator does between them in each second.
type specFleet struct {
	*specHistory
	way     specWay
	begin   time.Time // of the history
	parts   []*specPart
	whole   *Ledger // of all
	kept    map[Numbered]Message
	had     map[string]bool // by channel and agent: it has users there
	pending [][2]string     // by post: the author's id, and as events have it
	marks   []Mark          // of the second before
}

// A specPart is one process.
type specPart struct {
	l       *Ledger
	reg     *measure.Registry
	rec     *measure.Recorder
	name    measure.Name
	mail    []func(now time.Time) // for the process, in order
	reports []specReport          // that the coordinator has not got
}

type specReport struct {
	numbering Numbering
	traffic   Traffic
	count     LedgerCount
}

// specTick and specMarks are how often processes report, and how often with the marks of a channel.
const (
	specTick  = 1000
	specMarks = 10_000
)

func (h *specHistory) hostOf(agent int) int {
	if h.hosts == 0 {
		return 0
	}
	return agent % h.hosts
}

func (h *specHistory) agentOf(user int) int {
	if user >= firstServer {
		return (user - firstServer) % h.agents
	}
	agent, _ := h.deal.Of(user)
	return agent
}

func (h *specHistory) fleet(w specWay) *specFleet {
	f := &specFleet{
		specHistory: h, way: w, begin: time.Now(), whole: NewLedger(0, 1),
		kept: map[Numbered]Message{}, had: map[string]bool{}, pending: make([][2]string, len(h.posts)),
	}
	agents := h.agents
	if !w.relay && !w.sequence {
		agents = 1
	}
	for k := range agents {
		x := &specPart{l: NewLedger(0, 1), reg: measure.NewRegistry(1)}
		x.rec = x.reg.Recorder(0)
		x.name = x.rec.Name(Delivery)
		f.parts = append(f.parts, x)
		x.l.UseClock(clock.New(f.at(h.epochs[h.hostOf(k)])))
		if agents == 1 {
			f.whole = x.l
			return f
		}
		x.l.Share()
		x.l.Divide(k, h.deal)
		if !w.sequence {
			continue
		}
		x.l.Sequence(h.hosts)
		var peers []Peer
		for host := range h.hosts {
			ahead := h.epochs[host] - h.epochs[h.hostOf(k)]
			peers = append(peers, Peer{Offset: time.Duration(ahead) * time.Millisecond, Within: 2 * time.Millisecond})
		}
		if h.hosts > 0 {
			x.l.Peers(peers)
		}
	}
	f.whole.UseClock(clock.New(f.begin))
	return f
}

func (f *specFleet) at(ms int) time.Time { return f.begin.Add(time.Duration(ms) * time.Millisecond) }

func (f *specFleet) of(user int) *specPart {
	if len(f.parts) == 1 {
		return f.parts[0]
	}
	return f.parts[f.agentOf(user)]
}

// play takes the ledgers through the history, and until nothing of it can count any more.
func (h *specHistory) play(w specWay) (r specResult) {
	f := h.fleet(w)
	next := 0
	for ms := specTick; ms <= specUntil; ms += specTick {
		for ; next < len(h.steps) && h.steps[next].at <= ms; next++ {
			f.step(h.steps[next])
		}
		f.tick(ms)
	}
	r.count, r.audit = f.whole.Count(), map[string][]string{}
	list, _ := f.whole.Messages()
	for _, of := range list {
		if len(of.IDs) > 0 {
			r.audit[of.Channel] = slices.Sorted(slices.Values(of.IDs))
		}
	}
	for _, x := range f.parts {
		for _, window := range x.reg.Cut() {
			r.deliveries += int64(window.Response.Count())
		}
	}
	return r
}

// step does what a user's process does at that moment.
func (f *specFleet) step(s specStep) {
	x, at := f.of(s.user), f.at(s.at)
	time.Sleep(time.Until(at)) // some calls have no instant
	switch s.what {
	case specConnect, specResume:
		x.l.Connected(s.user, at, s.what == specResume)
	case specBreak:
		x.l.Disconnected(s.user)
	case specJoin:
		x.l.Join(s.user, s.channel, at)
	case specLeave:
		x.l.Leave(s.user, s.channel)
	case specDelete:
		x.l.Deleted(f.posts[s.post].channel, specID(s.post))
	case specEvent:
		channel, in := f.posts[s.post].channel, f.pending[s.post][1]
		x.l.Seen(s.user, []byte(channel), []byte(specID(s.post)), []byte(in), at, x.rec, x.name)
	case specSend:
		if f.posts[s.post].own {
			f.send(x, s)
		}
	case specGiveUp, specEnd:
		f.end(x, s)
	}
}

// send begins a request under an id of the author's, or repeats it under the same.
func (f *specFleet) send(x *specPart, s specStep) {
	p, pending := f.posts[s.post], &f.pending[s.post]
	if pending[0] == "" {
		number := x.l.Number(p.channel, p.author)
		if number == "" {
			number = fmt.Sprint("post-", s.post)
		}
		pending[0] = fmt.Sprintf("u%d:%s", p.author, number)
	}
	pending[1] = pending[0]
	if x.l.Sequenced() {
		var stamp [StampSize]byte
		x.l.Stamp(stamp[:], f.at(s.at))
		pending[1] += string(stamp[:])
	}
	x.l.Sending(p.channel, pending[0], p.author)
}

// end reports the outcome of a request.
func (f *specFleet) end(x *specPart, s specStep) {
	p, own := f.posts[s.post], f.pending[s.post][0]
	m := Message{Channel: p.channel, Author: p.author, Pending: own, Sent: f.at(p.sent), Acked: f.at(s.at)}
	if p.root >= 0 {
		m.Root = specID(p.root)
	}
	switch {
	case s.what == specGiveUp:
		m.Sent = f.at(p.tried)
		x.l.Unanswered(m)
	case p.fate == specRefused:
		x.l.Refused(p.channel, own)
	case p.fate == specSilent:
		x.l.Unanswered(m)
	case p.fate == specUnnamed:
		x.l.Acked(m)
	case p.fate == specAnswered:
		m.ID = specID(s.post)
		x.l.Acked(m)
	}
}

// tick is the end of a second: processes judge, report, and get what the coordinator has for them. A silent one makes
// its reports and keeps them.
func (f *specFleet) tick(ms int) {
	now := f.at(ms)
	time.Sleep(time.Until(now))
	if len(f.parts) == 1 {
		f.whole.Settle(now)
		return
	}
	f.forward()
	letters := make([]int, len(f.parts)) // what this round writes comes in the next
	for k, x := range f.parts {
		letters[k] = len(x.mail)
	}
	for k, x := range f.parts {
		x.l.Settle(now)
		heard := k != f.silent.agent || ms < f.silent.from || ms >= f.silent.to
		if heard {
			for _, take := range x.mail[:letters[k]] {
				take(now)
			}
			x.mail = slices.Delete(x.mail, 0, letters[k])
		}
		numbering := x.l.Numbering(f.way.slots(ms))
		x.reports = append(x.reports, specReport{numbering, x.l.Outbox(), x.l.Count()})
		if heard {
			for _, r := range x.reports {
				f.collect(k, r)
			}
			x.reports = nil
		}
	}
	f.whole.Settle(now)
}

// forward sends the marks of the round before to the hosts with users in their channels.
func (f *specFleet) forward() {
	for _, m := range f.marks {
		for k, x := range f.parts {
			if f.had[fmt.Sprint(m.Channel, f.place(k))] {
				x.mail = append(x.mail, func(now time.Time) { x.l.Marked(m, now) })
			}
		}
	}
	f.marks = nil
}

// place is the host of an agent, or the agent when they know of no hosts.
func (f *specFleet) place(agent int) int {
	if f.hosts == 0 {
		return agent
	}
	return f.hostOf(agent)
}

// collect is the coordinator's part.
func (f *specFleet) collect(k int, r specReport) {
	f.whole.Gather(k, r.traffic, r.count)
	for _, channel := range r.numbering.Joined {
		f.had[fmt.Sprint(channel, f.place(k))] = true
	}
	for _, m := range r.traffic.Acked {
		if m.Number > 0 {
			f.kept[Numbered{k, m.Channel, m.Number}] = m
		}
		for other := range f.parts {
			if other != k && (m.Number == 0 || f.place(other) == f.place(k)) {
				f.tell(other, m)
			}
		}
	}
	for _, of := range r.numbering.Asked {
		if f.way.asked != nil {
			*f.way.asked++
		}
		if m, ok := f.kept[of]; ok {
			f.tell(k, m)
		}
	}
	f.marks = append(f.marks, r.numbering.Marks...)
}

// tell has a process hear of a message in the next round.
func (f *specFleet) tell(k int, m Message) {
	if from := f.hostOf(f.agentOf(m.Author)); from != f.hostOf(k) {
		m.From, m.Within = from+1, 2*time.Millisecond
	}
	x := f.parts[k]
	x.mail = append(x.mail, func(now time.Time) { x.l.Heard(m, now) })
}
