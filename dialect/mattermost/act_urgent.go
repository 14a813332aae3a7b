package mattermost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// urgentActions change or answer posts that are there, or write ones that ask for more than to be read.
var urgentActions = []action{
	{"edit_post", 0.04, always, (*person).editPost, proveEditPost},
	{"delete_post", 0.0049, always, (*person).deletePost, proveDeletePost},
	{"create_post_reminder", 0.0005, hasReminders, (*person).createReminder, proveCreateReminder},
	{"create_ack_post", 0.0001, hasAcks, (*person).createAckPost, proveCreateAckPost},
	{"ack_to_post", 0.0001, hasAcks, (*person).ackToPost, proveAckToPost},
	{"create_persistent_notification_post", 0.0001, hasPersistent, (*person).createPersistentPost, proveCreatePersistentPost},
}

// The reasons.
const (
	errNoOwnPost skipError = "no post of the person's own to choose from"
	errNoAckPost skipError = "no post that wants an acknowledgement"
)

const mostAcked = 16 // acknowledgements that a person remembers

// anyPlacePost chooses a post that keep accepts: in the current channel, else in another one that was read.
func (a *person) anyPlacePost(keep func(*post) bool) (*channel, post, bool) {
	if ch := a.channel(); ch != nil {
		if p, ok := a.anyPost(ch, keep); ok {
			return ch, p, true
		}
	}
	n := len(a.places)
	for i, from := 0, a.pick.IntN(max(1, n)); i < n; i++ {
		pl := &a.places[(from+i)%n]
		if pl.loaded {
			if p, ok := a.anyPost(pl.ch, keep); ok {
				return pl.ch, p, true
			}
		}
	}
	return nil, post{}, false
}

// isOwn accepts posts that the person wrote. An account that was there before may be somebody's: of those, the posts of
// the run alone.
func (a *person) isOwn(p *post) bool {
	return isUserPost(p) && p.author == a.self && (a.b.roster == nil || p.flags&api.PostOfRun != 0)
}

// editPost edits one of the person's own posts.
func (a *person) editPost(ctx context.Context) error {
	c := a.compose(rootWords)
	_, p, ok := a.anyPlacePost(a.isOwn)
	if !ok {
		return errNoOwnPost
	}
	return a.c.EditPost(ctx, p.id.String(), c.plain())
}

// deletePost deletes one of the person's own posts without a known reply. A reply that is on its way is deleted with
// it.
func (a *person) deletePost(ctx context.Context) error {
	ch, p, ok := a.anyPlacePost(func(p *post) bool { return a.isOwn(p) && p.flags&api.PostHasReplies == 0 })
	if !ok {
		return errNoOwnPost
	}
	a.ledger.Deleted(ch.id.String(), p.id.String())
	ch.forget(p.id) // before others choose it
	return a.c.DeletePost(ctx, p.id.String())
}

// createReminder requests a reminder of a post in ten minutes.
func (a *person) createReminder(ctx context.Context) error {
	_, p, ok := a.anyPlacePost(isUserPost)
	if !ok {
		return errNoPost
	}
	return a.c.Remind(ctx, a.id, p.id.String(), time.Now().Add(10*time.Minute))
}

// createAckPost writes an urgent post that requests an acknowledgement of its readers.
func (a *person) createAckPost(ctx context.Context) error {
	c := a.compose(rootWords)
	if err := a.somewhere(ctx); err != nil {
		return err
	}
	return a.writeHere(ctx, c, "", api.Priority{Urgent: true, WantsAck: true})
}

// ackToPost acknowledges a post whose author has requested it.
func (a *person) ackToPost(ctx context.Context) error {
	own := a.own()
	_, p, ok := a.anyPlacePost(func(p *post) bool {
		return p.flags&api.PostWantsAck != 0 && p.author != a.self && !slices.Contains(own.acked, p.id)
	})
	if !ok {
		return errNoAckPost
	}
	if err := a.c.Acknowledge(ctx, a.id, p.id.String()); err != nil {
		return err
	}
	if len(own.acked) == mostAcked {
		own.acked = slices.Delete(own.acked, 0, 1)
	}
	own.acked = append(own.acked, p.id)
	return nil
}

// createPersistentPost writes an urgent post that goes on notifying another member of the channel.
func (a *person) createPersistentPost(ctx context.Context) error {
	c := a.compose(rootWords)
	c.mention = ""
	if err := a.somewhere(ctx); err != nil {
		return err
	}
	name, err := a.someoneIn(ctx, a.channel())
	if err != nil {
		return err
	}
	return a.writeHere(ctx, c, " @"+name, api.Priority{Urgent: true, Persistent: true})
}

// writeHere writes a root post in the current channel.
func (a *person) writeHere(ctx context.Context, c composed, end string, p api.Priority) error {
	ch := a.channel()
	d, err := a.write(ctx, ch, api.ID{}, c)
	if err != nil {
		return err
	}
	d.Message += end
	d.Priority = p
	return a.post(ctx, ch, d)
}

// someoneIn returns the name of another member of a channel: of one who wrote there and whose profile the person has, else of one that the server
// names.
func (a *person) someoneIn(ctx context.Context, ch *channel) (string, error) {
	a.mu.Lock()
	met := slices.Clone(a.profiles)
	a.mu.Unlock()
	if p, ok := a.anyPost(ch, func(p *post) bool {
		return isUserPost(p) && p.author != a.self && met.has(p.author) && a.b.isPerson(a.b.dir.account(p.author).name)
	}); ok {
		return a.b.dir.account(p.author).name, nil
	}
	people, _, err := a.c.AutocompleteUsers(ctx, a.team, ch.id.String(), "")
	if err != nil {
		return "", err
	}
	a.know(people)
	people = slices.DeleteFunc(people, func(p api.Profile) bool { return p.ID == a.id || p.Bot })
	if len(people) == 0 {
		return "", errNoUser
	}
	return people[a.pick.IntN(len(people))].Username, nil
}

// proveEditPost shows the witness another text in the actor's only post.
func proveEditPost(ctx context.Context, s *stage) error {
	id, err := s.onlyPost(ctx, s.actor, api.Draft{Message: "first thoughts"})
	if err != nil {
		return err
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	got, err := s.witness.c.PostText(ctx, id)
	return disproved(err, got == "first thoughts" || got == "", "the text is still %q", got)
}

// proveDeletePost shows that the witness does not find the actor's only post any more.
func proveDeletePost(ctx context.Context, s *stage) error {
	id, err := s.onlyPost(ctx, s.actor, api.Draft{Message: "a slip"})
	if err != nil {
		return err
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	posts, err := s.witness.c.Posts(ctx, s.actor.here(), seenPosts)
	return disproved(err, slices.ContainsFunc(posts, func(p api.Seen) bool { return p.ID.String() == id }),
		"the post is still there")
}

// proveCreateReminder shows another client of the same person the confirmation that only that person gets.
func proveCreateReminder(ctx context.Context, s *stage) error {
	if _, err := s.onlyPost(ctx, s.witness, api.Draft{Message: "for later"}); err != nil {
		return err
	}
	sock, err := s.actor.c.Connect(ctx)
	if err != nil {
		return err
	}
	defer sock.Close()
	if err := s.act(ctx); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		ev, err := sock.Next(wait)
		if err != nil {
			return fmt.Errorf("no confirmation: %w", err)
		}
		if ev.Kind == api.EventEphemeral {
			return nil
		}
	}
}

// proveCreateAckPost shows the witness an urgent post of the actor that requests an
// acknowledgement.
func proveCreateAckPost(ctx context.Context, s *stage) error {
	return s.provePriority(ctx, api.Priority{Urgent: true, WantsAck: true}, "")
}

// proveCreatePersistentPost shows the witness an urgent post with persistent notifications, and a
// mention.
func proveCreatePersistentPost(ctx context.Context, s *stage) error {
	return s.provePriority(ctx, api.Priority{Urgent: true, Persistent: true}, "@"+s.b.set.users)
}

func (s *stage) provePriority(ctx context.Context, want api.Priority, contains string) error {
	ch, err := s.emptyChannel(ctx)
	if err != nil {
		return err
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	posts, err := s.witness.c.Posts(ctx, ch.id.String(), pageOf)
	if err != nil {
		return err
	}
	if len(posts) == 0 || posts[0].UserID.String() != s.actor.id {
		return fmt.Errorf("the witness finds no new post of the person")
	}
	got, _, err := s.witness.c.PostPriority(ctx, posts[0].ID.String())
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the priority is %+v, want %+v", got, want)
	}
	text, err := s.witness.c.PostText(ctx, posts[0].ID.String())
	return disproved(err, !strings.Contains(text, contains), "the post does not mention anybody")
}

// proveAckToPost shows the witness, who wrote an urgent post, the actor's acknowledgement.
func proveAckToPost(ctx context.Context, s *stage) error {
	id, err := s.onlyPost(ctx, s.witness, api.Draft{Message: "please confirm", Priority: api.Priority{Urgent: true, WantsAck: true}})
	if err != nil {
		return err
	}
	if err := s.act(ctx); err != nil {
		return err
	}
	_, acks, err := s.witness.c.PostPriority(ctx, id)
	return disproved(err, !slices.Equal(acks, []string{s.actor.id}),
		"acknowledged by %v, want the person", acks)
}

// onlyPost brings actor and witness to a channel without posts by people, has one of them write there and shows it to
// the actor.
func (s *stage) onlyPost(ctx context.Context, author *person, d api.Draft) (id string, err error) {
	ch, err := s.emptyChannel(ctx)
	if err != nil {
		return "", err
	}
	d.ChannelID = ch.id.String()
	p, err := author.c.Post(ctx, d)
	if err != nil {
		return "", err
	}
	return p.ID, s.refresh(ctx)
}

// emptyChannel makes a channel, with actor and witness in it and nothing else, the current one of both.
func (s *stage) emptyChannel(ctx context.Context) (*channel, error) {
	s.rooms++
	made, err := s.admin.MakeChannel(ctx, s.b.team, fmt.Sprintf("verify-%x-%d", s.nonce, s.rooms), "O")
	if err != nil {
		return nil, err
	}
	id := made.ID
	var ch *channel
	for _, a := range []*person{s.actor, s.witness} {
		if err := s.admin.JoinChannel(ctx, id, a.id); err != nil {
			return nil, err
		}
		chs, err := a.c.TeamChannels(ctx, a.id, s.b.team, true)
		if err != nil {
			return nil, err
		}
		a.take(chs)
		if ch = s.b.dir.known(api.ParseID(id)); ch == nil {
			return nil, fmt.Errorf("the new channel is not among the person's")
		}
		if err := a.enter(ctx, a.place(ch)); err != nil {
			return nil, err
		}
	}
	return ch, nil
}
