package workload

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// A specResult holds what ledgers have counted.
type specResult struct {
	count      LedgerCount
	audit      map[string][]string
	deliveries int64
}

// A specFleet is a run's ledgers, with what a coordinator does between them in each second.
type specFleet struct {
	*specHistory
	begin   time.Time // of the history
	parts   []*specPart
	whole   *Ledger              // of all
	readers map[string][]int     // by channel: the processes that know it
	had     map[string][]Message // by channel: what was accepted there
	pending []string             // by post: the author's id
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
	traffic Traffic
	count   LedgerCount
}

// specTick is how often processes report.
const specTick = 1000

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

func (h *specHistory) fleet(agents int) *specFleet {
	f := &specFleet{
		specHistory: h,
		begin:       time.Now(),
		whole:       NewLedger(0, 1),
		readers:     map[string][]int{},
		had:         map[string][]Message{},
		pending:     make([]string, len(h.posts)),
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
	}
	f.whole.UseClock(clock.New(f.begin))
	return f
}

func (f *specFleet) at(ms int) time.Time {
	return f.begin.Add(time.Duration(ms) * time.Millisecond)
}

func (f *specFleet) of(user int) *specPart {
	if len(f.parts) == 1 {
		return f.parts[0]
	}
	return f.parts[f.agentOf(user)]
}

// play takes the ledgers of one process, or of the history's agents, through the history, and until
// nothing of it can count any more.
func (h *specHistory) play(agents int) (r specResult) {
	f := h.fleet(agents)
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
		channel := f.posts[s.post].channel
		x.l.Seen(
			s.user,
			[]byte(channel),
			[]byte(specID(s.post)),
			[]byte(f.pending[s.post]),
			at,
			x.rec,
			x.name,
		)
	case specSend: // under an id of the author's, or again under the same
		if p := f.posts[s.post]; p.own {
			f.pending[s.post] = fmt.Sprintf("u%d:post-%d", p.author, s.post)
			x.l.Sending(p.channel, f.pending[s.post], p.author)
		}
	case specGiveUp, specEnd:
		f.end(x, s)
	}
}

// end reports the outcome of a request.
func (f *specFleet) end(x *specPart, s specStep) {
	p, own := f.posts[s.post], f.pending[s.post]
	m := Message{
		Channel: p.channel,
		Author:  p.author,
		Pending: own,
		Sent:    f.at(p.sent),
		Acked:   f.at(s.at),
	}
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

// tick is the end of a second: processes judge, report, and get what the coordinator has for them.
// A silent one makes its reports and keeps them.
func (f *specFleet) tick(ms int) {
	now := f.at(ms)
	time.Sleep(time.Until(now))
	if len(f.parts) == 1 {
		f.whole.Settle(now)
		return
	}
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
		x.reports = append(x.reports, specReport{x.l.Outbox(), x.l.Count()})
		if heard {
			for _, r := range x.reports {
				f.collect(k, r)
			}
			x.reports = nil
		}
	}
	f.whole.Settle(now)
}

// collect is the coordinator's part: who knows a channel hears of its messages.
func (f *specFleet) collect(k int, r specReport) {
	f.whole.Gather(k, r.traffic, r.count)
	for _, channel := range r.traffic.Channels {
		f.readers[channel] = append(f.readers[channel], k)
		for _, m := range f.had[channel] {
			f.tell(k, m)
		}
	}
	for _, m := range r.traffic.Acked {
		f.had[m.Channel] = append(f.had[m.Channel], m)
		for _, other := range f.readers[m.Channel] {
			if other != k {
				f.tell(other, m)
			}
		}
	}
}

// tell has a process hear of a message in the next round.
func (f *specFleet) tell(k int, m Message) {
	if from := f.hostOf(f.agentOf(m.Author)); from != f.hostOf(k) {
		m.From, m.Within = from+1, 2*time.Millisecond
	}
	x := f.parts[k]
	x.mail = append(x.mail, func(now time.Time) { x.l.Heard(m, now) })
}
