package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A specHistory is all that happened in a run: posts, what their authors and recipients saw, who
// was there. Times are in milliseconds of a clock that no host has. Its counts are those of the
// comments of [Ledger] and [LedgerCount] and of ADR 42; no code is the ledger's.
type specHistory struct {
	users         int
	agents, hosts int
	deal          *Deal
	epochs        []int // of the hosts' clocks, on that clock
	silent        specSilence
	posts         []specPost
	steps         []specStep // by time
	// it has what several processes do not count as one does, see specDrawing
	alone bool
}

// A specSilence is an agent that hears nothing and is not heard, and makes up for it.
type specSilence struct{ agent, from, to int }

type specPost struct {
	author    int
	channel   string
	sent, end int // of the request whose fate it is
	fate      specFate
	own       bool // its author has an id of its own for it
	delivered bool
	twice     bool // the answer comes twice
	root      int  // the post that it answers; -1 for none
	tried     int  // when a first request with the same id began, which has no answer; 0 for none
	early     bool // the server accepted that one
	pause     int  // how long the server lets wait for the first event and the answer, at least
}

type specFate string

const (
	specAnswered specFate = "answered"
	specRefused  specFate = "refused"
	// nobody knows whether the server accepted it, unless an event comes.
	specSilent  specFate = "no answer"
	specUnnamed specFate = "answered without an id"
	specForeign specFate = "of another client"
	specFailed  specFate = "failed, its author has no id of its own"
)

type specKind string

const (
	specConnect specKind = "connects"
	specResume  specKind = "resumes"
	specBreak   specKind = "breaks off"
	specJoin    specKind = "joins"
	specLeave   specKind = "leaves"
	specSend    specKind = "sends"
	specGiveUp  specKind = "gives up"
	specEnd     specKind = "has the outcome"
	specEvent   specKind = "gets"
	specDelete  specKind = "deletes"
)

// A specStep is one thing that happened to a user; post is -1 if it has to do with none.
type specStep struct {
	at      int
	what    specKind
	user    int
	post    int
	channel string
}

const (
	specGrace = 10_000
	specNever = 1 << 40
	specUntil = 140_000 // everything is judged and forgotten
)

// A specTime is when something happened: two things of the same millisecond have the order of the
// history.
type specTime struct{ ms, nth int }

func (t specTime) before(o specTime) bool {
	return t.ms < o.ms || t.ms == o.ms && t.nth < o.nth
}

// events returns when a user got a post, until then, in order. For user -1 it is all users.
func (h *specHistory) events(post, user, until int) (list []specTime) {
	for i, s := range h.steps {
		if s.what == specEvent && s.post == post && (s.user == user || user < 0) && s.at <= until {
			list = append(list, specTime{s.at, i})
		}
	}
	return list
}

// accepted returns when the server is known to have accepted a post, and whether it is known until
// then.
func (h *specHistory) accepted(post, until int) (at int, yes bool) {
	p := h.posts[post]
	if p.end > until {
		return 0, false
	}
	switch p.fate {
	case specAnswered:
		if h.began(post) < p.sent {
			return h.events(post, -1, until)[0].ms, true
		}
		return p.end, true
	case specSilent:
		if first := h.events(post, -1, until); len(first) > 0 {
			return first[0].ms, true
		}
	}
	return 0, false
}

// began returns when a post that the server accepted was sent: a first request counts if an event
// shows that it did.
func (h *specHistory) began(post int) int {
	if p := h.posts[post]; p.early && len(h.events(post, -1, p.sent)) > 0 {
		return p.tried
	}
	return h.posts[post].sent
}

// spans returns when a user was connected, a resumed connection as one that was not interrupted; or
// a member of a channel.
func (h *specHistory) spans(user int, channel string) (list [][2]int) {
	open := false
	for _, s := range h.steps {
		if s.user != user || s.channel != channel {
			continue
		}
		switch s.what {
		case specConnect, specJoin:
			if !open {
				list, open = append(list, [2]int{s.at, specNever}), true
			}
		case specResume:
			list[len(list)-1][1], open = specNever, true
		case specBreak, specLeave:
			if open {
				list[len(list)-1][1], open = s.at, false
			}
		}
	}
	return list
}

// during reports whether one of the spans holds all of a time.
func during(spans [][2]int, from, to int) bool {
	return slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] <= from && to <= s[1] })
}

// counts returns what a ledger has to count until then, and the ids that the audit should find, by
// channel. least is how many of the misordered events may not be overlooked, and alone how many of
// them by one process. Open: of those that came behind an event of a message that had no answer
// yet, or no id of its author's, ledgers overlook some; and one process does so when the channel
// had events of a message without an answer, as one of another client, unless the last of the
// messages that the recipient had got is one with an answer. No comment of theirs says so.
func (h *specHistory) counts(
	until int,
) (c LedgerCount, least, alone int64, audit map[string][]string) {
	audit = map[string][]string{}
	deleted := map[int]bool{}
	for _, s := range h.steps {
		if s.what == specDelete && s.at <= until {
			deleted[s.post] = true
		}
	}
	connected, members := map[int][][2]int{}, map[string][][2]int{}
	for u := range h.users {
		connected[u] = h.spans(u, "")
		for _, channel := range specChannels {
			members[fmt.Sprint(u, channel)] = h.spans(u, channel)
		}
	}
	type got struct{ post, user int }
	events := map[got][]specTime{}
	at := map[int]int{}
	begins := map[int]int{}
	sent := map[int]int{}
	for i, p := range h.posts {
		if acked, yes := h.accepted(i, until); yes {
			at[i] = acked
		}
		sent[i] = h.began(i)
		all := h.events(i, -1, until)
		if len(all) > 0 {
			begins[i] = all[0].ms
		}
		for _, t := range all {
			of := got{i, h.steps[t.nth].user}
			events[of] = append(events[of], t)
		}
		if _, yes := at[i]; !yes && len(all) > 0 && p.end <= until {
			c.Foreign++
		}
		if p.fate == specUnnamed && p.end <= until {
			c.Unnamed++
		}
	}
	plain := func(i int) bool {
		p := h.posts[i]
		return p.fate == specAnswered && p.own && !p.early
	}
	for i, p := range h.posts {
		acked, accepted := at[i]
		judged := accepted && acked+specGrace <= until
		if accepted {
			c.Acked++
			if !deleted[i] && (p.root < 0 || !deleted[p.root]) {
				audit[p.channel] = append(audit[p.channel], specID(i))
			}
			if p.fate == specSilent {
				c.Unanswered++
			}
		}
		if judged {
			c.Judged++
		}
		for u := range h.users {
			list := events[got{i, u}]
			if u == p.author {
				continue
			}
			c.Duplicated += int64(max(len(list)-1, 0))
			switch {
			case len(list) == 0:
				member := members[fmt.Sprint(u, p.channel)]
				if judged && during(connected[u], sent[i], acked+specGrace) &&
					during(member, sent[i], acked+specGrace) {
					c.Lost++
				}
				continue
			case !accepted:
				continue
			case list[0].ms > acked+specGrace:
				c.Late++
			default:
				c.Seen++
			}
			behind := false
			sure := false
			hidden := false
			// of the posts of the channel that the user had got, that which became known last
			newest, born := -1, 0
			for k, q := range h.posts {
				answer, yes := at[k]
				first, came := begins[k]
				if known := first; k != i && q.channel == p.channel {
					if yes {
						known = min(known, answer)
					}
					if had := events[got{k, u}]; len(had) > 0 && had[0].before(list[0]) &&
						known >= born {
						newest, born = k, known
					}
				}
				open := !yes || q.fate != specAnswered || q.end > list[0].ms
				hidden = hidden || q.channel == p.channel && open && came && first <= list[0].ms
			}
			for k, q := range h.posts {
				if _, yes := at[k]; !yes || q.channel != p.channel || sent[k] <= acked {
					continue
				}
				if later := events[got{k, u}]; len(later) > 0 && later[0].before(list[0]) {
					behind = true
					known := q.fate == specAnswered && q.end < list[0].ms &&
						(p.fate == specAnswered && p.end < list[0].ms || p.sent+19_000 <= list[0].ms)
					sure = sure || known && q.own && p.own && !q.early && !p.early
				}
			}
			if behind {
				c.Misordered++
			}
			if sure {
				least++
			}
			last := newest >= 0 && sent[newest] > acked && plain(newest) && plain(i) &&
				p.end < list[0].ms
			if sure && !hidden || last {
				alone++
			}
		}
	}
	for _, ids := range audit {
		slices.Sort(ids)
	}
	return c, least, alone, audit
}

// String lists what happened.
func (h *specHistory) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%d agents of %d hosts with epochs %v, silent: %+v\n",
		h.agents,
		h.hosts,
		h.epochs,
		h.silent,
	)
	for i, p := range h.posts {
		if p.end < specNever || p.fate == specForeign {
			fmt.Fprintf(&b, "  %s: %+v\n", specID(i), p)
		}
	}
	for _, s := range h.steps {
		fmt.Fprintf(
			&b,
			"  %6d: user %d of agent %d %s %s",
			s.at,
			s.user,
			h.agentOf(s.user),
			s.what,
			s.channel,
		)
		if s.post >= 0 {
			b.WriteString(specID(s.post))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wrong plays a history and says what is not as it has to be; "" if all is.
func (h *specHistory) wrong(agents int) string {
	got := h.play(agents)
	want, least, alone, audit := h.counts(specUntil)
	if agents == 1 {
		least = alone
	}
	if least <= got.count.Misordered && got.count.Misordered < want.Misordered {
		got.count.Misordered = want.Misordered // open, see counts
	}
	if got.count != want {
		return fmt.Sprintf("%+v\nwant %+v", got.count, want)
	}
	if !maps.EqualFunc(got.audit, audit, slices.Equal) {
		return fmt.Sprintf("messages of the audit: %v\nwant %v", got.audit, audit)
	}
	if n := want.Seen + want.Late; got.deliveries != n {
		return fmt.Sprintf("%d deliveries are recorded, want %d", got.deliveries, n)
	}
	return ""
}

// Whatever happens, the ledgers of one process and of several count what the words of their
// specification say.
func TestLedgersBySpecification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all LedgerCount
		for seed := range uint64(200) {
			h := specDraw(rand.New(rand.NewPCG(34, seed)), seed%5 == 4)
			c, _, _, _ := h.counts(specUntil)
			all = all.Add(c)
			for _, agents := range []int{1, h.agents} {
				if agents > 1 && h.alone {
					continue
				}
				if wrong := h.wrong(agents); wrong != "" {
					t.Fatalf("seed %d, %d processes: %s\n%v", seed, agents, wrong, h)
				}
			}
		}
		if min(
			all.Lost,
			all.Late,
			all.Duplicated,
			all.Misordered,
			all.Unanswered,
			all.Foreign,
			all.Unnamed,
		) == 0 {
			t.Errorf("not everything happened: %+v", all)
		}
		t.Logf("%+v", all)
	})
}

func specID(post int) string { return fmt.Sprint("m", post) }

// byTime sorts steps; those of one instant keep their order.
func byTime(a, b specStep) int { return cmp.Compare(a.at, b.at) }
