package workload

import (
	"math/rand/v2"
	"slices"
)

var specChannels = []string{"c0", "c1", "c2"}

// A specDrawing draws a history. It keeps margins where the specification draws a line, and does
// not draw what it leaves open:
//
//   - an instant of sending differs from those of acknowledgments in its channel, and from those when users come and
//     go, by 20 ms; nothing happens within 50 ms of the end of a grace to a user who lacks the message;
//   - a late event comes to users who are there all the time: whether it is late for one who missed the end of the
//     grace is not specified;
//   - a user who lacks a message neither breaks off nor leaves between the end of the grace and the moment by which all
//     processes know of it; in a history for one process ([specHistory.alone]), by which that one does;
//   - the events of a post without an answer, of which the first is its acknowledgment, come within 100 ms, in which
//     no other post of the channel begins, or after 19 s, when all processes know;
//   - a late event comes 1.2 s after the grace or later, and at most 28.5 s after its sending. Open: between the end of
//     the grace and the next Settle a ledger counts Seen, where LedgerCount says Late;
//   - a user who lacks a message is not away when its grace ends, and resumes later: it is judged then;
//   - requests repeated under one id are for one process. Open: in several, a message that is answered at the second
//     try may count twice in Acked, and in Unanswered and Repeated;
//   - a copy of an author's own event is of a message with an id of its own: before the answer nobody knows its author;
//   - Seen is compared at the end: until a message is forgotten, events of others' messages are in it as well;
//   - a post that the server refuses and delivers is not copied to its author, whom only some processes know.
type specDrawing struct {
	*rand.Rand
	h     *specHistory
	users []specUser
}

// A specUser is when a user is there. Spans are from and to.
type specUser struct {
	connects int // specNever: it only authors
	away     []specAway
	member   map[string][][2]int
}

type specAway struct {
	from, to int
	resumes  bool
}

// specDraw draws a history, for one process alone or for any number.
func specDraw(rnd *rand.Rand, alone bool) *specHistory {
	d := &specDrawing{Rand: rnd, h: &specHistory{users: 18 + rnd.IntN(16), agents: 3 + rnd.IntN(4)}}
	d.h.alone = alone
	d.drawHosts()
	for range 50 {
		d.drawPost()
	}
	slices.SortFunc(d.h.posts, func(a, b specPost) int { return a.sent - b.sent })
	d.drawRoots()
	for u := range d.h.users {
		d.drawUser(u)
	}
	for i := range d.h.posts {
		d.request(i)
		if d.h.posts[i].delivered {
			d.deliver(i)
		}
	}
	slices.SortStableFunc(d.h.steps, byTime)
	return d.h
}

// chance reports true in so many of a hundred cases.
func (d *specDrawing) chance(percent int) bool { return d.IntN(100) < percent }

// between is from lo to hi-1.
func (d *specDrawing) between(lo, hi int) int { return lo + d.IntN(hi-lo) }

func (d *specDrawing) add(at int, what specKind, user, post int, channel string) {
	d.h.steps = append(d.h.steps, specStep{at, what, user, post, channel})
}

func (d *specDrawing) drawHosts() {
	h := d.h
	h.deal, h.epochs = Evenly(h.agents), []int{0}
	switch d.IntN(3) {
	case 1:
		h.hosts = h.agents
	case 2:
		if h.hosts = h.agents; h.agents%2 == 0 {
			h.hosts = h.agents / 2
		}
	}
	if h.hosts > 0 {
		h.epochs = nil
		var ratings []int
		for range h.hosts {
			h.epochs, ratings = append(h.epochs, -d.IntN(5000)), append(ratings, 1+d.IntN(5))
		}
		if d.chance(50) {
			h.deal, _ = NewDeal(h.agents, ratings)
		}
	}
	h.silent.agent = -1
	if d.chance(33) {
		from := specTick * d.between(4, 32)
		h.silent = specSilence{d.IntN(h.agents), from, from + specTick*d.between(1, 9)}
	}
}

// drawPost adds a post whose instants keep the margins to those of the others in its channel.
func (d *specDrawing) drawPost() {
	h := d.h
	for {
		p := specPost{
			author:  d.IntN(h.users),
			channel: specChannels[d.IntN(len(specChannels))],
			root:    -1,
		}
		p.own = true
		p.delivered = true
		p.fate = specAnswered
		if d.chance(6) {
			p.author = firstServer + d.IntN(9)
		}
		p.sent = d.between(2000, 32_000)
		if p.end = p.sent + d.between(2, 60); d.chance(8) {
			p.end = p.sent + d.between(200, 12_000)
		}
		switch d.IntN(40) {
		case 0, 1:
			p.fate, p.delivered = specRefused, false
		case 2:
			p.fate = specRefused
		case 3, 4, 5:
			p.fate, p.end = specSilent, p.sent+d.between(150, 6000)
		case 6:
			p.fate, p.end, p.delivered = specSilent, p.sent+d.between(150, 6000), false
		case 7:
			p.fate, p.delivered = specUnnamed, d.chance(50)
		case 8:
			p.fate = specForeign
			p.author = specNever
			p.own = false
			p.end = p.sent
		case 9:
			p.fate, p.own, p.delivered = specFailed, false, d.chance(50)
		case 10:
			if h.alone {
				p.tried = p.sent - d.between(1500, 1900)
				p.early = d.chance(60)
			}
		case 11:
			p.twice = true
		case 12, 13, 14, 15:
			p.own = false
		}
		// neither an event nor the answer comes sooner
		if p.fate == specAnswered && !p.early && d.chance(25) {
			p.pause = d.between(25, 60)
			p.end = max(p.end, p.sent+p.pause)
		}
		if p.end%specTick == 0 { // when processes judge
			p.end++
		}
		if !slices.ContainsFunc(h.posts, func(q specPost) bool {
			return p.touches(q) || q.touches(p)
		}) {
			h.posts = append(h.posts, p)
			return
		}
	}
}

// touches reports whether it is not certain that q was sent before p was acknowledged, or after.
func (p specPost) touches(q specPost) bool {
	from, to := p.end, p.end
	if p.fate == specSilent {
		from, to = p.sent, p.sent+100
	}
	within := func(at int) bool { return from-20 < at && at < to+20 }
	early := p.early && p.tried-20 < q.sent && q.sent < p.tried+120
	return p.channel == q.channel && (within(q.sent) || q.early && within(q.tried) || early)
}

// drawRoots makes some posts answers to others, and deletes some.
func (d *specDrawing) drawRoots() {
	posts := d.h.posts
	for i := range posts {
		p := &posts[i]
		root := d.IntN(i + 1)
		q := posts[root]
		if q.root < 0 && q.channel == p.channel && q.fate == specAnswered && q.end < p.sent &&
			d.chance(60) {
			p.root = root
		}
		if (p.fate == specAnswered || p.fate == specSilent) && d.chance(12) {
			d.add(p.end+d.between(100, 5000), specDelete, d.IntN(d.h.users), i, "")
		}
	}
}

// moment draws when a user comes or goes.
func (d *specDrawing) moment(lo, hi int) int {
	for {
		at := d.between(lo, hi)
		if !slices.ContainsFunc(d.h.posts, func(p specPost) bool {
			return p.sent-20 < at && at < p.sent+20 || p.early && p.tried-20 < at && at < p.tried+20
		}) {
			return at
		}
	}
}

func (d *specDrawing) drawUser(u int) {
	x := specUser{connects: 100 + d.IntN(500), member: map[string][][2]int{}}
	switch {
	case d.chance(6):
		x.connects = specNever
	case d.chance(15):
		x.connects = d.moment(1000, 20_000)
	}
	if x.connects < specNever {
		d.add(x.connects, specConnect, u, -1, "")
		from := x.connects
		for d.chance(40) && len(x.away) < 2 && from < 30_000 {
			a := specAway{from: d.moment(from+1000, 40_000), resumes: d.chance(50)}
			a.to = d.moment(a.from+200, a.from+5000)
			from = a.to
			d.add(a.from, specBreak, u, -1, "")
			if !a.resumes && d.chance(25) {
				a.to = specNever
				x.away = append(x.away, a)
				break
			}
			what := specConnect
			if a.resumes {
				what = specResume
			}
			d.add(a.to, what, u, -1, "")
			x.away = append(x.away, a)
		}
	}
	for _, channel := range specChannels {
		if d.chance(15) {
			continue
		}
		from := 50 + d.IntN(700)
		if d.chance(12) {
			from = d.moment(1000, 25_000)
		}
		for range 2 {
			span := [2]int{from, specNever}
			d.add(from, specJoin, u, -1, channel)
			if d.chance(10) {
				d.add(d.moment(from+1, from+9000), specJoin, u, -1, channel) // known again
			}
			if d.chance(15) {
				span[1] = d.moment(from+9001, from+20_000)
				d.add(span[1], specLeave, u, -1, channel)
			}
			x.member[channel] = append(x.member[channel], span)
			if span[1] == specNever || d.chance(50) {
				break
			}
			from = d.moment(span[1]+20, span[1]+6000)
		}
	}
	d.users = append(d.users, x)
}

// request adds what the author does.
func (d *specDrawing) request(i int) {
	p := d.h.posts[i]
	if p.fate == specForeign {
		return
	}
	if p.tried > 0 {
		d.add(p.tried, specSend, p.author, i, "")
		d.add(p.sent-d.between(100, 900), specGiveUp, p.author, i, "")
	}
	d.add(p.sent, specSend, p.author, i, "")
	d.add(p.end, specEnd, p.author, i, "")
	if p.twice {
		d.add(p.end+d.between(1, 3000), specEnd, p.author, i, "")
	}
}

// deliver adds the events of a post.
func (d *specDrawing) deliver(i int) {
	p := d.h.posts[i]
	lacks := make([]bool, d.h.agents) // processes that get none
	if d.chance(10) {
		for k := range lacks {
			lacks[k] = d.chance(50)
		}
	}
	// the earliest event, and the sending that the server accepted
	come, begin := p.sent+p.pause, p.sent
	switch {
	case p.early:
		come, begin = p.tried, p.tried
	case p.tried > 0:
		come = p.end
	}
	named := false // an event came at once
	for u := range d.users {
		x := &d.users[u]
		if !during(x.member[p.channel], begin, begin) || x.connects > begin {
			continue
		}
		at, roll := come+d.between(3, 90), d.IntN(100)
		switch {
		case u == p.author:
		case (roll < 4 || lacks[d.h.agentOf(u)]) && d.mayLack(x, p):
			continue
		case p.early:
		case roll < 9 && p.fate != specSilent:
			at = come + d.between(100, 3000)
		case roll < 12 && p.fate == specAnswered && p.end < p.sent+3000 && x.steady(p, p.end+specGrace+14_050):
			at = p.end + specGrace + d.between(1200, 14_000)
		case roll < 12 && p.fate == specSilent && named && x.steady(p, p.sent+23_050):
			at = p.sent + d.between(19_000, 23_000)
		}
		at, yes := x.gets(p, at)
		if !yes {
			continue
		}
		if at%specTick == 0 { // when processes judge
			at++
		}
		named = true
		d.add(at, specEvent, u, i, "")
		for (u != p.author || p.fate == specSilent || p.fate == specAnswered && p.own) && d.chance(8) {
			if at += d.between(1, 2000); !x.there(at) || at > p.sent+28_500 {
				break
			}
			d.add(at, specEvent, u, i, "")
		}
	}
}

// there reports whether a user is connected at that moment.
func (x *specUser) there(at int) bool {
	return x.connects <= at && !slices.ContainsFunc(x.away, func(a specAway) bool {
		return a.from <= at && at <= a.to
	})
}

// gets returns when an event that the server has at a moment comes to a user, and whether it does:
// it may have to wait until the user resumes, and those that wait come in order.
func (x *specUser) gets(p specPost, at int) (int, bool) {
	for _, a := range x.away {
		if a.from <= at && at <= a.to {
			at = a.to + 1 + max(p.sent-a.from, 0)/100
			return at, a.resumes && x.there(at)
		}
	}
	return at, true
}

// steady reports whether a user is a member and connected from before the sending of a post until
// then.
func (x *specUser) steady(p specPost, to int) bool {
	return x.connects < p.sent-50 && during(x.member[p.channel], p.sent-50, to) &&
		!slices.ContainsFunc(x.away, func(a specAway) bool {
			return a.to > p.sent-50 && a.from < to
		})
}

// mayLack reports whether it is certain that who has no event of a post lost it, or that it was not
// owed.
func (d *specDrawing) mayLack(x *specUser, p specPost) bool {
	first, last := p.sent+specGrace-50, p.end+specGrace+50
	if p.early {
		first = p.tried + specGrace - 50
	}
	known := 0 // how much later than at once processes may learn of it
	if p.fate == specSilent {
		known = p.end - p.sent
	}
	if d.h.silent.agent >= 0 {
		known += d.h.silent.to - d.h.silent.from
	}
	for _, m := range x.member[p.channel] {
		if first < m[1] && m[1] < last+30_000 {
			return false
		}
	}
	until := last + 4000 + known
	switch {
	case len(x.away) > 1:
		until = last + 30_000
	case d.h.alone && p.fate == specAnswered:
		until = last + 1500
	}
	return !slices.ContainsFunc(x.away, func(a specAway) bool {
		return a.from < until && a.to > first
	})
}
