package mattermost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// urgentActions change or answer posts that are there, or write ones that ask for more than to be
// read.
var urgentActions = []action{
	{"edit_post", 0.04, always, editPost, proveEditPost, "patchPost updatePost", 1},
	{"delete_post", 0.0049, always, deletePost, proveDeletePost, "deletePost", 1},
	{"create_post_reminder", 0.0005, hasReminders, createReminder, proveCreateReminder,
		"setPostReminder", 1},
	{"create_ack_post", 0.0001, hasAcks, createAckPost, proveCreateAckPost, "", 0},
	{"ack_to_post", 0.0001, hasAcks, ackToPost, proveAckToPost, "acknowledgePost", 1},
	{"create_persistent_notification_post", 0.0001, hasPersistent, createPersistentPost,
		proveCreatePersistentPost,
		"", 0},
}

// The reasons.
const (
	errNoOwnPost skipError = "no post of the person's own to choose from"
	errNoAckPost skipError = "no post that wants an acknowledgement"
)

const mostAcked = 16 // acknowledgements that a person remembers

// anyPlacePost chooses a post that keep accepts: in the current channel, else in another one that
// was read.
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

// isOwn accepts posts that the person wrote. An account that was there before may be somebody's: of
// those, the posts of the run alone.
func (a *person) isOwn(p *post) bool {
	return isUserPost(p) && p.author == a.self && (!a.b.ofFile() || p.flags&api.PostOfRun != 0)
}

// editPost edits one of the person's own posts.
func editPost(a *act) error {
	c := a.compose(rootWords)
	_, p, ok := a.anyPlacePost(a.isOwn)
	if !ok {
		return errNoOwnPost
	}
	return a.c.EditPost(a, p.id.String(), c.plain())
}

// proveEditPost shows the witness another text in the actor's only post.
func proveEditPost(s *stage) {
	id := s.onlyPost(s.actor, api.Draft{Message: "first thoughts"})
	s.act()
	got := must(s.witness.c.PostText(s, id))
	disproved(got == "first thoughts" || got == "", "the text is still %q", got)
}

// deletePost deletes one of the person's own posts without a known reply. A reply that is on its
// way is deleted with it.
func deletePost(a *act) error {
	ch, p, ok := a.anyPlacePost(func(p *post) bool {
		return a.isOwn(p) && p.flags&api.PostHasReplies == 0
	})
	if !ok {
		return errNoOwnPost
	}
	a.ledger.Deleted(ch.key, p.id.String())
	ch.forget(p.id) // before others choose it
	return a.c.DeletePost(a, p.id.String())
}

// proveDeletePost shows that the witness does not find the actor's only post any more.
func proveDeletePost(s *stage) {
	id := s.onlyPost(s.actor, api.Draft{Message: "a slip"})
	s.act()
	posts := s.latest(s.actor.here(), seenPosts)
	disproved(hasPost(posts, api.ParseID(id)), "the post is still there")
}

// createReminder requests a reminder of a post in ten minutes.
func createReminder(a *act) error {
	_, p, ok := a.anyPlacePost(isUserPost)
	if !ok {
		return errNoPost
	}
	return a.c.Remind(a, a.id, p.id.String(), time.Now().Add(10*time.Minute))
}

// proveCreateReminder shows another client of the same person the confirmation that only that
// person gets.
func proveCreateReminder(s *stage) {
	s.onlyPost(s.witness, api.Draft{Message: "for later"})
	sock := must(s.actor.c.Connect(s))
	defer sock.Close()
	s.act()
	wait, cancel := context.WithTimeout(s, 10*time.Second)
	defer cancel()
	for {
		ev, err := sock.Next(wait)
		disproved(err != nil, "no confirmation: %w", err)
		if ev.Kind == api.EventEphemeral {
			return
		}
	}
}

// createAckPost writes an urgent post that requests an acknowledgement of its readers.
func createAckPost(a *act) error {
	c := a.compose(rootWords)
	if err := a.somewhere(); err != nil {
		return err
	}
	return a.writeHere(c, "", api.Priority{Urgent: true, WantsAck: true})
}

// proveCreateAckPost shows the witness an urgent post of the actor that requests an
// acknowledgement.
func proveCreateAckPost(s *stage) {
	s.provePriority(api.Priority{Urgent: true, WantsAck: true}, "")
}

// ackToPost acknowledges a post whose author has requested it.
func ackToPost(a *act) error {
	own := a.own()
	_, p, ok := a.anyPlacePost(func(p *post) bool {
		return p.flags&api.PostWantsAck != 0 && p.author != a.self &&
			!slices.Contains(own.acked, p.id)
	})
	if !ok {
		return errNoAckPost
	}
	if err := a.c.Acknowledge(a, a.id, p.id.String()); err != nil {
		return err
	}
	if len(own.acked) == mostAcked {
		own.acked = slices.Delete(own.acked, 0, 1)
	}
	own.acked = append(own.acked, p.id)
	return nil
}

// proveAckToPost shows the witness, who wrote an urgent post, the actor's acknowledgement.
func proveAckToPost(s *stage) {
	id := s.onlyPost(s.witness,
		api.Draft{Message: "please confirm", Priority: api.Priority{Urgent: true, WantsAck: true}})
	s.act()
	_, acks, err := s.witness.c.PostPriority(s, id)
	check(err)
	disproved(!slices.Equal(acks, []string{s.actor.id}),
		"acknowledged by %v, want the person", acks)
}

// createPersistentPost writes an urgent post that goes on notifying another member of the channel.
func createPersistentPost(a *act) error {
	c := a.compose(rootWords)
	c.mention = ""
	if err := a.somewhere(); err != nil {
		return err
	}
	name, err := a.someoneIn(a.channel())
	if err != nil {
		return err
	}
	return a.writeHere(c, " @"+name, api.Priority{Urgent: true, Persistent: true})
}

// proveCreatePersistentPost shows the witness an urgent post with persistent notifications, and a
// mention.
func proveCreatePersistentPost(s *stage) {
	s.provePriority(api.Priority{Urgent: true, Persistent: true}, "@"+s.b.set.users)
}

// writeHere writes a root post in the current channel.
func (a *act) writeHere(c composed, end string, p api.Priority) error {
	ch := a.channel()
	d, err := a.write(ch, api.ID{}, c)
	if err != nil {
		return err
	}
	d.Message += end
	d.Priority = p
	return a.post(ch, d)
}

// someoneIn returns the name of another member of a channel: of one who wrote there and whose
// profile the person has, else of a person that the server names.
func (a *act) someoneIn(ch *channel) (string, error) {
	a.mu.Lock()
	met := slices.Clone(a.profiles)
	a.mu.Unlock()
	if p, ok := a.anyPost(ch, func(p *post) bool {
		return isUserPost(p) && p.author != a.self && met.has(p.author) &&
			a.b.isPerson(a.b.dir.account(p.author).name)
	}); ok {
		return a.b.dir.account(p.author).name, nil
	}
	people, _, err := a.c.AutocompleteUsers(a, a.team, ch.key, "")
	if err != nil {
		return "", err
	}
	a.know(people)
	people = slices.DeleteFunc(people, func(p api.Profile) bool {
		return p.ID == a.id || p.Bot || !a.b.isPerson(p.Username)
	})
	if len(people) == 0 {
		return "", errNoUser
	}
	return one(a.pick, people).Username, nil
}

func (s *stage) provePriority(want api.Priority, contains string) {
	ch := s.emptyChannel()
	s.act()
	posts := s.latest(ch.key, pageOf)
	disproved(len(posts) == 0 || posts[0].UserID.String() != s.actor.id,
		"the witness finds no new post of the person")
	got, _, err := s.witness.c.PostPriority(s, posts[0].ID.String())
	check(err)
	disproved(got != want, "the priority is %+v, want %+v", got, want)
	text := must(s.witness.c.PostText(s, posts[0].ID.String()))
	disproved(!strings.Contains(text, contains), "the post does not mention anybody")
}

// onlyPost brings actor and witness to a channel without posts by people, has one of them write
// there and shows it to the actor.
func (s *stage) onlyPost(author *person, d api.Draft) (id string) {
	ch := s.emptyChannel()
	d.ChannelID = ch.key
	p := must(author.c.Post(s, d))
	s.refresh()
	return p.ID
}

// emptyChannel makes a channel, with actor and witness in it and nothing else, the current one of
// both.
func (s *stage) emptyChannel() (ch *channel) {
	s.rooms++
	name := fmt.Sprintf("verify-%x-%d", s.nonce, s.rooms)
	id := must(s.admin.MakeChannel(s, s.b.Team, name, "O")).ID
	for _, a := range s.persons() {
		check(s.admin.JoinChannel(s, id, a.id))
		a.take(must(a.c.TeamChannels(s, a.id, s.b.Team, true)))
		ch = s.b.dir.known(api.ParseID(id))
		disproved(ch == nil, "the new channel is not among the person's")
		check((&act{s.Context, a}).enter(a.place(ch)))
	}
	return ch
}
