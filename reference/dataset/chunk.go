package dataset

import (
	"strconv"
)

// chunkSize is the number of posts in each chunk but the last one. Threads do not leave their
// chunk.
const chunkSize = 1 << 16

// longEvery is the distance of the roots of long threads; a reply in longShare joins the one before
// it.
const (
	longEvery = 4096
	longShare = 20
)

// A Chunk is a stretch of posts in the order of their times, with all of their threads.
type Chunk struct {
	First int // number of the first post
	Posts []Post

	p     *Population
	after []int32 // of each reply and root: the next reply of the same thread, or -1
	last  []int32 // of each root: its last reply so far
}

// A Post is a post of a chunk.
type Post struct {
	At      int64 // milliseconds since 1970, growing
	Channel int32
	Author  int32 // user
	Root    int32 // index in the chunk of the root that this replies to, or -1
	Replies int32 // of a root
	Mention int32 // user that the text mentions, or -1
	Reacted bool  // it has reactions
	Files   uint8 // number of files
}

// Chunks returns how many chunks there are.
func (p *Population) Chunks() int { return (p.spec.Posts + chunkSize - 1) / chunkSize }

// Chunk computes chunk k into c, whose memory is used again.
func (p *Population) Chunk(k int, c *Chunk) {
	c.p, c.First = p, k*chunkSize
	n := min(chunkSize, p.spec.Posts-c.First)
	c.Posts = c.Posts[:0]
	c.after = c.after[:0]
	c.last = c.last[:0]
	for i := range n {
		r := newStream(p.spec.Seed, kindPost, uint64(c.First+i))
		r.next() // the clock takes it
		post := Post{At: p.clock.at(c.First + i), Root: -1, Mention: -1}
		if i%longEvery != 0 && r.chance(int(p.spec.Replies)) {
			to := i - 1 - r.zipf(i)
			if r.below(longShare) == 0 {
				to = i / longEvery * longEvery
			}
			if post.Root = int32(to); c.Posts[to].Root >= 0 {
				post.Root = c.Posts[to].Root
			}
			root := &c.Posts[post.Root]
			root.Replies++
			post.Channel = root.Channel
			c.after[c.last[post.Root]] = int32(i)
			c.last[post.Root] = int32(i)
		} else {
			post.Channel = int32(p.popular.draw(&r))
			if r.chance(int(p.spec.Files)) {
				post.Files = uint8(1 + r.below(2)*(1+r.below(2)))
			}
		}
		ch := &p.channels[post.Channel]
		post.Author = int32(p.member(ch, r.zipf(int(ch.size))))
		post.Reacted = r.chance(int(p.spec.Reacted))
		if r.below(10) == 0 {
			if post.Mention = int32(p.member(ch, r.zipf(int(ch.size)))); post.Mention == post.Author {
				post.Mention = -1
			}
		}
		c.Posts = append(c.Posts, post)
		c.after = append(c.after, -1)
		c.last = append(c.last, int32(i))
	}
}

// ID returns the identifier of the i-th post.
func (c *Chunk) ID(i int) ID { return newID(c.p.spec.Seed, kindPost, uint64(c.First+i)) }

// LastReply returns the index of a root's last reply, or of the root itself.
func (c *Chunk) LastReply(root int) int { return int(c.last[root]) }

// Thread calls f with the index of each reply to a root, in the order of their times.
func (c *Chunk) Thread(root int, f func(reply int)) {
	for i := c.after[root]; i >= 0; i = c.after[i] {
		f(int(i))
	}
}

// AppendText appends the text of the i-th post.
func (c *Chunk) AppendText(dst []byte, i int) []byte {
	post := &c.Posts[i]
	r := newStream(c.p.spec.Seed, kindText, uint64(c.First+i))
	most := 68
	if post.Root >= 0 {
		most = 46
	}
	dst = c.p.words.appendWords(dst, &r, 1+r.below(most))
	if post.Mention >= 0 {
		dst = append(dst, " @"...)
		dst = append(dst, c.p.UserName(int(post.Mention))...)
	}
	switch x := r.below(100); {
	case x < 10:
		dst = append(dst, ' ')
		dst = append(dst, links[r.below(len(links))]...)
	case x == 10 && i > 0: // as a client writes the address of a post on a server at its usual place
		dst = append(dst, " http://localhost:8065/"...)
		dst = append(dst, c.p.spec.Team...)
		dst = append(dst, "/pl/"...)
		id := c.ID(r.below(i))
		dst = append(dst, id[:]...)
	}
	if r.below(10) == 0 {
		dst = append(dst, " :"...)
		dst = append(dst, Emojis[r.below(len(Emojis))]...)
		dst = append(dst, ':')
	}
	return dst
}

// A Reaction is one of those to a post.
type Reaction struct {
	User  int
	Emoji string
	At    int64 // after the post's, and at most an hour later
}

// AppendReactions appends the reactions to the i-th post, all by different members, in the order of
// their times.
func (c *Chunk) AppendReactions(dst []Reaction, i int) []Reaction {
	post := &c.Posts[i]
	if !post.Reacted {
		return dst
	}
	r := newStream(c.p.spec.Seed, kindReaction, uint64(c.First+i))
	ch := &c.p.channels[post.Channel]
	n := 1 + r.zipf(min(int(ch.size), 12))
	first, emoji := r.zipf(int(ch.size)), r.zipf(len(Emojis))
	within := min(hourMillis, c.p.clock.end-1-post.At)
	for k := range n {
		if r.below(4) == 0 { // most take the first one's emoji
			emoji = r.zipf(len(Emojis))
		}
		at := post.At + within*int64(k+1)/int64(n+1)
		dst = append(dst, Reaction{
			User:  c.p.member(ch, (first+k)%int(ch.size)),
			Emoji: Emojis[emoji],
			At:    at,
		})
	}
	return dst
}

// UpdateAt returns when the i-th post was last touched: by itself, its last reply or its last
// reaction.
func (c *Chunk) UpdateAt(i int, reactions []Reaction) int64 {
	at := c.Posts[c.last[i]].At
	if c.Posts[i].Root >= 0 {
		at = c.Posts[i].At
	}
	if len(reactions) > 0 {
		at = max(at, reactions[len(reactions)-1].At)
	}
	return at
}

// A File is an attachment of a post. All files of a kind have the same content; see
// [FileKind.Content].
type File struct {
	ID   ID
	Kind FileKind
	Name string
}

// AppendFiles appends the files of the i-th post.
func (c *Chunk) AppendFiles(dst []File, i int) []File {
	need := int(c.Posts[i].Files)
	if need == 0 {
		return dst
	}
	n := uint64(c.First + i)
	r := newStream(c.p.spec.Seed, kindFile, n)
	// a coin for each kind in its order, as long as enough are left
	for left := len(FileKinds); need > 0; left-- {
		kind := FileKinds[len(FileKinds)-left]
		if left > need && r.below(2) == 0 {
			continue
		}
		need--
		name := c.p.words.word(r.zipf(words)) + "-" + strconv.Itoa(int(n)) + "." + string(kind)
		dst = append(dst, File{
			ID:   newID(c.p.spec.Seed, kindFile, n<<3|uint64(left)),
			Kind: kind,
			Name: name,
		})
	}
	return dst
}
