package workload

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A system is a run's users in one process or several, with what a coordinator does between their ledgers.
type system struct {
	parts    []*lines
	whole    *lines
	sequence bool
	parted   bool              // each tick cuts the marks of one part of the channels, as agents do; else all do once in markMS
	ids      map[int][2]string // by message: the author's id as its own process knows it, and as events have it
	kept     map[Numbered]sentBy
	mail     [][]sentBy
	marks    []Mark // of the tick before
	now      int    // the last tick
	asked    int
	early    int
}

type sentBy struct {
	Message
	part int
}

// markMS is how often the systems of tests cut marks; their grace is a second.
const markMS = 1000

func newSystem(agents int, sequence bool) *system {
	y := &system{sequence: sequence, ids: map[int][2]string{}, kept: map[Numbered]sentBy{}, mail: make([][]sentBy, agents)}
	for k := range agents {
		x := newLines()
		if agents > 1 {
			x.l.Share()
			x.l.Divide(k, Evenly(agents))
		}
		if sequence {
			x.l.Sequence(0)
		}
		y.parts = append(y.parts, x)
	}
	if y.whole = y.parts[0]; agents > 1 {
		y.whole = newLines()
	}
	return y
}

func (y *system) of(user int) *lines { return y.parts[user%len(y.parts)] }

// send begins the request of message m.
func (y *system) send(m, author int, channel string, ms int) {
	x := y.of(author)
	own := fmt.Sprintf("u%d:%s", author, cmp.Or(x.l.Number(channel, author), fmt.Sprint(m)))
	in := own
	if x.l.Sequenced() {
		stamp := make([]byte, StampSize)
		x.l.Stamp(stamp, x.at(ms))
		in += string(stamp)
	}
	y.ids[m] = [2]string{own, in}
	x.l.Sending(channel, own, author)
}

func (y *system) message(m, author int, channel string, sent, ms int) Message {
	x := y.of(author)
	return Message{ID: fmt.Sprint("m", m), Channel: channel, Author: author, Pending: y.ids[m][0], Sent: x.at(sent), Acked: x.at(ms)}
}

func (y *system) event(m, user int, channel string, ms int) {
	x := y.of(user)
	x.l.Seen(user, []byte(channel), fmt.Append(nil, "m", m), []byte(y.ids[m][1]), x.at(ms), x.rec, x.name)
}

func (y *system) join(user int, channel string, ms int) {
	x := y.of(user)
	x.l.Join(user, channel, x.at(ms))
}

// tick passes on what the ledgers have for each other.
func (y *system) tick(ms int) {
	var cut Slots
	switch {
	case y.parted:
		cut = 1 << (ms / 100 % MarkSlots)
	case ms/markMS > y.now/markMS:
		cut = AllSlots
	}
	y.now = ms
	if len(y.parts) == 1 {
		y.whole.l.Settle(y.whole.at(ms))
		return
	}
	var marks []Mark
	mail := make([][]sentBy, len(y.parts))
	for k, x := range y.parts {
		x.l.Settle(x.at(ms))
		for _, m := range y.mail[k] {
			x.l.Heard(moved([]Message{m.Message}, y.parts[m.part], x)[0], x.at(ms))
		}
		for _, m := range y.marks {
			x.l.Marked(m, x.at(ms))
		}
		n, tr := x.l.Numbering(cut), x.l.Outbox()
		y.whole.l.Gather(k, Traffic{Acked: moved(tr.Acked, x, y.whole), Deleted: tr.Deleted, Foreign: tr.Foreign}, x.l.Count())
		for _, m := range tr.Acked {
			if m.Number > 0 {
				y.kept[Numbered{k, m.Channel, m.Number}] = sentBy{m, k}
				continue
			}
			for other := range y.parts {
				if other != k {
					mail[other] = append(mail[other], sentBy{m, k})
				}
			}
		}
		y.early += len(tr.Early)
		for _, of := range n.Asked {
			y.asked++
			if m, ok := y.kept[of]; ok {
				mail[k] = append(mail[k], m)
			}
		}
		marks = append(marks, n.Marks...)
	}
	y.whole.l.Settle(y.whole.at(ms))
	y.mail, y.marks = mail, marks
}

// run ticks on until everything is judged and forgotten.
func (y *system) run(until int) {
	for ms := y.now + 100; ms <= until; ms += 100 {
		y.tick(ms)
	}
}

func (y *system) deliveries() (n uint64) {
	for _, x := range y.parts {
		for _, w := range x.reg.Cut() {
			n += w.Response.Count()
		}
	}
	return n
}

// held is how much the ledgers keep of messages.
func (y *system) held() (n int) {
	for _, x := range y.parts {
		for i := range x.l.shards {
			s := &x.l.shards[i]
			n += len(s.messages) + len(s.pending) + len(s.over) + len(s.marked) + len(s.behind) + len(s.unsettle) + len(s.order)
			for _, c := range s.channels {
				n += len(c.numbered) + len(c.recent)
				if c.numbers != nil {
					n += len(c.numbers.open) + len(c.numbers.failed) + len(c.numbers.late)
				}
			}
		}
	}
	return n
}

// A happening is what one system after the other goes through.
type happening struct {
	at int
	do func(*system)
}

// scenario draws the traffic of 24 users in two channels: events that are lost, doubled, late or out of order, requests
// that fail or stay without an answer, users that break off or join. strangers is the number of events, in processes other
// than the author's, of messages that the server delivered and did not accept.
func scenario(rnd *rand.Rand, agents int) (list []happening, strangers func(agents int) int) {
	const users, messages = 24, 120
	type stranger struct{ author, user int }
	var events []stranger
	add := func(at int, do func(*system)) { list = append(list, happening{at, do}) }
	for u := range users {
		add(0, func(y *system) {
			x := y.of(u)
			x.l.Connected(u, x.at(0), false)
		})
		add(0, func(y *system) { y.join(u, "c", 0) })
		at := 0
		if u%4 == 0 {
			at = 500 + rnd.IntN(2000)
		}
		add(at, func(y *system) { y.join(u, "d", at) })
	}
	away := map[int][2]int{} // who is not connected then
	for _, u := range []int{2, 5, 11} {
		from := 701 + 100*rnd.IntN(15) // just after a tick: what was due then is judged
		to := from + 100 + rnd.IntN(900)
		away[u] = [2]int{from, to}
		add(from, func(y *system) { y.of(u).l.disconnected(u, y.of(u).at(from-1)) })
		add(to, func(y *system) {
			x := y.of(u)
			x.l.Connected(u, x.at(to), false)
		})
	}
	for m := range messages {
		channel := []string{"c", "c", "d"}[rnd.IntN(3)]
		author, sent := rnd.IntN(users), 100+25*m
		end := sent + 1 + rnd.IntN(40)
		fate := rnd.IntN(20) // 0 refused, 1 unanswered, 2 neither event nor answer, 3 refused and delivered, 4 unnamed
		add(sent, func(y *system) { y.send(m, author, channel, sent) })
		add(end, func(y *system) {
			x, msg := y.of(author), y.message(m, author, channel, sent, end)
			switch fate {
			case 0, 3:
				x.l.Refused(channel, msg.Pending)
			case 1, 2:
				msg.ID = ""
				x.l.Unanswered(msg)
			case 4:
				x.l.Acked(Message{Channel: channel, Pending: msg.Pending})
			default:
				x.l.Acked(msg)
			}
		})
		if fate == 0 || fate == 2 {
			continue
		}
		lostToMany := rnd.IntN(15) == 0 // a whole process may have no event
		for u := range users {
			at := sent + 1 + rnd.IntN(60)
			n := []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[rnd.IntN(10)]
			switch k := rnd.IntN(40); {
			case lostToMany && u%agents != 0:
				n = 0
			case k == 0:
				at = end + 100 + rnd.IntN(500)
			case k == 1:
				at = end + 1600 + rnd.IntN(600)
			}
			for i := range n {
				at := at + 3*i
				if w, ok := away[u]; ok && at >= w[0] && sent < w[1] {
					continue
				}
				add(at, func(y *system) { y.event(m, u, channel, at) })
				if i == 0 && u != author && (fate == 3 || fate == 4) {
					events = append(events, stranger{author, u})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	return list, func(agents int) (n int) {
		for _, e := range events {
			if e.author%agents != e.user%agents {
				n++
			}
		}
		return n
	}
}

// play takes a system through a scenario and until nothing is held of it.
func (y *system) play(list []happening) LedgerCount {
	for _, h := range list {
		for h.at > y.now+100 {
			y.tick(y.now + 100)
		}
		h.do(y)
	}
	y.run(20_000)
	return y.whole.l.Count()
}

// The same losses, copies, delays and failures have the same counts in one process, with every acknowledgment relayed to
// all, and by sequence.
func TestLedgersBySequence(t *testing.T) {
	var all LedgerCount
	asked := 0
	for round := range 100 {
		const agents = 3
		list, strangers := scenario(rand.New(rand.NewPCG(11, uint64(round))), agents)
		one, relayed, numbered := newSystem(1, false), newSystem(agents, false), newSystem(agents, true)
		single, want, got := one.play(list), relayed.play(list), numbered.play(list)
		// Who relays judges a message behind those that it heard of earlier, and who breaks off until then owes nothing.
		if want.Lost < single.Lost-4 || want.Lost > single.Lost {
			t.Errorf("round %d: relayed %+v\nin one process %+v", round, want, single)
		}
		want.Lost = single.Lost
		if got != want {
			t.Errorf("round %d: by sequence %+v\nrelayed               %+v", round, got, want)
		}
		// One process hides an event out of order behind a message that has no answer yet; its counts of that kind are
		// those of TestLedgersOfSeveralProcesses. And it may know the author of a refused message, whose own events are
		// no copies, by the event of another.
		single.Misordered = want.Misordered
		if d := want.Duplicated - single.Duplicated; d >= 0 && d < 4 {
			single.Duplicated = want.Duplicated
		}
		if single != want {
			t.Errorf("round %d: in one process %+v\nrelayed                %+v", round, single, want)
		}
		if got, want := numbered.deliveries(), relayed.deliveries()+uint64(strangers(agents)); got != want {
			t.Errorf("round %d: %d deliveries by sequence, want %d", round, got, want)
		}
		if n := numbered.held(); n > 0 {
			t.Errorf("round %d: %d things are still held", round, n)
		}
		if round%4 == 0 { // channels have their marks at other ticks, which changes no count
			parted := newSystem(agents, true)
			parted.parted = true
			if got := parted.play(list); got != want || parted.held() > 0 {
				t.Errorf("round %d: in parts %+v\nrelayed         %+v, %d things are still held", round, got, want, parted.held())
			}
		}
		all = all.Add(got)
		asked += numbered.asked
	}
	if all.Lost == 0 || all.Late == 0 || all.Duplicated == 0 || all.Misordered == 0 || all.Unanswered == 0 || all.Foreign == 0 || all.Unnamed == 0 {
		t.Errorf("not everything happened: %+v", all)
	}
	t.Logf("%+v; %d acknowledgments were asked for", all, asked)
}

// exchangeOne is a message of user 0 to users 1 and 2, each in a process of its own.
func exchangeOne(sequence bool) *system {
	y := newSystem(3, sequence)
	for u := range 3 {
		x := y.of(u)
		x.l.Connected(u, x.at(0), false)
		y.join(u, "c", 0)
	}
	return y
}

func TestFailuresBySequence(t *testing.T) {
	author := 0
	for _, tt := range []struct {
		name  string
		do    func(y *system)
		want  LedgerCount
		asked int
	}{
		{"all is well: nobody asks", func(y *system) {
			for m := range 3 {
				y.send(m, author, "c", 100+10*m)
				y.event(m, 1, "c", 105+10*m)
				y.event(m, 2, "c", 105+10*m)
				y.of(author).l.Acked(y.message(m, author, "c", 100+10*m, 107+10*m))
			}
		}, LedgerCount{Acked: 3, Judged: 3, Seen: 6}, 0},
		{"a gap is a loss to those who have no event", func(y *system) {
			for m := range 3 {
				y.send(m, author, "c", 100+10*m)
				y.event(m, 1, "c", 105+10*m)
				if m != 1 {
					y.event(m, 2, "c", 105+10*m)
				}
				y.of(author).l.Acked(y.message(m, author, "c", 100+10*m, 107+10*m))
			}
		}, LedgerCount{Acked: 3, Judged: 3, Seen: 5, Lost: 1}, 1},
		{"so is the end of a sequence", func(y *system) {
			y.send(0, author, "c", 100)
			y.of(author).l.Acked(y.message(0, author, "c", 100, 107))
		}, LedgerCount{Acked: 1, Judged: 1, Lost: 2}, 2},
		{"a failed post inside a sequence is none", func(y *system) {
			for m := range 3 {
				y.send(m, author, "c", 100+10*m)
				if m == 1 {
					y.of(author).l.Refused("c", y.ids[m][0])
					continue
				}
				y.event(m, 1, "c", 105+10*m)
				y.event(m, 2, "c", 105+10*m)
				y.of(author).l.Acked(y.message(m, author, "c", 100+10*m, 107+10*m))
			}
		}, LedgerCount{Acked: 2, Judged: 2, Seen: 4}, 0},
		{"one that is under way at the mark counts with a later one", func(y *system) {
			y.send(0, author, "c", 100)
			y.event(0, 1, "c", 105)
			y.send(1, author, "c", 110)
			y.event(1, 1, "c", 115)
			y.event(1, 2, "c", 115)
			y.of(author).l.Acked(y.message(1, author, "c", 110, 117))
			y.run(1500)
			y.of(author).l.Acked(y.message(0, author, "c", 100, 1550))
		}, LedgerCount{Acked: 2, Judged: 2, Seen: 3, Lost: 1}, 1},
		{"its response is lost, and its event came", func(y *system) {
			y.send(0, author, "c", 100)
			y.event(0, 1, "c", 105)
			y.run(300)
			m := y.message(0, author, "c", 100, 310)
			m.ID = ""
			y.of(author).l.Unanswered(m)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1, Unanswered: 1}, 0},
		{"who comes after it was sent owes nothing", func(y *system) {
			y.of(2).l.disconnected(2, y.of(2).at(50))
			y.send(0, author, "c", 100)
			y.event(0, 1, "c", 105)
			y.of(author).l.Acked(y.message(0, author, "c", 100, 107))
			y.of(2).l.Connected(2, y.of(2).at(150), false)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1}, 1},
		{"late, before anyone knows that it was accepted", func(y *system) {
			y.send(0, author, "c", 50)
			y.event(0, 1, "c", 55)
			y.of(author).l.Acked(y.message(0, author, "c", 50, 57))
			y.run(1100)
			y.event(0, 2, "c", 1150) // the mark of 1,000 has come, and the acknowledgment comes at 1,200
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Late: 1}, 1},
		{"late, after it was judged lost", func(y *system) {
			y.send(0, author, "c", 50)
			y.event(0, 1, "c", 55)
			y.of(author).l.Acked(y.message(0, author, "c", 50, 57))
			y.run(2000)
			y.event(0, 2, "c", 2050)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Late: 1}, 1},
		{"lost to one who broke off before that was known", func(y *system) {
			y.send(0, author, "c", 50)
			y.event(0, 1, "c", 55)
			y.of(author).l.Acked(y.message(0, author, "c", 50, 57))
			y.run(1100) // judged by now if acknowledgments are relayed
			y.of(2).l.disconnected(2, y.of(2).at(1100))
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1}, 1},
		{"who resumes gets it later", func(y *system) {
			y.of(2).l.disconnected(2, y.of(2).at(50))
			y.send(0, author, "c", 100)
			y.event(0, 1, "c", 105)
			y.of(author).l.Acked(y.message(0, author, "c", 100, 107))
			y.run(1400)
			y.of(2).l.Connected(2, y.of(2).at(1450), true)
			y.event(0, 2, "c", 1460)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, sequence := range []bool{false, true} {
				y := exchangeOne(sequence)
				tt.do(y)
				y.run(20_000)
				if got := y.whole.l.Count(); got != tt.want {
					t.Errorf("by sequence %v: %+v\nwant %+v", sequence, got, tt.want)
				}
				if n := y.held(); n > 0 {
					t.Errorf("%d things are still held", n)
				}
				if sequence && y.asked != tt.asked {
					t.Errorf("%d acknowledgments were asked for, want %d", y.asked, tt.asked)
				}
			}
		})
	}
}

// The marks of an agent that was silent come late: what it wrote is judged then, or, when events may have been
// forgotten, not at all.
func TestMarksThatComeLate(t *testing.T) {
	for _, tt := range []struct{ after, lost int }{{2000, 1}, {2700, 1}, {3500, 0}} {
		y := exchangeOne(true)
		y.send(0, 0, "c", 100)
		y.event(0, 1, "c", 105)
		y.of(0).l.Acked(y.message(0, 0, "c", 100, 110))
		x := y.parts[2]
		for ms := 200; ms < tt.after; ms += 100 {
			x.l.Settle(x.at(ms))
		}
		if c := x.l.Count(); c.Lost != 0 {
			t.Errorf("without a mark: %+v", c)
		}
		marks, out := y.parts[0].l.Numbering(AllSlots).Marks, y.parts[0].l.Outbox()
		if len(marks) != 1 || marks[0].After != 0 || marks[0].To != 1 || len(marks[0].Not)+len(marks[0].Late) > 0 || len(out.Acked) != 1 || out.Acked[0].Number != 1 {
			t.Fatalf("%+v, %+v", marks, out.Acked)
		}
		x.l.Marked(marks[0], x.at(tt.after))
		if asked := x.l.Numbering(0).Asked; len(asked) != 1 || asked[0] != (Numbered{0, "c", 1}) {
			t.Errorf("asked for %+v", asked)
		}
		x.l.Heard(moved(out.Acked, y.parts[0], x)[0], x.at(tt.after+100))
		for ms := tt.after; ms < 20_000; ms += 100 {
			x.l.Settle(x.at(ms))
		}
		if c := x.l.Count(); c.Lost != int64(tt.lost) {
			t.Errorf("marks after %d ms: %+v, want %d lost", tt.after, c, tt.lost)
		}
	}
}

// A server that repeats other ids than it was given changes no count of the fleet's messages, has nobody asked, and is
// forgotten.
func TestForgedIDs(t *testing.T) {
	stamp := func(y *system, ms int) string {
		b := make([]byte, StampSize)
		y.parts[1].l.Stamp(b, y.parts[1].at(ms))
		return string(b)
	}
	for _, tt := range []struct {
		name string
		id   func(y *system, k int) string
	}{
		{"too long", func(y *system, k int) string {
			return strings.Repeat("u", 60) + fmt.Sprintf(":0-1-%d-0", k+1) + stamp(y, 100)
		}},
		{"no numbers", func(*system, int) string { return "u0:0-1-x!-0" }},
		{"an agent beyond all", func(y *system, k int) string { return fmt.Sprintf("u0:7-1-%d-7", k+1) + stamp(y, 100) }},
		{"an author of another agent", func(y *system, k int) string { return fmt.Sprintf("u0:0-1-%d-1", k+1) + stamp(y, 100) }},
		{"number 0", func(y *system, k int) string { return "u0:0-1-0-0" + stamp(y, 100) }},
		{"an instant in the future", func(y *system, k int) string { return fmt.Sprintf("u0:0-1-%d-0", k+100) + stamp(y, 3_600_000) }},
		{"an instant long past", func(y *system, k int) string { return fmt.Sprintf("u0:0-1-%d-0", k+100) + "-0000000000" }},
		{"numbers beyond all marks", func(y *system, k int) string { return fmt.Sprintf("u0:0-1-%d-0", k+100) + stamp(y, 9000) }},
		{"instants that run backwards", func(y *system, k int) string { return fmt.Sprintf("u0:0-1-%d-0", k+100) + stamp(y, 9000-k) }},
		{"one number for all", func(y *system, k int) string { return "u0:0-1-100-0" + stamp(y, 9000) }},
		{"a number of the process's own", func(y *system, k int) string { return fmt.Sprintf("u1:1-1-%d-1", k+1) + stamp(y, 9000) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const many = 2000
			y := exchangeOne(true)
			y.run(8900)
			x := y.parts[1]
			y.send(0, 0, "c", 8950)
			y.of(0).l.Acked(y.message(0, 0, "c", 8950, 8960))
			for k := range many {
				x.l.Seen(1, []byte("c"), fmt.Append(nil, "forged", k), []byte(tt.id(y, k)), x.at(9001+k/10), x.rec, x.name)
			}
			y.event(0, 1, "c", 9300) // after events that claim to have been sent later
			y.event(0, 2, "c", 9300)
			s := x.l.shard(maphash.String(x.l.seed, "c"))
			if n := len(s.channels["c"].numbered); n > many+1 || len(s.behind) > mostUnsure {
				t.Errorf("%d numbers and %d events are held", n, len(s.behind))
			}
			y.run(30_000)
			if got, want := y.whole.l.Count(), (LedgerCount{Acked: 1, Judged: 1, Seen: 2, Foreign: many}); got != want || y.early > 0 {
				t.Errorf("%+v, %d early\nwant %+v", got, y.early, want)
			}
			if n := y.held(); n > 0 || y.asked > 1 {
				t.Errorf("%d things are still held, %d asked for", n, y.asked)
			}
		})
	}
}

// Instants of a host's authors are mapped by its clock. A delivery that the clocks do not explain is left to the
// acknowledgment.
func TestPeersBySequence(t *testing.T) {
	author, x := newLines(), newLines()
	for k, p := range []*lines{author, x} {
		p.l.Share()
		p.l.Divide(k, Evenly(4))
		p.l.Sequence(2)
	}
	x.l.Connected(1, x.at(0), false)
	x.l.Join(1, "c", x.at(0))
	x.l.Peers([]Peer{{Offset: 1}}) // not of two hosts
	x.l.Peers([]Peer{{Offset: 40 * time.Millisecond, Drift: 1e8, Within: 3 * time.Millisecond}, {}})
	send := func(sent int) (own, in string) {
		own = "u0:" + author.l.Number("c", 0)
		stamp := make([]byte, StampSize)
		author.l.Stamp(stamp, author.at(sent))
		return own, own + string(stamp)
	}
	own, in := send(1000) // at 1,040.1 of the other clock
	x.seenAs(1, "a", in, 1045)
	e := x.l.shard(maphash.String(x.l.seed, "c")).messages["a"]
	if string(e.pending) != own || e.from != 1 || e.key != (numberKey{0, 1}) {
		t.Errorf("%q of host %d, %+v", e.pending, e.from, e.key)
	}
	_, in = send(2000)
	x.seenAs(1, "b", in, 2038) // 2.2 ms before it was sent
	_, in = send(3000)
	x.seenAs(1, "d", in, 3030) // 10.3 ms before
	var n uint64
	for _, w := range x.reg.Cut() {
		if w.Name == Between {
			n += w.Response.Count()
			if w.Response.Max() < 4800*time.Microsecond || w.Response.Max() > 5*time.Millisecond {
				t.Errorf("a delivery took %v, want 4.9ms", w.Response.Max())
			}
		} else if w.Count() > 0 {
			t.Errorf("series %s", w.Name)
		}
	}
	if n != 2 || len(x.l.Outbox().Early) > 0 {
		t.Errorf("%d deliveries", n)
	}
	x.l.Marked(Mark{Channel: "c", Agent: 0, To: 3}, x.at(3100))
	if asked := x.l.Numbering(0).Asked; len(asked) != 1 || asked[0] != (Numbered{0, "c", 3}) {
		t.Errorf("asked for %+v", asked)
	}
	x.l.Heard(Message{ID: "d", Channel: "c", Sent: x.at(3040), Acked: x.at(3045), From: 1, Within: 3 * time.Millisecond}, x.at(3200))
	if early := x.l.Outbox().Early; len(early) != 1 || early[0].From != 1 || early[0].By != 10*time.Millisecond {
		t.Errorf("%+v", early)
	}
	// Agents 1 and 3 share a host, and hear of each other.
	x.l.Marked(Mark{Channel: "c", Agent: 3, To: 9}, x.at(3100))
	x.l.Marked(Mark{Channel: "c", Agent: 1, To: 9}, x.at(3100))
	x.l.Marked(Mark{Channel: "c", Agent: 4, To: 9}, x.at(3100))
	x.l.Marked(Mark{Channel: "c", Agent: 2, After: 9, To: 8}, x.at(3100))
	x.l.Marked(Mark{Channel: "c", Agent: 2, To: 1<<32 - 1}, x.at(3100))
	if asked := x.l.Numbering(0).Asked; len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
}

// Ids of one user differ in all channels and posts, are short enough to be read, and are read as they were made.
func TestNumbers(t *testing.T) {
	l := NewLedger(0, 1)
	l.Share()
	l.Divide(15_999, Evenly(16_000))
	l.Sequence(1000)
	had := map[string]bool{}
	stamp := make([]byte, StampSize)
	for i := range 2000 {
		author := 15_999 + 16_000*(i%600)
		if i%2 > 0 {
			author = firstServer + author
		}
		id := l.Number(fmt.Sprint("c", i%7), author)
		if had[id] {
			t.Fatalf("%s twice", id)
		}
		had[id] = true
		l.Stamp(stamp, l.clock.Load().Epoch().Add(40*24*time.Hour+time.Duration(i)))
		v, fields, digits := parseNumbered([]byte(strings.Repeat("u", 26) + ":" + id + string(stamp)))
		if fields != 5 || digits != stampDigits || v[0] != 15_999 || v[3] != uint64(author) || v[4] != uint64(40*24*time.Hour)+uint64(i) || !l.ofAgent(v[3], v[0]) {
			t.Fatalf("%s%s is %v", id, stamp, v)
		}
	}
	if NewLedger(0, 1).Number("c", 1) != "" {
		t.Error("a ledger without sequences numbers")
	}
}

// The marks of a channel are in one part, those of all channels together in all of them.
func TestMarkSlots(t *testing.T) {
	l := NewLedger(0, 1)
	l.Share()
	l.Divide(1, Evenly(2))
	l.Sequence(0)
	const channels = 500
	for i := range channels {
		l.Number(fmt.Sprintf("%026d", i), 1)
	}
	if n := len(l.Numbering(0).Marks); n > 0 {
		t.Errorf("%d marks without a part", n)
	}
	had := map[string]bool{}
	for k := range MarkSlots {
		marks := l.Numbering(1 << k).Marks
		if n := len(marks); n < channels/20 || n > channels/5 {
			t.Errorf("part %d has %d of %d channels", k, n, channels)
		}
		for _, m := range marks {
			if had[m.Channel] || MarkSlot(m.Channel) != k || m.To != 1 {
				t.Errorf("part %d: %+v", k, m)
			}
			had[m.Channel] = true
		}
	}
	if n := len(l.Numbering(AllSlots).Marks); n > 0 || len(had) != channels {
		t.Errorf("%d channels had marks, %d have a second one", len(had), n)
	}
}

func FuzzParseNumbered(f *testing.F) {
	for _, s := range []string{"u:0-1-1-0-0000000000", "u:0-1-1-0", "", ":", "u:-", "u:0-1-zzzzzzzzzz-0", "u:0-1-1-0-0-0", "a:b:1-1-1-1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, fields, digits := parseNumbered(text)
		if fields == 0 {
			return
		}
		if fields < 3 || fields > 5 || v[2] < 1 || v[2] > 1<<32-1 || digits < 1 || digits > stampDigits || len(text) > mostNumbered {
			t.Fatalf("%q: %v, %d fields, %d digits", text, v, fields, digits)
		}
	})
}
