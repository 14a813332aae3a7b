package mattermost

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"time"
)

// switchChannel goes to another channel.
func (a *person) switchChannel(ctx context.Context) error {
	n := len(a.places)
	if n == 1 {
		return a.enter(ctx, 0)
	}
	k := a.u.Pick.IntN(n - 1)
	if k >= a.current {
		k++
	}
	return a.enter(ctx, k)
}

// enter makes a channel the current one and reads it.
func (a *person) enter(ctx context.Context, k int) error {
	prev := ""
	if a.current >= 0 {
		prev = a.places[a.current].id
		if seen, err := a.c.ViewChannel(ctx, a.id, prev, ""); err != nil {
			return err
		} else if seen > 0 {
			a.places[a.current].seen = seen
		}
	}
	p := &a.places[k]
	var posts []Seen
	var err error
	if p.loaded && p.seen > 0 {
		posts, err = a.c.PostsSince(ctx, p.id, p.seen)
	} else {
		posts, err = a.c.PostsAroundUnread(ctx, a.id, p.id, pageOf, pageOf)
	}
	if err != nil {
		return err
	}
	p.loaded = true
	a.mu.Lock()
	a.current = k
	a.posts, a.oldest = a.posts[:0], ""
	a.mu.Unlock()
	a.keep(posts)
	if err := a.meet(ctx, posts); err != nil {
		return err
	}
	if _, err := a.c.ChannelStats(ctx, p.id); err != nil {
		return err
	}
	seen, err := a.c.ViewChannel(ctx, a.id, p.id, prev)
	if err == nil {
		p.seen = max(p.seen, seen)
	}
	return err
}

// keep remembers posts of the current channel that were read, newest first.
func (a *person) keep(posts []Seen) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range slices.Backward(posts) {
		a.remember(p)
	}
	if len(posts) > 0 {
		a.oldest = posts[len(posts)-1].ID
	}
}

// remember keeps one post of the current channel. The lock is held.
func (a *person) remember(p Seen) {
	if slices.ContainsFunc(a.posts, func(q Seen) bool { return q.ID == p.ID }) {
		return
	}
	if len(a.posts) >= mostSeen {
		a.posts = append(a.posts[:0], a.posts[1:]...)
	}
	if a.oldest == "" {
		a.oldest = p.ID
	}
	a.posts = append(a.posts, p)
}

// meet asks for what the client does not know about the authors of posts.
func (a *person) meet(ctx context.Context, posts []Seen) error {
	var ids []string
	for _, p := range posts {
		if p.UserID == "" || p.UserID == a.id {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(p.UserID))
		if sum := h.Sum64(); !slices.Contains(a.known, sum) {
			if len(a.known) < mostKnown {
				a.known = append(a.known, sum)
			} else {
				a.known[a.knownAt%mostKnown] = sum
			}
			a.knownAt++
			ids = append(ids, p.UserID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := a.c.Statuses(ctx, ids); err != nil {
		return err
	}
	_, err := a.c.UsersByID(ctx, ids)
	return err
}

// scroll reads one to five pages backwards, with pauses to look at them.
func (a *person) scroll(ctx context.Context) error {
	// All numbers are drawn, whatever the server will say: the stream must not depend on it.
	pages := 1 + a.u.Action.IntN(5)
	var pauses [5]time.Duration
	for i := range pauses {
		pauses[i] = time.Duration(1+a.u.Action.IntN(10)) * time.Second
	}
	if a.current < 0 {
		return a.switchChannel(ctx)
	}
	channel := a.places[a.current].id
	a.mu.Lock()
	anchor := a.oldest
	a.mu.Unlock()
	if anchor == "" {
		posts, err := a.c.Posts(ctx, channel, pageOf)
		if err != nil {
			return err
		}
		a.keep(posts)
		if len(posts) == 0 {
			return nil
		}
		anchor = posts[len(posts)-1].ID
	}
	for i := range pages {
		posts, err := a.c.PostsBefore(ctx, channel, anchor, pageOf)
		if err != nil {
			return err
		}
		if err := a.meet(ctx, posts); err != nil {
			return err
		}
		if len(posts) == 0 {
			return nil // the beginning of the channel
		}
		anchor = posts[len(posts)-1].ID
		a.mu.Lock()
		a.oldest = anchor
		a.mu.Unlock()
		if i+1 == pages {
			break // the pause after the last page is think time
		}
		if err := a.u.Pause(ctx, pauses[i]); err != nil {
			return err
		}
	}
	return nil
}

// unreadCheck is what the client does to show its unread counts.
func (a *person) unreadCheck(ctx context.Context) error {
	if _, err := a.c.TeamChannels(ctx, a.id, a.b.team); err != nil {
		return err
	}
	if _, err := a.c.TeamChannelMembers(ctx, a.id, a.b.team); err != nil {
		return err
	}
	if a.current < 0 {
		return nil
	}
	seen, err := a.c.ViewChannel(ctx, a.id, a.places[a.current].id, "")
	if err == nil && seen > 0 {
		a.places[a.current].seen = seen
	}
	return err
}

// typing tells the others that the person is typing. Without a WebSocket nobody is told: the loss was counted already.
func (a *person) typing(ctx context.Context, root string) error {
	sock := a.socket()
	if sock == nil || a.current < 0 {
		return nil
	}
	return a.c.Typing(ctx, sock, a.places[a.current].id, root)
}

// post writes into the current channel, in reply to something if there is anything.
func (a *person) post(ctx context.Context, reply bool) error {
	words := rootWords
	if reply {
		words = replyWords
	}
	text := message(a.u.Content, words, a.b.set.users, len(a.b.ids))
	if a.current < 0 {
		return a.switchChannel(ctx)
	}
	d := Draft{ChannelID: a.places[a.current].id, Message: text}
	if reply {
		if p, ok := a.anyPost(); ok {
			if d.RootID = p.RootID; d.RootID == "" {
				d.RootID = p.ID
			}
		}
	}
	if err := a.typing(ctx, d.RootID); err != nil {
		if _, ok := errors.AsType[*OpError](err); !ok {
			return err
		} // the message is sent all the same
	}
	p, err := a.c.Post(ctx, d)
	if err != nil {
		return err
	}
	if a.deliveries != nil {
		a.deliveries.Sent(p.ID, p.Sent)
	}
	a.mu.Lock()
	a.remember(Seen{ID: p.ID, RootID: d.RootID, UserID: a.id})
	a.mu.Unlock()
	return nil
}

// react adds a reaction to a post of the current channel; where there is none, the person looks elsewhere.
func (a *person) react(ctx context.Context) error {
	emoji := emojis[a.u.Content.IntN(len(emojis))]
	p, ok := a.anyPost()
	if !ok {
		return a.switchChannel(ctx)
	}
	return a.c.React(ctx, a.id, p.ID, emoji)
}

// anyPost picks one of the remembered posts of the current channel.
func (a *person) anyPost() (Seen, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.posts) == 0 {
		return Seen{}, false
	}
	return a.posts[a.u.Pick.IntN(len(a.posts))], true
}
