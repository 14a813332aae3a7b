package mattermost

import (
	"context"
	"fmt"
	"time"
)

// channelActions are those by which a person moves around.
var channelActions = []action{
	{name: "switch_channel", weight: 6.5219, do: (*person).switchChannel, prove: proveSwitchChannel},
	{name: "scroll_channel", weight: 1.9873, do: (*person).scrollChannel, prove: proveScrollChannel},
	{name: "unread_check", weight: 1, do: (*person).unreadCheck, prove: proveUnreadCheck},
}

// switchChannel goes to another channel of the team.
func (a *person) switchChannel(ctx context.Context) error {
	k, ok := a.otherPlace(a.inTeam)
	if !ok {
		return skipNoChannel
	}
	return a.enter(ctx, k)
}

// otherPlace chooses one of the places that keep accepts, except the current one, with one draw.
func (a *person) otherPlace(keep func(place) bool) (int, bool) {
	n := 0
	for k, p := range a.places {
		if k != a.current && keep(p) {
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	at := a.pick.IntN(n)
	for k, p := range a.places {
		if k != a.current && keep(p) {
			if at--; at < 0 {
				return k, true
			}
		}
	}
	return 0, false
}

// channel returns the current channel, or nil before the first.
func (a *person) channel() *channel {
	if a.current < 0 {
		return nil
	}
	return a.places[a.current].ch
}

// somewhere makes sure that there is a current channel.
func (a *person) somewhere(ctx context.Context) error {
	if a.current >= 0 {
		return nil
	}
	return a.switchChannel(ctx)
}

// enter makes a channel the current one and reads it.
func (a *person) enter(ctx context.Context, k int) error {
	prev := ""
	if a.current >= 0 {
		from := &a.places[a.current]
		prev = from.ch.id.String()
		seen, err := a.c.ViewChannel(ctx, a.id, prev, "")
		if err != nil {
			return err
		}
		from.seen = max(from.seen, seen)
	}
	if err := a.load(ctx, k); err != nil {
		return err
	}
	a.current, a.anchor = k, ID{}
	ch := a.places[k].ch
	members, err := a.c.ChannelStats(ctx, ch.id.String())
	if err != nil {
		return err
	}
	ch.members.Store(int32(members))
	seen, err := a.c.ViewChannel(ctx, a.id, ch.id.String(), prev)
	if err == nil {
		a.places[k].seen = max(a.places[k].seen, seen)
	}
	return err
}

// load reads the posts of a place that the person does not have yet.
func (a *person) load(ctx context.Context, k int) error {
	p := &a.places[k]
	id := p.ch.id.String()
	var posts []Seen
	var err error
	if p.loaded && p.seen > 0 {
		posts, err = a.c.PostsSince(ctx, id, p.seen)
	} else {
		posts, err = a.c.PostsAroundUnread(ctx, a.id, id, pageOf, pageOf)
	}
	if err != nil {
		return err
	}
	p.loaded = true
	a.learn(p.ch, posts)
	return a.meet(ctx, posts)
}

// learn remembers posts that were read.
func (a *person) learn(ch *channel, posts []Seen) {
	for _, p := range posts {
		if p.Deleted {
			ch.forget(p.ID)
		} else {
			a.b.dir.see(ch, p)
		}
	}
}

// meet asks for what the client does not know about the authors of posts.
func (a *person) meet(ctx context.Context, posts []Seen) error {
	var ids []string
	for _, p := range posts {
		n := a.b.dir.user(p.UserID)
		if p.UserID.None() || n == a.self || a.profiles.has(n) {
			continue
		}
		a.profiles.add(n)
		a.statuses.add(n)
		ids = append(ids, p.UserID.String())
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

// scrollChannel reads one to five pages backwards, each from where the one before ended, with pauses to look at them.
func (a *person) scrollChannel(ctx context.Context) error {
	pages := 1 + a.choice.IntN(5)
	if err := a.somewhere(ctx); err != nil {
		return err
	}
	ch := a.channel()
	if a.anchor.None() {
		p, ok := ch.oldest()
		if !ok {
			return skipNoPost
		}
		a.anchor = p.id
	}
	for i := range pages {
		posts, err := a.c.PostsBefore(ctx, ch.id.String(), a.anchor.String(), pageOf)
		if err != nil {
			return err
		}
		if err := a.meet(ctx, posts); err != nil {
			return err
		}
		if len(posts) == 0 {
			return nil // the beginning of the channel
		}
		a.anchor = posts[len(posts)-1].ID
		if i+1 == pages {
			break // the pause after the last page is think time
		}
		if err := a.u.Pause(ctx, time.Duration(1+a.choice.IntN(10))*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// unreadCheck is what the client does to show its unread counts.
func (a *person) unreadCheck(ctx context.Context) error {
	if err := a.loadPlaces(ctx); err != nil {
		return err
	}
	if _, err := a.c.TeamChannelMembers(ctx, a.id, a.team); err != nil {
		return err
	}
	if a.current < 0 {
		return nil
	}
	seen, err := a.c.ViewChannel(ctx, a.id, a.channel().id.String(), "")
	if err == nil {
		a.places[a.current].seen = max(a.places[a.current].seen, seen)
	}
	return err
}

// proveSwitchChannel shows that the channel that was entered counts as read afterwards, and another than before is current.
func proveSwitchChannel(ctx context.Context, s *stage) error {
	a := s.actor
	for k, p := range a.places { // something unread everywhere
		if k != a.current && a.inTeam(p) {
			if _, err := s.witness.c.Post(ctx, Draft{ChannelID: p.ch.id.String(), Message: "unread"}); err != nil {
				return err
			}
		}
	}
	before := a.channel()
	if err := s.act(ctx); err != nil {
		return err
	}
	if a.channel() == before {
		return fmt.Errorf("the person is in the same channel as before")
	}
	return s.allRead(ctx, a.channel())
}

// proveUnreadCheck shows that a post that came into the current channel counts as read afterwards.
func proveUnreadCheck(ctx context.Context, s *stage) error {
	ch := s.actor.channel()
	if _, err := s.witness.c.Post(ctx, Draft{ChannelID: ch.id.String(), Message: "unread"}); err != nil {
		return err
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	return s.allRead(ctx, ch)
}

// proveScrollChannel shows that the person came to posts older than those it had, which another client sees there, too.
func proveScrollChannel(ctx context.Context, s *stage) error {
	ch := s.actor.channel()
	for range seenPosts + 2*pageOf {
		if _, err := s.witness.c.Post(ctx, Draft{ChannelID: ch.id.String(), Message: "history"}); err != nil {
			return err
		}
	}
	if err := s.actor.enter(ctx, s.actor.current); err != nil {
		return err
	}
	from, ok := ch.oldest()
	if !ok {
		return fmt.Errorf("the channel has no posts")
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	older, err := s.witness.c.PostsBefore(ctx, ch.id.String(), from.id.String(), 200)
	if err != nil {
		return err
	}
	for i, p := range older {
		if p.ID == s.actor.anchor {
			if (i+1)%pageOf != 0 && i+1 != len(older) {
				return fmt.Errorf("after %d posts, which is no page", i+1)
			}
			return nil
		}
	}
	return fmt.Errorf("the post that was scrolled to does not lie before post %s", from.id)
}
