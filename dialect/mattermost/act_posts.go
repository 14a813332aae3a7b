package mattermost

import (
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// postActions write, or react.
var postActions = []action{
	{"create_post", 1, always, createPost, proveCreatePost, "createPost", 1},
	{"add_reaction", 0.1306, always, addReaction, proveAddReaction, "saveReaction", 1},
}

// replyShare is the share of replies among posts in production, as load-test-ng has it.
const replyShare = 0.18

// typing notifies the others that the person is typing, unless they are too many for the server
// (MaxNotificationsPerChannel). Without a WebSocket no notification is sent: the loss was counted
// already.
func (a *act) typing(ch *channel, root api.ID) error {
	sock := a.socket()
	if sock == nil || int(ch.members.Load()) > a.b.MostNotified {
		return nil
	}
	err := a.c.Typing(a, sock, ch.key, root.String())
	if answered(err) {
		return nil // the message is written all the same
	}
	return err
}

// createPost writes into the current channel, 18 % of the time in reply to something if there is
// anything.
func createPost(a *act) error {
	reply := a.choice.Float64() < replyShare
	words := rootWords
	if reply {
		words = replyWords
	}
	c := a.compose(words)
	urgent := a.content.Float64() < urgentShare && a.b.lacks(hasPriority) == ""
	if err := a.somewhere(); err != nil {
		return err
	}
	ch := a.channel()
	root := a.threadOf(ch, reply)
	d, err := a.write(ch, root, c)
	if err != nil {
		return err
	}
	d.Priority.Urgent = urgent && root.None()
	return a.post(ch, d)
}

// proveCreatePost shows that a new post of the person stands in the channel, and that one in 5.6 is
// a reply.
func proveCreatePost(s *stage) {
	const times = 30
	ch := s.actor.channel()
	replies := 0
	for range times {
		before := s.latest(ch.key, pageOf)
		s.act()
		after := s.latest(ch.key, pageOf)
		disproved(len(after) == 0 || after[0].UserID.String() != s.actor.id ||
			hasPost(before, after[0].ID),
			"another client finds no new post of the person")
		if !after[0].RootID.None() {
			replies++
		}
	}
	disproved(replies == 0 || replies == times, "%d of %d posts are replies", replies, times)
}

// pendingID returns an identifier for the person's next post, as the web app makes it. It names the
// present millisecond, or a later one than the post before: two posts in one millisecond are two.
func (a *person) pendingID() string {
	a.named = max(time.Now().UnixMilli(), a.named+1)
	return api.PendingID(a.id, a.named)
}

// post makes a post in a channel and remembers it.
func (a *act) post(ch *channel, d api.Draft) error {
	d.Pending = a.pendingID()
	_, err := a.send(ch, d)
	return err
}

// send is post with an identifier that the caller has given the post.
func (a *act) send(ch *channel, d api.Draft) (api.Posted, error) {
	d.ChannelID = ch.key
	a.ledger.Sending(d.ChannelID, d.Pending, a.u.ID)
	p, err := a.c.Post(a, d)
	record(a.ledger, &d, p, err, workload.Message{Author: a.u.ID, Reader: a.reader(ch)})
	if err != nil {
		return p, err
	}
	seen := api.Seen{
		ID:       api.ParseID(p.ID),
		RootID:   api.ParseID(d.RootID),
		UserID:   api.ParseID(a.id),
		CreateAt: p.CreateAt,
		Flags:    api.PostOfRun,
	}
	if d.Priority.WantsAck {
		seen.Flags |= api.PostWantsAck
	}
	a.b.dir.see(ch, seen)
	return p, a.dropDraft(ch, api.ParseID(d.RootID))
}

// record writes the outcome of a post to the ledger. m has the post's author, and its reader for
// the audit.
func record(l *workload.Ledger, d *api.Draft, p api.Posted, err error, m workload.Message) {
	m.ID = p.ID
	m.Channel = d.ChannelID
	m.Root = d.RootID
	m.Pending = d.Pending
	m.Sent = p.Sent
	m.Acked = p.Acked
	switch {
	case err == nil:
		l.Acked(m)
	case api.Unnamed(err):
		l.Acked(workload.Message{Channel: d.ChannelID, Pending: d.Pending})
	case api.Declined(err):
		l.Refused(d.ChannelID, d.Pending)
	default: // its event may come, or have come
		l.Unanswered(m)
	}
}

// addReaction adds a reaction to a post.
func addReaction(a *act) error {
	emoji := one(a.content, emojis)
	p, err := a.somePost(isUserPost)
	if err != nil {
		return err
	}
	return a.c.React(a, a.id, p.id.String(), emoji)
}

// proveAddReaction shows that a post has a reaction of the person that it did not have.
func proveAddReaction(s *stage) {
	ch := s.actor.channel()
	s.say(ch.key, "what do you think?")
	count := func() (n int) {
		for _, p := range s.latest(ch.key, seenPosts) {
			for _, u := range must(s.witness.c.Reactions(s, p.ID.String())) {
				if u == s.actor.id {
					n++
				}
			}
		}
		return n
	}
	s.refresh()
	before := count()
	for range 3 { // one may be a reaction that is there already
		s.act()
		if count() == before+1 {
			return
		}
	}
	disproved(true, "still %d reactions of the person", before)
}

// mostLooks bounds the channels that a person enters in search of a post.
const mostLooks = 3

// somePost chooses a post that keep accepts: of the current channel, else of a channel with such a
// post, else of channels that it has not read. The person enters them.
func (a *act) somePost(keep func(*post) bool) (post, error) {
	if err := a.somewhere(); err != nil {
		return post{}, err
	}
	if p, ok := a.anyPost(a.channel(), keep); ok {
		return p, nil
	}
	newest := func(int) int { return 0 }
	for range mostLooks {
		k, ok := a.otherPlace(func(p place) bool {
			_, ok := p.ch.pick(newest, keep)
			return ok && (a.inTeam(p) || isDirect(p))
		})
		if !ok {
			k, ok = a.otherPlace(func(p place) bool { return !p.loaded && a.inTeam(p) })
		}
		if !ok {
			break
		}
		if err := a.enter(k); err != nil {
			return post{}, err
		}
		if p, ok := a.anyPost(a.channel(), keep); ok {
			return p, nil
		}
	}
	return post{}, errNoPost
}

// isUserPost accepts posts that people wrote.
func isUserPost(p *post) bool { return p.flags&api.PostSystem == 0 }

// anyPost chooses one of the posts that the person sees of a channel and keep (nil: all) accepts.
func (a *person) anyPost(ch *channel, keep func(*post) bool) (post, bool) {
	return ch.pick(func(n int) int { return recent(a.pick, n, a.b.set.recency) }, keep)
}
