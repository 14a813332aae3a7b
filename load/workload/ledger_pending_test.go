package workload

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// sends, seenAs and unanswered drive a ledger with messages that bear an id of their author's.
func (x *lines) sends(pending string, author int) { x.l.Sending("c", pending, author) }

func (x *lines) seenAs(user int, id, pending string, ms int) {
	x.l.Seen(user, []byte("c"), []byte(id), []byte(pending), x.at(ms), x.rec, x.name)
}

func (x *lines) answered(id, pending string, author, sent, acked int) {
	x.l.Acked(Message{ID: id, Channel: "c", Pending: pending, Author: author, Sent: x.at(sent), Acked: x.at(acked)})
}

func (x *lines) unanswered(pending string, author, sent, over int) {
	x.l.Unanswered(Message{Channel: "c", Pending: pending, Author: author, Sent: x.at(sent), Acked: x.at(over)})
}

// A message whose response was lost, and that its recipients got, was accepted: it is neither unknown nor a
// stranger's, and its deliveries count as all others.
func TestLedgerKnowsMessagesByTheirAuthorsID(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*lines)
		want LedgerCount
		ids  []string // that an audit looks for
	}{
		{"answered after its events", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(0, "a", "u:1", 105)
			x.seenAs(0, "a", "u:1", 106) // a second copy for the author, which is no recipient
			x.seenAs(1, "a", "u:1", 110)
			x.answered("a", "u:1", 0, 100, 120)
			x.seenAs(2, "a", "u:1", 130)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, []string{"a"}},
		{"the response is lost after the events", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.seenAs(2, "a", "u:1", 110)
			x.unanswered("u:1", 0, 100, 1100)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}, []string{"a"}},
		{"the response is lost before the events, and one does not come", func(x *lines) {
			x.sends("u:1", 0)
			x.unanswered("u:1", 0, 100, 120)
			x.seenAs(1, "a", "u:1", 130)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1, Unanswered: 1}, []string{"a"}},
		{"the request takes longer than messages are remembered", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.l.Settle(x.at(5500))
			x.unanswered("u:1", 0, 100, 5600)
			x.seenAs(2, "a", "u:1", 5650)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}, []string{"a"}},
		{"the answer comes later than messages are remembered", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.seenAs(2, "a", "u:1", 110)
			x.l.Settle(x.at(4500))
			x.answered("a", "u:1", 0, 100, 4600)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, []string{"a"}},
		{"it never came", func(x *lines) {
			x.sends("u:1", 0)
			x.unanswered("u:1", 0, 100, 1100)
		}, LedgerCount{}, nil},
		{"it was declined, and is there all the same", func(x *lines) {
			x.sends("u:1", 0)
			x.l.Refused("c", "u:1")
			x.seenAs(1, "a", "u:1", 110)
		}, LedgerCount{Foreign: 1}, nil},
		{"a stranger has ids of its own, too", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "v:1", 110)
			x.unanswered("u:1", 0, 100, 120)
		}, LedgerCount{Foreign: 1}, nil},
		{"of another channel", func(x *lines) {
			x.l.Sending("d", "u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.l.Unanswered(Message{Channel: "d", Pending: "u:1", Sent: x.at(100), Acked: x.at(120)})
		}, LedgerCount{Foreign: 1}, nil},
		{"sent twice, and the server gives the first one again", func(x *lines) {
			x.sends("u:1", 0)
			x.answered("a", "u:1", 0, 100, 120)
			x.sends("u:1", 0)
			x.answered("a", "u:1", 0, 130, 140)
			x.seenAs(1, "a", "u:1", 150)
			x.seenAs(2, "a", "u:1", 150)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, []string{"a"}},
		{"sent again after the response was lost: the answer has come now", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.seenAs(2, "a", "u:1", 110)
			x.unanswered("u:1", 0, 100, 120)
			x.sends("u:1", 0)
			x.answered("a", "u:1", 0, 130, 140)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, []string{"a"}},
		{"one message for two ids is a fault", func(x *lines) {
			x.sends("u:1", 0)
			x.answered("a", "u:1", 0, 100, 120)
			x.sends("u:2", 0)
			x.answered("a", "u:2", 0, 130, 140)
			x.seenAs(1, "a", "u:1", 150)
			x.seenAs(2, "a", "u:1", 150)
		}, LedgerCount{Acked: 2, Judged: 1, Seen: 2, Repeated: 1}, []string{"a"}},
		{"accepted without an identifier", func(x *lines) {
			x.sends("u:1", 0)
			x.seenAs(1, "a", "u:1", 110)
			x.l.Acked(Message{Channel: "c", Pending: "u:1"})
		}, LedgerCount{Unnamed: 1, Foreign: 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newLines()
			x.users(3)
			tt.do(x)
			for ms := 7000; ms <= 14000; ms += 1000 {
				x.l.Settle(x.at(ms))
			}
			if got := x.l.Count(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			var ids []string
			list, _ := x.l.Messages()
			for _, m := range list {
				ids = append(ids, m.IDs...)
			}
			if !slices.Equal(ids, tt.ids) {
				t.Errorf("an audit looks for %v, want %v", ids, tt.ids)
			}
			for i := range x.l.shards {
				if s := &x.l.shards[i]; len(s.messages)+len(s.pending)+len(s.over) > 0 {
					t.Errorf("%d messages, %d requests and %d ended ones are still held", len(s.messages), len(s.pending), len(s.over))
				}
			}
		})
	}
}

// The time of a delivery begins when the request was sent, whatever became of its response.
func TestLedgerRecordsDeliveriesOfUnansweredMessages(t *testing.T) {
	x := newLines()
	x.users(3)
	x.sends("u:1", 0)
	x.seenAs(0, "a", "u:1", 106)
	x.seenAs(1, "a", "u:1", 105)
	x.unanswered("u:1", 0, 100, 1100)
	x.seenAs(2, "a", "u:1", 1107)
	w := x.reg.Cut()[0]
	if w.Response.Count() != 2 || w.Response.Min() != 5*time.Millisecond || w.Response.Max() < time.Second {
		t.Fatalf("%d deliveries from %v to %v", w.Response.Count(), w.Response.Min(), w.Response.Max())
	}
}

// The author's process has no event of a message whose response was lost; recipients are in others. Whichever of them
// learns first that the request has ended tells the rest, and it is one message.
func TestUnansweredMessagesOfSeveralProcesses(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(tick func(ms int), author, b, c *lines)
		want LedgerCount
	}{
		{"the events come first", func(tick func(int), author, b, c *lines) {
			author.sends("u:1", 0)
			b.seenAs(1, "a", "u:1", 110)
			c.seenAs(2, "a", "u:1", 112)
			tick(200)
			author.unanswered("u:1", 0, 100, 1100)
			tick(1200)
			tick(1300)
			tick(1400)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}},
		{"the request ends first", func(tick func(int), author, b, c *lines) {
			author.sends("u:1", 0)
			author.unanswered("u:1", 0, 100, 120)
			tick(200)
			tick(300)
			b.seenAs(1, "a", "u:1", 310)
			tick(400)
			tick(500)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1, Unanswered: 1}},
		{"the author has its own event", func(tick func(int), author, b, c *lines) {
			author.sends("u:1", 0)
			author.seenAs(0, "a", "u:1", 105)
			b.seenAs(1, "a", "u:1", 110)
			c.seenAs(2, "a", "u:1", 112)
			author.unanswered("u:1", 0, 100, 120)
			tick(200)
			tick(300)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}},
		{"the request takes longer than messages are remembered", func(tick func(int), author, b, c *lines) {
			author.sends("u:1", 0)
			b.seenAs(1, "a", "u:1", 110)
			c.seenAs(2, "a", "u:1", 112)
			for ms := 1000; ms < 5000; ms += 1000 {
				tick(ms)
			}
			author.unanswered("u:1", 0, 100, 5000)
			tick(5100)
			tick(5200)
			tick(5300)
		}, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}},
		{"it never came", func(tick func(int), author, b, c *lines) {
			author.sends("u:1", 0)
			author.unanswered("u:1", 0, 100, 120)
			tick(200)
		}, LedgerCount{}},
		{"a stranger's", func(tick func(int), author, b, c *lines) {
			b.seenAs(1, "a", "v:1", 110)
			c.seenAs(2, "a", "v:1", 110)
			tick(200)
		}, LedgerCount{Foreign: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := newLines()
			parts := []*lines{newLines(), newLines(), newLines()}
			for k, x := range parts {
				x.l.Share()
				x.l.Connected(k, x.at(0), false)
				x.l.Join(k, "c", x.at(0))
			}
			tick := func(ms int) {
				for _, x := range append(parts, whole) {
					x.l.Settle(x.at(ms))
				}
				exchange(whole, parts, ms)
			}
			tt.do(tick, parts[0], parts[1], parts[2])
			for ms := 7000; ms <= 14000; ms += 1000 {
				tick(ms)
			}
			if got := whole.l.Count(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
			list, _ := whole.l.Messages()
			if n := len(list); int64(n) != tt.want.Acked {
				t.Errorf("an audit looks for %+v", list)
			}
			var deliveries uint64
			for _, x := range parts {
				for _, w := range x.reg.Cut() {
					deliveries += w.Response.Count()
				}
				for i := range x.l.shards {
					if s := &x.l.shards[i]; len(s.messages)+len(s.pending)+len(s.over) > 0 {
						t.Errorf("%d messages, %d requests and %d ended ones are still held", len(s.messages), len(s.pending), len(s.over))
					}
				}
			}
			if int64(deliveries) != tt.want.Seen {
				t.Errorf("%d deliveries recorded, want %d", deliveries, tt.want.Seen)
			}
		})
	}
}

// Requests that end without an answer, and are never heard of again, cost no memory for ever.
func TestLedgerForgetsRequests(t *testing.T) {
	x := newLines()
	for i := range 5000 {
		own := fmt.Sprint("u:", i)
		x.sends(own, 0)
		x.unanswered(own, 0, 10*i, 10*i+5)
	}
	held := 0
	for i := range x.l.shards {
		held += len(x.l.shards[i].pending)
	}
	if held > 720 { // 6 s and a sweep at 100 requests/s
		t.Errorf("%d requests are held", held)
	}
}
