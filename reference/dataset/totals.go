package dataset

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
)

// Totals are the numbers that servers keep about the posts of each channel. They do not change
// after [Population.Totals] returns them.
type Totals struct {
	p     *Population
	count [3][]int32 // by ReadTo and channel: posts before the cut
	roots [3][]int32
	last  [3][]int64 // time of the last post before the cut, 0 without one
	who   map[seat]unread

	Counts Counts
}

// Counts are numbers of rows.
type Counts struct {
	Posts, Replies, Threads, Participants, Reactions, Files int
}

// seat is a user in a channel.
type seat struct{ channel, user int32 }

// unread is about the posts after the cuts, of which there are at most 50,000.
type unread struct {
	mentions, roots [3]int32 // by ReadTo: mentions in unread posts, and those in roots
	posted          [3]bool  // has posted since
}

// Totals reads all posts, without their texts, in so many goroutines: about four million posts a
// second and core. It keeps 48 bytes per channel and goroutine. done, which may be nil, is called
// with the number of posts counted so far.
func (p *Population) Totals(
	ctx context.Context,
	workers int,
	done func(posts int),
) (*Totals, error) {
	parts := make([]*Totals, max(workers, 1))
	var next, counted atomic.Int64
	var wg sync.WaitGroup
	for w := range parts {
		parts[w] = newTotals(p)
		wg.Go(func() {
			var c Chunk
			for k := int(next.Add(1)) - 1; k < p.Chunks() && ctx.Err() == nil; k = int(next.Add(1)) - 1 {
				p.Chunk(k, &c)
				parts[w].add(&c)
				if n := counted.Add(int64(len(c.Posts))); done != nil {
					done(int(n))
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, t := range parts[1:] {
		parts[0].merge(t)
	}
	return parts[0], nil
}

func newTotals(p *Population) *Totals {
	t := &Totals{p: p, who: map[seat]unread{}}
	for r := range t.count {
		t.count[r] = make([]int32, len(p.channels))
		t.roots[r] = make([]int32, len(p.channels))
		t.last[r] = make([]int64, len(p.channels))
	}
	return t
}

func (t *Totals) add(c *Chunk) {
	p := t.p
	recent, old := p.cut(ReadRecent), p.cut(ReadOld)
	var reactions []Reaction
	participants := map[int32]bool{}
	for i := range c.Posts {
		post := &c.Posts[i]
		n := c.First + i
		root := int32(0)
		if post.Root < 0 {
			root = 1
		}
		for r, seen := range [3]bool{ReadAll: true, ReadRecent: n < recent, ReadOld: n < old} {
			if seen {
				t.count[r][post.Channel]++
				t.roots[r][post.Channel] += root
				t.last[r][post.Channel] = max(t.last[r][post.Channel], post.At)
			}
		}
		t.Counts.Posts++
		t.Counts.Replies += int(1 - root)
		t.Counts.Files += int(post.Files)
		if post.Reacted {
			reactions = c.AppendReactions(reactions[:0], i)
			t.Counts.Reactions += len(reactions)
		}
		if post.Replies > 0 {
			t.Counts.Threads++
			clear(participants)
			participants[post.Author] = true
			c.Thread(i, func(k int) { participants[c.Posts[k].Author] = true })
			t.Counts.Participants += len(participants)
		}
		if n >= old {
			t.unread(post, n, recent, root)
		}
	}
}

// unread records a post that some members have not read.
func (t *Totals) unread(post *Post, n, recent int, root int32) {
	p := t.p
	cuts := []ReadTo{ReadOld, ReadRecent}
	if n < recent {
		cuts = cuts[:1]
	}
	note := func(user int32, f func(u *unread, r ReadTo)) {
		u := t.who[seat{post.Channel, user}]
		for _, r := range cuts {
			f(&u, r)
		}
		t.who[seat{post.Channel, user}] = u
	}
	note(post.Author, func(u *unread, r ReadTo) { u.posted[r] = true })
	whom := post.Mention
	if ch := &p.channels[post.Channel]; ch.typ == Direct { // each post mentions the other
		if whom = int32(p.member(ch, 0)); whom == post.Author {
			whom = int32(p.member(ch, 1))
		}
	}
	if whom >= 0 {
		note(whom, func(u *unread, r ReadTo) { u.mentions[r]++; u.roots[r] += root })
	}
}

func (t *Totals) merge(o *Totals) {
	for r := range t.count {
		for i := range t.count[r] {
			t.count[r][i] += o.count[r][i]
			t.roots[r][i] += o.roots[r][i]
			t.last[r][i] = max(t.last[r][i], o.last[r][i])
		}
	}
	for k, u := range o.who {
		v := t.who[k]
		for r := range u.mentions {
			v.mentions[r] += u.mentions[r]
			v.roots[r] += u.roots[r]
			v.posted[r] = v.posted[r] || u.posted[r]
		}
		t.who[k] = v
	}
	a, b := &t.Counts, o.Counts
	a.Posts += b.Posts
	a.Replies += b.Replies
	a.Threads += b.Threads
	a.Participants += b.Participants
	a.Reactions += b.Reactions
	a.Files += b.Files
}

// Channel returns the number of posts in channel c, how many of them are roots, and the time of the
// last one, or of the channel's creation.
func (t *Totals) Channel(c int) (posts, roots int, last int64) {
	return int(t.count[ReadAll][c]), int(t.roots[ReadAll][c]), t.lastAt(ReadAll, c)
}

// lastAt returns the time of the last post before the cut in channel c, or of its creation.
func (t *Totals) lastAt(r ReadTo, c int) int64 { return cmp.Or(t.last[r][c], t.p.made(c)) }

// A Seat is the reading state of a membership. Who has read nothing has joined and looked once.
type Seat struct {
	Posts, Roots                 int   // read
	ViewedAt                     int64 // the last time, in milliseconds since 1970
	UnreadMentions, UnreadInRoot int
}

// Seat returns how far the k-th member of channel c has read.
func (t *Totals) Seat(c, k int) Seat {
	r := t.p.ReadTo(c, k)
	u := unread{}
	if r != ReadAll {
		u = t.who[seat{int32(c), int32(t.p.Member(c, k))}]
		if u.posted[r] {
			r, u = ReadAll, unread{}
		}
	}
	return Seat{
		Posts:          int(t.count[r][c]),
		Roots:          int(t.roots[r][c]),
		ViewedAt:       t.lastAt(r, c),
		UnreadMentions: int(u.mentions[r]),
		UnreadInRoot:   int(u.roots[r]),
	}
}
