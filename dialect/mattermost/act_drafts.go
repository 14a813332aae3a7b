package mattermost

import (
	"math/rand/v2"
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// draftActions are about messages that are not sent yet: drafts, and posts for later.
var draftActions = []action{
	{"delete_draft", 1.41, hasDrafts, deleteDraft, proveDeleteDraft, "deleteDraft", 1},
	{"upsert_draft", 0.504, hasDrafts, upsertDraft, proveUpsertDraft, "upsertDraft", 1},
	{"get_drafts", 0.037, hasDrafts, getDrafts, proveGetDrafts, "getDrafts", 1},
	{"create_scheduled_post", 0.001, hasScheduled, createScheduledPost, proveCreateScheduledPost,
		"createSchedulePost", 1},
	{"update_scheduled_post", 0.001, hasScheduled, updateScheduledPost, proveUpdateScheduledPost,
		"updateScheduledPost", 1},
	// Sending deletes the scheduled post, too.
	{"delete_scheduled_post", 0.001, hasScheduled, deleteScheduledPost, proveDeleteScheduledPost,
		"deleteScheduledPost", 1},
	{"send_scheduled_post", 0.001, hasScheduled, sendScheduledPost, proveSendScheduledPost,
		"deleteScheduledPost", 1},
}

const (
	draftReplyShare     = 0.87 // of the drafts are in threads, as load-test-ng has it
	scheduledReplyShare = 0.25
	mostDrafts          = 50 // that a person remembers; more are on the server only
)

// belongings are a person's objects on the server besides posts. Most persons have none at a time.
type belongings struct {
	drafts    []unsent
	scheduled []unsent
	reported  int // accounts in the last report
	looked    look
	threads   []api.ID // of its inbox, the newest ones
	acked     []api.ID // posts that it has acknowledged, the last ones
	found     int      // by the last search, or in the last thread
}

// An unsent is the place of a draft or a scheduled post.
type unsent struct {
	ch   *channel
	root api.ID
	id   api.ID // of a scheduled post
}

// own returns the person's belongings.
func (a *person) own() *belongings {
	if a.has == nil {
		a.has = &belongings{}
	}
	return a.has
}

// quiet returns the person's client for calls whose events the client itself does not receive.
func (a *person) quiet() *api.Client {
	a.c.SetSocket(a.socket())
	return a.c
}

// threadOf draws the thread of a message to a channel: of a reply one of the threads that the
// person sees, else none.
func (a *person) threadOf(ch *channel, reply bool) (root api.ID) {
	if reply {
		if p, ok := a.anyPost(ch, isUserPost); ok {
			root = p.thread()
		}
	}
	return root
}

// composeTo draws a message to a channel or thread.
func (a *person) composeTo(root api.ID) composed {
	if root.None() {
		return a.compose(rootWords)
	}
	return a.compose(replyWords)
}

// upsertDraft writes something and leaves it.
func upsertDraft(a *act) error {
	if err := a.somewhere(); err != nil {
		return err
	}
	ch := a.channel()
	root := a.threadOf(ch, a.choice.Float64() < draftReplyShare)
	d, err := a.write(ch, root, a.composeTo(root))
	if err != nil {
		return err
	}
	if err := a.quiet().UpsertDraft(a, d); err != nil {
		return err
	}
	own := a.own()
	if !slices.ContainsFunc(own.drafts, unsentTo(ch, root)) && len(own.drafts) < mostDrafts {
		own.drafts = append(own.drafts, unsent{ch: ch, root: root})
	}
	return nil
}

// proveUpsertDraft shows that another device of the person finds the draft, in a thread most of the
// time.
func proveUpsertDraft(s *stage) {
	s.say(s.actor.here(), "answer me")
	s.refresh()
	const times = 20
	replies := 0
	for range times {
		s.noDrafts()
		s.act()
		list := s.drafts()
		disproved(len(list) != 1 || list[0].ChannelID != s.actor.here() || list[0].Message == "",
			"another device finds %d drafts, want the one that was written", len(list))
		if list[0].RootID != "" {
			replies++
		}
	}
	disproved(replies <= times/2, "%d of %d drafts are in threads", replies, times)
	s.noDrafts()
}

func unsentTo(ch *channel, root api.ID) func(unsent) bool {
	return func(d unsent) bool { return d.ch == ch && d.root == root }
}

// dropDraft deletes a draft that the person has, if it has one there: the message was sent, or
// given up.
func (a *act) dropDraft(ch *channel, root api.ID) error {
	if a.has == nil {
		return nil
	}
	k := slices.IndexFunc(a.has.drafts, unsentTo(ch, root))
	if k < 0 {
		return nil
	}
	if err := a.quiet().DeleteDraft(a, a.id, ch.key, root.String()); err != nil {
		return err
	}
	a.has.drafts = slices.Delete(a.has.drafts, k, k+1)
	return nil
}

// deleteDraft gives up one of the person's drafts. A person without any clears the current channel:
// the web app sends this request without knowing of a draft, almost three times as often as it
// saves one.
func deleteDraft(a *act) error {
	if a.has != nil && len(a.has.drafts) > 0 {
		d := one(a.pick, a.has.drafts)
		return a.dropDraft(d.ch, d.root)
	}
	if err := a.somewhere(); err != nil {
		return err
	}
	return a.quiet().DeleteDraft(a, a.id, a.here(), "")
}

// proveDeleteDraft shows that a draft is gone on another device, and that there may be none.
func proveDeleteDraft(s *stage) {
	a := s.actor
	s.noDrafts()
	err := s.carryOut(s.doing.do)
	disproved(err != nil, "without a draft: %w", err)
	check(upsertDraft(&act{s.Context, a}))
	list := s.drafts()
	disproved(len(list) != 1, "%d drafts before, want 1", len(list))
	s.act()
	list = s.drafts()
	disproved(len(list) != 0, "%d drafts are left", len(list))
}

// getDrafts opens the list of drafts.
func getDrafts(a *act) error {
	list, err := a.c.Drafts(a, a.id, a.team)
	if err != nil {
		return err
	}
	own := a.own()
	own.drafts = own.drafts[:0]
	for _, d := range list {
		if ch := a.b.dir.known(api.ParseID(d.ChannelID)); ch != nil &&
			len(own.drafts) < mostDrafts {
			own.drafts = append(own.drafts, unsent{ch: ch, root: api.ParseID(d.RootID)})
		}
	}
	return nil
}

// proveGetDrafts shows that the person knows of a draft that another device has saved.
func proveGetDrafts(s *stage) {
	ch := s.actor.channel()
	s.noDrafts()
	c := s.device()
	defer c.Close()
	check(c.UpsertDraft(s, api.Draft{ChannelID: ch.key, Message: "from my phone"}))
	s.act()
	d := s.actor.own().drafts
	disproved(len(d) != 1 || d[0].ch != ch,
		"the person knows of %d drafts, want the one of another device", len(d))
	s.noDrafts()
}

// later draws the time of a scheduled post: 2 to 12 days from now.
func later(r *rand.Rand) int64 {
	return time.Now().Add(48*time.Hour + time.Duration(r.Int64N(int64(240*time.Hour)))).UnixMilli()
}

// createScheduledPost writes something for later into the current channel.
func createScheduledPost(a *act) error {
	_, err := a.schedule()
	return err
}

// proveCreateScheduledPost shows that another device finds one more, for a time between 2 and 12
// days from now.
func proveCreateScheduledPost(s *stage) {
	before := s.oneScheduled()
	s.act()
	list := s.scheduled()
	for _, p := range list {
		if in := time.Until(time.UnixMilli(p.At)); p.ID != before.ID && len(list) == 2 &&
			in > 47*time.Hour && in <= 288*time.Hour {
			return
		}
	}
	disproved(true, "another device finds %d scheduled posts, want 2", len(list))
}

func (a *act) schedule() (unsent, error) {
	if err := a.somewhere(); err != nil {
		return unsent{}, err
	}
	ch := a.channel()
	root := a.threadOf(ch, a.choice.Float64() < scheduledReplyShare)
	c := a.composeTo(root)
	at := later(a.choice)
	d, err := a.write(ch, root, c)
	if err != nil {
		return unsent{}, err
	}
	s, err := a.quiet().Schedule(a, a.id, d, at)
	if err != nil {
		return unsent{}, err
	}
	p := unsent{ch: ch, root: root, id: api.ParseID(s.ID)}
	a.own().scheduled = append(a.own().scheduled, p)
	return p, nil
}

// anyScheduled picks one of the person's scheduled posts. A person that knows none requests them,
// and one that has none writes one. With an account of a file it always writes one: the others may
// be somebody's.
func (a *act) anyScheduled() (unsent, error) {
	own := a.own()
	if len(own.scheduled) == 0 {
		list, err := a.c.ScheduledPosts(a, a.team)
		if err != nil {
			return unsent{}, err
		}
		for _, s := range list {
			if a.b.ofFile() {
				break // it may be somebody's
			}
			if ch := a.b.dir.known(api.ParseID(s.ChannelID)); ch != nil &&
				len(own.scheduled) < mostDrafts {
				own.scheduled = append(own.scheduled,
					unsent{ch: ch, root: api.ParseID(s.RootID), id: api.ParseID(s.ID)})
			}
		}
	}
	if len(own.scheduled) == 0 {
		return a.schedule()
	}
	return one(a.pick, own.scheduled), nil
}

// updateScheduledPost rewrites a scheduled post, for another time.
func updateScheduledPost(a *act) error {
	p, err := a.anyScheduled()
	if err != nil {
		return err
	}
	d := api.Draft{
		ChannelID: p.ch.key,
		RootID:    p.root.String(),
		Message:   a.composeTo(p.root).plain(),
	}
	s := api.Scheduled{Draft: d, ID: p.id.String(), At: later(a.choice)}
	return a.quiet().Reschedule(a, a.id, s)
}

// proveUpdateScheduledPost shows that another device finds the same post with another text and
// time.
func proveUpdateScheduledPost(s *stage) {
	before := s.oneScheduled()
	s.act()
	list := s.scheduled()
	disproved(len(list) != 1 || list[0].ID != before.ID || list[0].Message == before.Message ||
		list[0].At == before.At,
		"the scheduled post is unchanged, or is not the only one (of %d)", len(list))
}

// deleteScheduledPost deletes a scheduled post.
func deleteScheduledPost(a *act) error {
	p, err := a.anyScheduled()
	if err != nil {
		return err
	}
	return a.unschedule(p)
}

// proveDeleteScheduledPost shows that another device finds it no more.
func proveDeleteScheduledPost(s *stage) {
	s.oneScheduled()
	s.act()
	list := s.scheduled()
	disproved(len(list) != 0, "%d scheduled posts are left", len(list))
}

func (a *act) unschedule(p unsent) error {
	if err := a.quiet().Unschedule(a, p.id.String()); err != nil {
		return err
	}
	a.has.scheduled = slices.DeleteFunc(a.has.scheduled, func(q unsent) bool {
		return q.id == p.id
	})
	return nil
}

// sendScheduledPost sends a scheduled post now: the web app makes a post of it and then deletes it.
func sendScheduledPost(a *act) error {
	p, err := a.anyScheduled()
	if err != nil {
		return err
	}
	d := api.Draft{Message: a.composeTo(p.root).plain(), RootID: p.root.String()}
	if err := a.post(p.ch, d); err != nil {
		return err
	}
	return a.unschedule(p)
}

// proveSendScheduledPost shows that the message stands in the channel, and is scheduled no more.
func proveSendScheduledPost(s *stage) {
	ch := s.actor.channel()
	s.oneScheduled()
	mark := s.say(ch.key, "before")
	s.act()
	posts := s.latest(ch.key, 2)
	disproved(len(posts) < 2 || posts[0].UserID.String() != s.actor.id ||
		posts[1].ID.String() != mark.ID,
		"another client finds no new post of the person")
	list := s.scheduled()
	disproved(len(list) != 0, "it is still scheduled")
}

// device returns a client of the actor's own on another device: it proves effects that only the
// actor may see.
func (s *stage) device() *api.Client { return must(s.client(s.actor.c.Token)) }

// drafts lists the actor's drafts as another device sees them.
func (s *stage) drafts() []api.Draft {
	c := s.device()
	defer c.Close()
	return must(c.Drafts(s, s.actor.id, s.actor.team))
}

// noDrafts begins a proof without drafts.
func (s *stage) noDrafts() {
	for _, d := range s.drafts() {
		check(s.actor.c.DeleteDraft(s, s.actor.id, d.ChannelID, d.RootID))
	}
	s.actor.own().drafts = nil
}

// scheduled lists the actor's scheduled posts as another device sees them.
func (s *stage) scheduled() []api.Scheduled {
	c := s.device()
	defer c.Close()
	return must(c.ScheduledPosts(s, s.actor.team))
}

// oneScheduled begins a proof with one scheduled post that the person does not know.
func (s *stage) oneScheduled() api.Scheduled {
	for _, p := range s.scheduled() {
		check(s.actor.c.Unschedule(s, p.ID))
	}
	s.actor.own().scheduled = nil
	c := s.device()
	defer c.Close()
	d := api.Draft{ChannelID: s.actor.here(), Message: "from my phone"}
	return must(c.Schedule(s, s.actor.id, d, time.Now().Add(50*time.Hour).UnixMilli()))
}
