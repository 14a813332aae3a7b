package mattermost

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"plimsoll/dialect/mattermost/api"
)

const (
	ringPosts = 200 // newest posts that are kept of a channel
	seenPosts = 60  // of these, the posts that a person sees in a channel that it has loaded

	// mostKnown bounds the accounts of a directory, and its channels: a hostile server names any
	// number. Accounts beyond are nobody's, and channels beyond are nowhere.
	mostKnown = 1 << 19
	// longestName bounds a name, in bytes; servers allow 64.
	longestName = 64
	// longestTag bounds the tag of a picture, in bytes; servers send the time of its last change,
	// or a digest.
	longestTag = 128
)

// A directory holds the persons' knowledge of the server in one run, once for all of a process:
// accounts, channels and the newest posts of each. A person keeps indices, pointers and bitmaps
// into it. It is safe for concurrent use. Nothing in it depends on who came first except the
// numbers of accounts, which therefore may not influence choices.
type directory struct {
	most     int // accounts, and channels
	mu       sync.RWMutex
	users    []account
	userOf   map[api.ID]uint32
	byName   map[string]uint32
	channels map[api.ID]*channel
}

// account holds the known facts about a user of the server.
type account struct {
	id   api.ID
	name string // "" until a profile was read
	tag  string // of its picture; "" until that was read
}

// channel is one channel with its newest posts.
type channel struct {
	id      api.ID
	key     string // id, for calls
	kind    byte   // O open, P private, D direct, G group
	team    api.ID // none for D and G
	name    string
	people  string       // of a group channel, the names of its users
	members atomic.Int32 // in the last answer; 0 before the first

	mu    sync.RWMutex
	posts []post // by creation, newest last
}

// post holds the known facts about a post.
type post struct {
	id, root api.ID // root is none for a root post
	author   uint32 // index in the directory
	createAt int64  // server time, Unix ms
	flags    api.PostFlags
}

// thread returns the root of the thread that a reply to the post is in.
func (p *post) thread() api.ID {
	if p.root.None() {
		return p.id
	}
	return p.root
}

func newDirectory() *directory {
	return &directory{most: mostKnown, userOf: map[api.ID]uint32{}, byName: map[string]uint32{},
		channels: map[api.ID]*channel{}}
}

// user returns the number of an account, a new one at its first occurrence. Accounts without room
// share one number, which is no account's.
func (d *directory) user(id api.ID) uint32 {
	d.mu.RLock()
	n, ok := d.userOf[id]
	d.mu.RUnlock()
	if ok {
		return n
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok = d.userOf[id]; !ok {
		if n = uint32(len(d.users)); len(d.users) >= d.most {
			return n
		}
		d.users = append(d.users, account{id: id})
		d.userOf[id] = n
	}
	return n
}

// account returns the account with this number.
func (d *directory) account(n uint32) account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if int(n) >= len(d.users) {
		return account{}
	}
	return d.users[n]
}

// nameOf returns the name of an account; "" until a profile was read.
func (d *directory) nameOf(id api.ID) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if n, ok := d.userOf[id]; ok {
		return d.users[n].name
	}
	return ""
}

// profile remembers an account's name and returns its number.
func (d *directory) profile(id api.ID, name string) uint32 {
	n := d.user(id)
	if len(name) > longestName || d.account(n).name == name {
		return n
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if int(n) < len(d.users) {
		if old := d.users[n].name; d.byName[old] == n {
			delete(d.byName, old)
		}
		d.users[n].name = name
		d.byName[name] = n
	}
	return n
}

// named returns the number of the account of that name, if its profile was ever read.
func (d *directory) named(name string) (n uint32, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	n, ok = d.byName[name]
	return n, ok
}

// tag remembers the tag of an account's picture. The picture of a longer one is read again, as if
// it had none.
func (d *directory) tag(n uint32, tag string) {
	if len(tag) > longestTag {
		tag = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if int(n) < len(d.users) {
		d.users[n].tag = tag
	}
}

// known returns a channel, or nil if it is not in the directory.
func (d *directory) known(id api.ID) *channel {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.channels[id]
}

// channel returns the channel that c describes, and remembers it if there is room.
func (d *directory) channel(c api.Channel) *channel {
	id := api.ParseID(c.ID)
	if ch := d.known(id); ch != nil {
		return ch
	}
	ch := &channel{
		id: id, key: id.String(), team: api.ParseID(c.TeamID), kind: 'O',
		name:   strings.Clone(c.Name[:min(len(c.Name), longestName)]),
		people: strings.Clone(c.People[:min(len(c.People), longestName)]),
	}
	if c.Type != "" {
		ch.kind = c.Type[0]
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := d.channels[id]; old != nil {
		return old
	}
	if len(d.channels) < d.most {
		d.channels[id] = ch
	}
	return ch
}

// see remembers a post of a channel as it was read or announced. Only the newest are kept.
func (d *directory) see(ch *channel, s api.Seen) {
	ch.add(post{id: s.ID, root: s.RootID, author: d.user(s.UserID), createAt: s.CreateAt,
		flags: s.Flags})
}

func byCreation(a, b post) int {
	return cmp.Or(cmp.Compare(a.createAt, b.createAt), slices.Compare(a.id[:], b.id[:]))
}

// add puts a post into its place. A post that is there already gets the traits that are new.
func (ch *channel) add(p post) {
	ch.mu.RLock()
	i, have := slices.BinarySearchFunc(ch.posts, p, byCreation)
	same := have && ch.posts[i].flags|p.flags == ch.posts[i].flags
	old := !have && i == 0 && len(ch.posts) == ringPosts
	ch.mu.RUnlock()
	if same || old {
		return
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	i, have = slices.BinarySearchFunc(ch.posts, p, byCreation)
	switch {
	case have:
		ch.posts[i].flags |= p.flags
	case len(ch.posts) < ringPosts:
		ch.posts = slices.Insert(ch.posts, i, p)
	case i > 0:
		copy(ch.posts, ch.posts[1:i])
		ch.posts[i-1] = p
	}
	if !p.root.None() {
		for k := range ch.posts {
			if ch.posts[k].id == p.root {
				ch.posts[k].flags |= api.PostHasReplies
			}
		}
	}
}

// forget removes a post, and its replies if it is a root. Every member gets the event of a
// deletion; all except the first find nothing to remove.
func (ch *channel) forget(id api.ID) {
	gone := func(p post) bool { return p.id == id || p.root == id }
	ch.mu.RLock()
	have := slices.ContainsFunc(ch.posts, gone)
	ch.mu.RUnlock()
	if !have {
		return
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.posts = slices.DeleteFunc(ch.posts, gone)
}

// pick chooses one of the posts that a person sees and keep (nil: all) accepts; rank draws the
// place, 0 being the newest, among n. It draws exactly once if there are posts to choose from.
func (ch *channel) pick(rank func(n int) int, keep func(*post) bool) (post, bool) {
	ch.mu.RLock()
	defer ch.mu.RUnlock()
	posts := ch.posts[max(0, len(ch.posts)-seenPosts):]
	n := 0
	for i := range posts {
		if keep == nil || keep(&posts[i]) {
			n++
		}
	}
	if n == 0 {
		return post{}, false
	}
	k := rank(n)
	for i := range slices.Backward(posts) {
		if keep != nil && !keep(&posts[i]) {
			continue
		}
		if k--; k < 0 {
			return posts[i], true
		}
	}
	return post{}, false
}

// oldest returns the oldest post that a person sees, the anchor of scrolling.
func (ch *channel) oldest() (post, bool) {
	ch.mu.RLock()
	defer ch.mu.RUnlock()
	if len(ch.posts) == 0 {
		return post{}, false
	}
	return ch.posts[max(0, len(ch.posts)-seenPosts)], true
}

func hasPost(posts []api.Seen, id api.ID) bool {
	return slices.ContainsFunc(posts, func(p api.Seen) bool { return p.ID == id })
}

func hasChannel(channels []api.Channel, id string) bool {
	return slices.ContainsFunc(channels, func(c api.Channel) bool { return c.ID == id })
}
