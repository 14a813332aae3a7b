package workload

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// play lets users of ledgers do the steps of a script. A step is a verb, the message's id, the
// numbers of the verb, and times in milliseconds; a message with an id of its author's is "a=u:1",
// one of another channel than c "a@d".
func play(script string, of func(user int) *lines, tick func(ms int)) {
	for step := range strings.SplitSeq(script, ";") {
		var words []string
		var n []int
		for f := range strings.FieldsSeq(step) {
			if v, err := strconv.Atoi(f); err == nil {
				n = append(n, v)
			} else {
				words = append(words, f)
			}
		}
		n = append(n, 0, 0)
		message, channel, elsewhere := strings.Cut(words[len(words)-1], "@")
		if !elsewhere {
			channel = "c"
		}
		id, own, _ := strings.Cut(message, "=")
		x := of(n[0])
		switch words[0] {
		case "sends":
			x.l.Sending(channel, id, n[0])
		case "acked":
			x.l.Acked(Message{
				ID:      id,
				Channel: channel,
				Pending: own,
				Author:  n[0],
				Sent:    x.at(n[1]),
				Acked:   x.at(n[2]),
			})
		case "unanswered":
			x.l.Unanswered(Message{
				Channel: channel,
				Pending: id,
				Author:  n[0],
				Sent:    x.at(n[1]),
				Acked:   x.at(n[2]),
			})
		case "refused":
			x.l.Refused(channel, id)
		case "seen":
			x.l.Seen(n[0], []byte(channel), []byte(id), []byte(own), x.at(n[1]), x.rec, x.name)
		case "connects", "resumes":
			x.l.Connected(n[0], x.at(n[1]), words[0] == "resumes")
		case "breaks":
			x.l.Disconnected(n[0])
		case "joins":
			x.l.Join(n[0], "c", x.at(n[1]))
		case "leaves":
			x.l.Leave(n[0], "c")
		case "tick":
			tick(n[0])
		default:
			panic("no verb: " + step)
		}
	}
}

// The processes of a run of three users: one, or one for each user with one that gathers.
const (
	one = 1 << iota
	three
)

// Three users, of whom each message has two recipients, and what a ledger counts of them.
func TestLedgerCounts(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		processes    int
		want         LedgerCount
		audit        string // the ids that an audit looks for
	}{
		{"all is well, responses and events in either order", `seen a 1 110; seen a 0 111; acked a 0 100 120; seen a 2 130;
			acked b 1 140 150; seen b 2 160; seen b 0 160; seen b 1 170`,
			one, LedgerCount{Acked: 2, Judged: 2, Seen: 4}, "a b"},
		{"written by those who serve arrivals, from 1<<40 on: all users are recipients",
			`acked a 1099511627777 100 120; seen a 0 130; seen a 1 130; acked b 1099511627778 200 220; seen b 0 230; seen b 1 230`,
			one, LedgerCount{Acked: 2, Judged: 2, Seen: 4, Lost: 2}, "a b"},
		{"lost", "acked a 0 100 120; seen a 1 130", one, LedgerCount{
			Acked:  1,
			Judged: 1,
			Seen:   1,
			Lost:   1,
		}, "a"},
		{"late", "acked a 0 100 120; seen a 1 130; tick 1500; seen a 2 1600; seen a 2 1700",
			one, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Late: 1, Duplicated: 1}, "a"},
		{"duplicated, before and after the response", "seen a 1 110; seen a 1 111; acked a 0 100 120; seen a 2 130; seen a 2 131",
			one, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Duplicated: 2}, "a"},
		{"misordered", "acked a 0 100 120; acked b 0 200 220; seen b 1 230; seen a 1 231; seen a 2 230; seen b 2 231",
			one, LedgerCount{Acked: 2, Judged: 2, Seen: 4, Misordered: 1}, "a b"},
		{"misordered, and the later one's response is the last to be known",
			"acked a 0 100 120; seen b 1 230; seen a 1 231; acked b 0 200 240; seen a 2 250; seen b 2 251",
			one, LedgerCount{Acked: 2, Judged: 2, Seen: 4, Misordered: 1}, "a b"},
		{"under way together: no order", "acked a 0 100 220; seen b 1 230; seen a 1 231; acked b 0 200 240; seen b 2 241; seen a 2 242",
			one, LedgerCount{Acked: 2, Judged: 2, Seen: 4}, "a b"},
		{"not connected all the time", `breaks 1; acked a 0 100 120; connects 1 200; acked b 0 300 320; seen b 1 330; seen a 2 330;
			breaks 2`, one, LedgerCount{Acked: 2, Judged: 2, Seen: 2}, "a b"},
		{"a resumed connection owes what it missed", "breaks 1; acked a 0 100 120; seen a 2 130; resumes 1 200",
			one, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1}, "a"},
		{"joined too late, left too early", "leaves 1; leaves 2; acked a 0 100 120; joins 1 150",
			one, LedgerCount{Acked: 1, Judged: 1}, "a"},
		{"a stranger's message", "seen a=v:1 1 110; seen a=v:1 2 110; tick 200", one | three, LedgerCount{Foreign: 1}, ""},
		{"a response after everything was forgotten", "seen a 1 110; tick 4000; acked a 0 100 5000",
			one, LedgerCount{Acked: 1, Foreign: 1}, "a"},
		{"an answer that names no message", "acked a 0 0 1; acked = 0 1 2; acked = 0 2 3; acked b 0 3 4; tick 200",
			one | three, LedgerCount{Acked: 2, Judged: 2, Lost: 4, Unnamed: 2}, "a b"},
		{"two answers that name one message", "acked a 0 0 1; acked b 0 1 2; acked a 0 2 3; tick 200",
			one | three, LedgerCount{Acked: 3, Judged: 2, Lost: 4, Repeated: 1}, "a b"},

		// Messages with an id of their author's. One whose response was lost, and that its
		// recipients got, was accepted.
		{"answered after its events, of which the author has a copy", `sends u:1 0; seen a=u:1 0 105; seen a=u:1 0 106; seen a=u:1 1 110;
			acked a=u:1 0 100 120; seen a=u:1 2 130`, one, LedgerCount{
			Acked:  1,
			Judged: 1,
			Seen:   2,
		}, "a"},
		{"the response is lost after the events", `sends u:1 0; seen a=u:1 1 110; seen a=u:1 2 112; tick 200; unanswered u:1 0 100 1100;
			tick 1200; tick 1300; tick 1400`, one | three, LedgerCount{
			Acked:      1,
			Judged:     1,
			Seen:       2,
			Unanswered: 1,
		}, "a"},
		{"the response is lost before the events, and one does not come",
			"sends u:1 0; unanswered u:1 0 100 120; tick 200; tick 300; seen a=u:1 1 310; tick 400; tick 500",
			one | three, LedgerCount{Acked: 1, Judged: 1, Seen: 1, Lost: 1, Unanswered: 1}, "a"},
		{"the author has its own event", `sends u:1 0; seen a=u:1 0 105; seen a=u:1 1 110; seen a=u:1 2 112; unanswered u:1 0 100 120;
			tick 200; tick 300`, one | three, LedgerCount{
			Acked:      1,
			Judged:     1,
			Seen:       2,
			Unanswered: 1,
		}, "a"},
		{"the request takes longer than messages are remembered",
			"sends u:1 0; seen a=u:1 1 110; tick 5500; unanswered u:1 0 100 5600; seen a=u:1 2 5650",
			one, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}, "a"},
		{"the request takes longer than messages are remembered elsewhere", `sends u:1 0; seen a=u:1 1 110; seen a=u:1 2 112;
			tick 1000; tick 2000; tick 3000; tick 4000; unanswered u:1 0 100 5000; tick 5100; tick 5200; tick 5300`,
			three, LedgerCount{Acked: 1, Judged: 1, Seen: 2, Unanswered: 1}, "a"},
		{"the answer comes later than messages are remembered",
			"sends u:1 0; seen a=u:1 1 110; seen a=u:1 2 110; tick 4500; acked a=u:1 0 100 4600",
			one, LedgerCount{Acked: 1, Judged: 1, Seen: 2}, "a"},
		{"it never came", "sends u:1 0; unanswered u:1 0 100 1100; tick 1200", one | three, LedgerCount{}, ""},
		{"it was declined, and is there all the same", "sends u:1 0; refused u:1; seen a=u:1 1 110", one, LedgerCount{Foreign: 1}, ""},
		{"a stranger has ids of its own, too", "sends u:1 0; seen a=v:1 1 110; unanswered u:1 0 100 120", one, LedgerCount{Foreign: 1}, ""},
		{"of another channel", "sends u:1@d 0; seen a=u:1 1 110; unanswered u:1@d 0 100 120", one, LedgerCount{Foreign: 1}, ""},
		{"sent twice, and the server gives the first one again", `sends u:1 0; acked a=u:1 0 100 120; sends u:1 0; acked a=u:1 0 130 140;
			seen a=u:1 1 150; seen a=u:1 2 150`, one, LedgerCount{
			Acked:  1,
			Judged: 1,
			Seen:   2,
		}, "a"},
		{"sent again after the response was lost: the answer has come now", `sends u:1 0; seen a=u:1 1 110; seen a=u:1 2 110;
			unanswered u:1 0 100 120; sends u:1 0; acked a=u:1 0 130 140`, one, LedgerCount{
			Acked:  1,
			Judged: 1,
			Seen:   2,
		}, "a"},
		{"one message for two ids is a fault", `sends u:1 0; acked a=u:1 0 100 120; sends u:2 0; acked a=u:2 0 130 140;
			seen a=u:1 1 150; seen a=u:1 2 150`, one, LedgerCount{
			Acked:    2,
			Judged:   1,
			Seen:     2,
			Repeated: 1,
		}, "a"},
		{"accepted without an identifier", "sends u:1 0; seen a=u:1 1 110; acked =u:1 0 100 120", one, LedgerCount{
			Unnamed: 1,
			Foreign: 1,
		}, ""},
	} {
		for _, processes := range []int{one, three} {
			if tt.processes&processes == 0 {
				continue
			}
			t.Run(
				tt.name+map[int]string{three: ", three processes"}[processes],
				func(t *testing.T) {
					whole := newLines()
					parts := []*lines{whole, whole, whole}
					tick := func(ms int) { whole.l.Settle(whole.at(ms)) }
					if processes == three {
						parts = []*lines{newLines(), newLines(), newLines()}
						tick = func(ms int) {
							for _, x := range append(parts, whole) {
								x.l.Settle(x.at(ms))
							}
							exchange(whole, parts, ms)
						}
					}
					for user, x := range parts {
						if x != whole {
							x.l.Share()
						}
						x.l.Connected(user, x.at(0), false)
						x.l.Join(user, "c", x.at(0))
					}
					play(tt.script, func(user int) *lines { return parts[user%3] }, tick)
					for ms := 7000; ms <= 14000; ms += 1000 {
						tick(ms)
					}
					if got := whole.l.Count(); got != tt.want {
						t.Errorf("got  %+v\nwant %+v", got, tt.want)
					}
					if got := strings.Join(audited(whole.l), " "); got != tt.audit {
						t.Errorf("an audit looks for %q, want %q", got, tt.audit)
					}
					deliveries := int64(0)
					for _, x := range parts {
						for _, w := range x.reg.Cut() {
							deliveries += int64(w.Response.Count())
						}
						for i := range x.l.shards {
							if s := &x.l.shards[i]; len(s.messages)+len(s.pending)+len(s.over) > 0 {
								t.Errorf(
									"%d messages, %d requests and %d ended ones are still held",
									len(s.messages),
									len(s.pending),
									len(s.over),
								)
							}
						}
					}
					if deliveries != tt.want.Seen+tt.want.Late {
						t.Errorf(
							"%d deliveries recorded, want %d",
							deliveries,
							tt.want.Seen+tt.want.Late,
						)
					}
				},
			)
		}
	}
}

// audited returns the ids that an audit looks for, by channel.
func audited(l *Ledger) (ids []string) {
	list, _ := l.Messages()
	for _, of := range list {
		ids = append(ids, of.IDs...)
	}
	return ids
}

// The time of a delivery begins when the request was sent, whatever became of its response, and
// ends with the first event of each recipient.
func TestLedgerRecordsDeliveries(t *testing.T) {
	for _, tt := range []struct {
		script string
		most   time.Duration
	}{
		{"seen a 1 105; seen a 0 106; acked a 0 100 110; seen a 2 107; seen a 2 150; seen never-acknowledged 2 100", 7 * time.Millisecond},
		{"sends u:1 0; seen a=u:1 0 106; seen a=u:1 1 105; unanswered u:1 0 100 1100; seen a=u:1 2 1107", 1007 * time.Millisecond},
	} {
		x := newLines()
		x.users(3)
		play(tt.script, func(int) *lines { return x }, nil)
		w := x.reg.Cut()[0].Response
		if w.Count() != 2 || w.Min() != 5*time.Millisecond || w.Max() != tt.most {
			t.Errorf(
				"%s: %d deliveries from %v to %v, want 2 from 5ms to %v",
				tt.script,
				w.Count(),
				w.Min(),
				w.Max(),
				tt.most,
			)
		}
	}
}
