package mattermost

import (
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// threadActions are about threads, and the inbox of followed ones.
var threadActions = []action{
	{"view_global_threads", 0.6023, hasThreads, viewGlobalThreads, proveViewGlobalThreads,
		"getThreadsForUser", 4},
	{"update_thread_read", 0.3236, hasThreads, updateThreadRead, proveUpdateThreadRead,
		"updateReadStateThreadByUser", 1},
	{"view_thread", 0.2841, hasThreads, viewThread, proveViewThread, "getPostThread", 1},
	{"unfollow_thread", 0.005, hasThreads, unfollowThread, proveUnfollowThread,
		"unfollowThreadByUser", 1},
	{"follow_thread", 0.0005, hasThreads, followThread, proveFollowThread,
		"followThreadByUser", 1},
	{"mark_all_threads_in_team_as_read", 0.0001, hasThreads, readAllThreads, proveReadAllThreads,
		"updateReadStateAllThreadsByUser", 1},
}

const (
	threadsPage = 25 // threads of the inbox
	repliesPage = 60
	mostThreads = 25 // that a person remembers of its inbox
)

// errNoThread is the skip of a person that follows no thread.
const errNoThread skipError = "no followed thread"

// viewGlobalThreads looks through the inbox: one to three pages of all threads, then of the unread
// ones.
func viewGlobalThreads(a *act) error {
	pages := 1 + a.choice.IntN(3)
	for _, unread := range []bool{false, true} {
		before := ""
		for i := range pages {
			list, err := a.c.Threads(a, a.id, a.team, before, threadsPage, unread)
			if err != nil {
				return err
			}
			if i == 0 && !unread {
				a.keepThreads(list)
			}
			if len(list) < threadsPage {
				break
			}
			before = list[len(list)-1].ID.String()
			if unread && i+1 == pages {
				break // the pause after the last page is think time
			}
			if err := a.u.Pause(a, time.Duration(1+a.choice.IntN(10))*time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// proveViewGlobalThreads shows that the person found the same inbox as the administrator sees.
func proveViewGlobalThreads(s *stage) {
	id := s.newThread()
	s.act()
	disproved(!s.follows(id, true),
		"the administrator does not see the unread thread %s in the person's inbox", id)
	disproved(!slices.Contains(s.actor.own().threads, id),
		"the person did not find the thread %s in its inbox", id)
}

// keepThreads remembers the newest threads of the inbox.
func (a *person) keepThreads(list []api.ThreadSeen) {
	own := a.own()
	own.threads = own.threads[:0]
	for _, t := range list[:min(len(list), mostThreads)] {
		own.threads = append(own.threads, t.ID)
	}
}

// followed chooses one of the threads that the person follows; it requests them if it does not know
// any.
func (a *act) followed() (api.ID, error) {
	if len(a.own().threads) == 0 {
		list, err := a.c.Threads(a, a.id, a.team, "", threadsPage, false)
		if err != nil {
			return api.ID{}, err
		}
		a.keepThreads(list)
	}
	threads := a.own().threads
	if len(threads) == 0 {
		return api.ID{}, errNoThread
	}
	return one(a.pick, threads), nil
}

// updateThreadRead reads a followed thread up to now.
func updateThreadRead(a *act) error {
	id, err := a.followed()
	if err != nil {
		return err
	}
	_, err = a.c.ReadThread(a, a.id, a.team, id.String(), time.Now().UnixMilli())
	return a.gone(id, err)
}

// proveUpdateThreadRead shows that the thread with the newest reply has no unread replies any more.
func proveUpdateThreadRead(s *stage) {
	id := s.newThread()
	s.actor.own().threads = []api.ID{id}
	before := must(s.admin.FollowedThread(s, s.actor.id, s.actor.team, id.String()))
	disproved(before.Unread == 0, "the thread has no unread reply to begin with")
	s.act()
	after := must(s.admin.FollowedThread(s, s.actor.id, s.actor.team, id.String()))
	disproved(after.Unread != 0, "%d unread replies of %d", after.Unread, before.Unread)
}

// gone forgets a thread that the server does not have any more: its root was deleted since the
// inbox was read.
func (a *person) gone(id api.ID, err error) error {
	if missing(err) {
		a.leaveThread(id)
	}
	return err
}

// leaveThread forgets a thread.
func (a *person) leaveThread(id api.ID) {
	own := a.own()
	own.threads = slices.DeleteFunc(own.threads, func(t api.ID) bool { return t == id })
}

// root chooses the root of a thread in the current channel: of one with replies, if there are any.
func (a *act) root() (api.ID, error) {
	if err := a.somewhere(); err != nil {
		return api.ID{}, err
	}
	ch := a.channel()
	p, ok := a.anyPost(ch, func(p *post) bool {
		return isUserPost(p) && (!p.root.None() || p.flags&api.PostHasReplies != 0)
	})
	if !ok {
		p, ok = a.anyPost(ch, isUserPost)
	}
	if !ok {
		return api.ID{}, errNoPost
	}
	return p.thread(), nil
}

// viewThread opens a thread beside the channel and reads all of it.
func viewThread(a *act) error {
	id, err := a.root()
	if err != nil {
		return err
	}
	last := api.Seen{}
	read := 1 // the root, which comes with each page, and from some servers twice
	for before := 0; ; before++ {
		posts, more, err := a.c.ThreadPage(a, id.String(), before, last, repliesPage)
		if err != nil {
			return err
		}
		if last.ID.None() {
			a.learn(a.channel(), posts)
		}
		if err := a.meet(posts); err != nil {
			return err
		}
		for _, p := range posts {
			if p.ID != id {
				read++
			}
		}
		if !more || len(posts) == 0 || posts[len(posts)-1].ID == last.ID {
			a.own().found = read
			return nil
		}
		last = posts[len(posts)-1]
	}
}

// proveViewThread shows that the person read as many posts as another client finds in the longest
// thread of the channel, over several pages.
func proveViewThread(s *stage) {
	ch := s.emptyChannel()
	p := s.say(ch.key, "a long story")
	for range repliesPage + 5 {
		s.say(ch.key, "and then", p.ID)
	}
	s.refresh()
	s.actor.own().found = 0
	s.act()
	all := must(s.witness.c.Thread(s, p.ID))
	ids := map[api.ID]bool{}
	for _, x := range all { // some servers name the root twice
		ids[x.ID] = true
	}
	disproved(s.actor.own().found != len(ids) || len(ids) != repliesPage+6,
		"the person read %d posts of %d", s.actor.own().found, len(ids))
}

// followThread follows a thread of the current channel.
func followThread(a *act) error {
	id, err := a.root()
	if err != nil {
		return err
	}
	if err := a.c.FollowThread(a, a.id, a.team, id.String()); err != nil {
		return err
	}
	if own := a.own(); !slices.Contains(own.threads, id) && len(own.threads) < mostThreads {
		own.threads = append(own.threads, id)
	}
	return nil
}

// proveFollowThread shows that a thread of others is in the person's inbox.
func proveFollowThread(s *stage) {
	ch := s.emptyChannel()
	p := s.say(ch.key, "among ourselves")
	s.say(ch.key, "indeed", p.ID)
	s.refresh()
	id := api.ParseID(p.ID)
	disproved(s.follows(id, false), "the person follows the thread to begin with")
	s.act()
	disproved(!s.follows(id, false), "the thread is not in the person's inbox")
}

// unfollowThread leaves a thread of the inbox.
func unfollowThread(a *act) error {
	id, err := a.followed()
	if err != nil {
		return err
	}
	if err := a.c.UnfollowThread(a, a.id, a.team, id.String()); err != nil {
		return a.gone(id, err)
	}
	a.leaveThread(id)
	return nil
}

// proveUnfollowThread shows that a thread left the person's inbox.
func proveUnfollowThread(s *stage) {
	id := s.newThread()
	s.actor.own().threads = []api.ID{id}
	s.act()
	disproved(s.follows(id, false), "the thread is still in the person's inbox")
}

// readAllThreads marks all threads of the team as read.
func readAllThreads(a *act) error {
	return a.c.ReadAllThreads(a, a.id, a.team)
}

// proveReadAllThreads shows that the person has unread threads before, and none after.
func proveReadAllThreads(s *stage) {
	for range 2 {
		s.newThread()
	}
	list := s.inbox(true)
	disproved(len(list) < 2, "%d unread threads to begin with", len(list))
	s.act()
	list = s.inbox(true)
	disproved(len(list) != 0, "%d unread threads are left", len(list))
}

// newThread makes the actor's inbox hold a thread with an unread reply by the witness, and returns
// its root.
func (s *stage) newThread() api.ID {
	ch := s.actor.here()
	p := must(s.actor.c.Post(s, api.Draft{ChannelID: ch, Message: "a question"}))
	s.say(ch, "an answer", p.ID)
	s.actor.own().threads = nil
	s.refresh()
	return api.ParseID(p.ID)
}

// inbox returns the actor's inbox as the administrator sees it: no other account may read it.
func (s *stage) inbox(unread bool) []api.ThreadSeen {
	return must(s.admin.Threads(s, s.actor.id, s.actor.team, "", threadsPage, unread))
}

// follows reports whether the inbox has a thread.
func (s *stage) follows(id api.ID, unread bool) bool {
	return slices.ContainsFunc(s.inbox(unread), func(t api.ThreadSeen) bool { return t.ID == id })
}
