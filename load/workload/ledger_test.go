package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// lines drives a ledger with instants in milliseconds.
type lines struct {
	l    *Ledger
	t0   time.Time
	reg  *measure.Registry
	rec  *measure.Recorder
	name measure.Name
}

func newLines() *lines {
	reg := measure.NewRegistry(1)
	rec := reg.Recorder(0)
	l := NewLedger(time.Second, 1)
	return &lines{l, l.clock.Load().Epoch(), reg, rec, rec.Name(Delivery)}
}

func (x *lines) at(ms int) time.Time { return x.t0.Add(time.Duration(ms) * time.Millisecond) }
func (x *lines) acked(id string, author, sent, acked int) {
	x.l.Acked(Message{ID: id, Channel: "c", Author: author, Sent: x.at(sent), Acked: x.at(acked)})
}
func (x *lines) seen(user int, id string, ms int) {
	x.l.Seen(user, []byte("c"), []byte(id), nil, x.at(ms), x.rec, x.name)
}
func (x *lines) users(n int) {
	for u := range n {
		x.l.Connected(u, x.at(0), false)
		x.l.Join(u, "c", x.at(0))
	}
}

// A model that keeps everything decides the same as the ledger, over random traffic with losses,
// duplicates and overtaking, for all messages that were acknowledged before their events.
func TestLedgerAgainstAModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		x := newLines()
		const users, messages = 70, 20
		x.users(users)
		type event struct{ user, msg, at int }
		var queue []event
		var sent, acked [messages]int
		var want LedgerCount
		for m := range messages {
			sent[m] = 10 * m
			acked[m] = sent[m] + 1 + rnd.IntN(30)
			want.Acked++
			want.Judged++
		}
		for u := 1; u < users; u++ {
			var mine []event
			for m := range messages {
				switch rnd.IntN(10) {
				case 0:
					want.Lost++
				case 1:
					mine = append(mine, event{u, m, 0}, event{u, m, 0})
					want.Duplicated++
					want.Seen++
				default:
					mine = append(mine, event{u, m, 0})
					want.Seen++
				}
			}
			rnd.Shuffle(len(mine), func(i, j int) {
				if i-j < 4 && j-i < 4 {
					mine[i], mine[j] = mine[j], mine[i]
				}
			})
			had, latest := map[int]bool{}, -1
			for i := range mine {
				mine[i].at = 300 + i
				if m := mine[i].msg; !had[m] {
					had[m] = true
					if latest > acked[m] {
						want.Misordered++
					}
					latest = max(latest, sent[m])
				}
			}
			queue = append(queue, mine...)
		}
		for m := range messages {
			x.acked(fmt.Sprint(m), 0, sent[m], acked[m])
		}
		for _, e := range queue {
			x.seen(e.user, fmt.Sprint(e.msg), e.at)
		}
		x.l.Settle(x.at(2000))
		if got := x.l.Count(); got != want {
			t.Fatalf("round %d: got %+v, want %+v", round, got, want)
		}
	}
}

func TestLedgerKeepsWhatWasAcknowledged(t *testing.T) {
	x := newLines()
	for i := range 10 {
		x.acked(fmt.Sprintf("id%d", i), 0, i, i)
	}
	x.l.Deleted("c", "id3")
	x.l.Acked(Message{ID: "z", Channel: "another", Sent: x.t0, Acked: x.t0})
	list, part := x.l.Messages()
	if part != 1 || len(list) != 2 || list[0].Channel != "another" || len(list[1].IDs) != 9 ||
		list[1].IDs[3] != "id4" {
		t.Fatalf("%v of %+v", part, list)
	}
	x.l.spool.most = 100
	for i := range 3000 {
		x.acked(fmt.Sprintf("more%d", i), 0, 20+i, 20+i)
	}
	_, part = x.l.Messages()
	n := len(audited(x.l))
	if n > 100 || float64(n) < 3000*part*0.5 || float64(n) > 3000*part*1.6 ||
		int64(n) > x.l.spool.size {
		t.Errorf("%d ids kept as a sample of %v of 3010; counted %d", n, part, x.l.spool.size)
	}
}

// Who can read a channel back is kept once each, and the first few alone.
func TestLedgerKeepsReaders(t *testing.T) {
	x := newLines()
	for i := range 9 {
		x.l.Acked(Message{
			ID:      fmt.Sprint(i),
			Channel: "c",
			Reader:  fmt.Sprint(i / 2),
			Sent:    x.t0,
			Acked:   x.t0,
		})
	}
	x.l.Acked(Message{ID: "z", Channel: "open", Sent: x.t0, Acked: x.t0})
	list, _ := x.l.Messages()
	if len(list) != 2 || !slices.Equal(list[0].Readers, []string{"0", "1", "2", "3"}) ||
		len(list[1].Readers) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestLedgerOfNobody(t *testing.T) {
	var l *Ledger
	l.Acked(Message{})
	l.Seen(1, nil, nil, nil, time.Now(), nil, 0)
	l.Connected(1, time.Now(), false)
	l.Disconnected(1)
	l.Join(1, "", time.Now())
	l.Leave(1, "")
	l.Deleted("", "")
	l.Settle(time.Now())
	l.Sending("c", "p", 1)
	l.Refused("c", "p")
	l.Unanswered(Message{Pending: "p"})
	if list, part := l.Messages(); list != nil || part != 1 || l.Count() != (LedgerCount{}) {
		t.Error("nobody acknowledged something")
	}
}

// traffic is one message to n recipients, half of whose events come before the response.
func traffic(x *lines, n int) func() {
	ids := make([][]byte, 4096)
	texts := make([]string, len(ids))
	for i := range ids {
		ids[i] = fmt.Appendf(nil, "%026d", i)
		texts[i] = string(ids[i])
	}
	m := 0
	channel := []byte("c")
	return func() {
		ms := 10 * m
		k := m % len(ids)
		own := fmt.Sprintf("%026d:%d", 0, m)
		x.l.Sending("c", own, 0)
		for u := 1; u <= n/2; u++ {
			x.l.Seen(u, channel, ids[k], []byte(own), x.at(ms+1), x.rec, x.name)
		}
		x.l.Acked(Message{
			ID:      texts[k],
			Channel: "c",
			Pending: own,
			Sent:    x.at(ms),
			Acked:   x.at(ms + 2),
		})
		for u := n/2 + 1; u <= n; u++ {
			x.l.Seen(u, channel, ids[k], []byte(own), x.at(ms+3), x.rec, x.name)
		}
		m++
	}
}

// The budget of a message in the steady state: its id, and the one of its author's that the test
// makes. No message keeps the list of the events that waited for its acknowledgment.
func TestLedgerAllocatesPerMessageNotPerEvent(t *testing.T) {
	x := newLines()
	x.users(1001)
	message := traffic(x, 1000)
	for range 1000 {
		message()
	}
	if n := testing.AllocsPerRun(500, message); n > 3 {
		t.Errorf("%v allocations for a message and 1000 events, want at most 3", n)
	}
	held := 0
	waiting := 0
	spare := 0
	for i := range x.l.shards {
		s := &x.l.shards[i]
		held += len(s.messages) + len(s.free)
		for _, e := range slices.Concat(s.order, s.free) {
			waiting += cap(e.waiting)
		}
		spare += len(s.lists.spare)
	}
	if held > 420 { // 3 s and a sweep at 100 messages/s
		t.Errorf("%d messages held", held)
	}
	if waiting > 0 || spare != 1 {
		t.Errorf(
			"room for %d events that nobody waits for, and %d lists, want one that all take in turn",
			waiting,
			spare,
		)
	}
	if c := x.l.Count(); c.Lost+c.Duplicated+c.Misordered != 0 {
		t.Errorf("%+v", c)
	}
}

func BenchmarkLedger(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("recipients=%d", n), func(b *testing.B) {
			x := newLines()
			x.users(n + 1)
			message := traffic(x, n)
			b.ReportAllocs()
			for b.Loop() {
				message()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
		})
	}
}

// A recipient's process hears of a second's messages after their events.
func BenchmarkLedgerOfOthers(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("recipients=%d", n), func(b *testing.B) {
			x := newLines()
			x.l.Share()
			x.users(n)
			const second = 100 // messages
			var ids [second]string
			m := 0
			b.ReportAllocs()
			for b.Loop() {
				k, ms := m%second, 10*m
				ids[k] = fmt.Sprintf("%026d", m)
				for u := range n {
					x.l.Seen(
						u,
						[]byte("c"),
						[]byte(ids[k]),
						[]byte("author:1234567890123"),
						x.at(ms+1),
						x.rec,
						x.name,
					)
				}
				if m++; k < second-1 {
					continue
				}
				for k, id := range ids {
					sent := ms - 10*(second-1-k)
					x.l.Heard(Message{
						ID:      id,
						Channel: "c",
						Author:  -1,
						Sent:    x.at(sent),
						Acked:   x.at(sent + 2),
					}, x.at(ms+10))
				}
				x.l.Settle(x.at(ms + 10))
				x.l.Outbox()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
		})
	}
}

// exchange passes on what processes have for the ledger that gathers, and for each other.
func exchange(whole *lines, parts []*lines, ms int) {
	all := make([]Traffic, len(parts))
	for k, x := range parts {
		all[k] = x.l.Outbox()
		whole.l.Gather(k, Traffic{
			Acked:   moved(all[k].Acked, x, whole),
			Deleted: all[k].Deleted,
			Foreign: all[k].Foreign,
		}, x.l.Count())
	}
	for k, x := range parts {
		for other, from := range parts {
			if other == k {
				continue
			}
			for _, m := range moved(all[other].Acked, from, x) {
				x.l.Heard(m, x.at(ms))
			}
		}
	}
}

// moved returns messages with the instants of another ledger's beginning.
func moved(list []Message, from, to *lines) (out []Message) {
	for _, m := range list {
		m.Sent, m.Acked = to.t0.Add(m.Sent.Sub(from.t0)), to.t0.Add(m.Acked.Sub(from.t0))
		out = append(out, m)
	}
	return out
}

// Requests that end without an answer, and are never heard of again, cost no memory for ever.
func TestLedgerForgetsRequests(t *testing.T) {
	x := newLines()
	for i := range 5000 {
		own := fmt.Sprint("u:", i)
		x.l.Sending("c", own, 0)
		x.l.Unanswered(Message{
			Channel: "c",
			Pending: own,
			Sent:    x.at(10 * i),
			Acked:   x.at(10*i + 5),
		})
	}
	held := 0
	for i := range x.l.shards {
		held += len(x.l.shards[i].pending)
	}
	if held > 720 { // 6 s and a sweep at 100 requests/s
		t.Errorf("%d requests are held", held)
	}
}
