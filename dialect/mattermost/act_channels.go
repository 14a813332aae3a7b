package mattermost

import (
	"slices"
	"strconv"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// channelActions lead from channel to channel.
var channelActions = []action{
	// Each view of a channel requests its statistics, whatever its kind.
	{"switch_channel", 6.5219, always, switchChannel, proveSwitchChannel,
		"getChannelStats", 1},
	// A look reads the posts around the first unread one or, later, those since the last look. The
	// other calls are pages, three for one scroll.
	{"scroll_channel", 1.9873, always, scrollChannel, proveScrollChannel,
		"getPostsForChannel getPostsForChannelAroundLastUnread -getChannelStats", 3},
	{"unread_check", 1, always, unreadCheck, proveUnreadCheck, "", 0},
	{"open_direct_or_group_channel", 0.9843, always, openDirect, proveOpenDirect,
		"getChannelStats", 1},
	{"click_permalink", 0.3, always, clickPermalink, proveClickPermalink, "", 0},
	{"switch_team", 0.0001, always, switchTeam, proveSwitchTeam, "", 0},
}

// switchChannel goes to another channel of the team.
func switchChannel(a *act) error {
	if k, ok := a.largest(); ok && a.choice.Float64() < a.b.set.fanout {
		return a.enter(k)
	}
	k, ok := a.otherPlace(a.inTeam)
	if !ok {
		return errNoChannel
	}
	return a.enter(k)
}

// proveSwitchChannel shows that another channel is current, and counts as read.
func proveSwitchChannel(s *stage) {
	s.proveEntering(s.actor.inTeam)
}

// openDirect goes to another direct or group channel. With the mix loadtest-ng, it is looked at in
// passing.
func openDirect(a *act) error {
	k, ok := a.otherPlace(isDirect)
	if !ok {
		return errNoChannel
	}
	from := a.channel()
	if err := a.enter(k); err != nil || !a.b.set.passing || from == nil {
		return err
	}
	a.current = a.place(from)
	a.look(from)
	return nil
}

// proveOpenDirect shows the same of direct and group channels.
func proveOpenDirect(s *stage) { s.proveEntering(isDirect) }

// largest returns the place of the current team with the most members, if that is not the current
// one.
func (a *person) largest() (best int, ok bool) {
	best = -1
	for k, p := range a.places {
		if a.inTeam(p) && (best < 0 || p.ch.members.Load() > a.places[best].ch.members.Load()) {
			best = k
		}
	}
	return best, best >= 0 && best != a.current
}

// otherPlace chooses one of the places that keep accepts, except the current one, with one draw: by
// Zipf's law over their names.
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
	at := zipf(a.pick, n, a.b.set.popularity)
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

// here returns the identifier of the current channel.
func (a *person) here() string { return a.channel().key }

// somewhere makes sure that there is a current channel.
func (a *act) somewhere() error {
	if a.current >= 0 {
		return nil
	}
	return switchChannel(a)
}

// wholeStats is the share of looks at a channel's counts that include its files, because the
// sidebar on the right is open.
const wholeStats = 0.01

// enter makes a channel the current one and reads it.
func (a *act) enter(k int) error {
	start := time.Now()
	prev := ""
	if a.current >= 0 {
		prev = a.here()
		if err := a.view(a.current, ""); err != nil {
			return err
		}
	}
	whole := a.choice.Float64() < wholeStats
	if err := a.load(k); err != nil {
		return err
	}
	a.current = k
	a.anchor = api.ID{}
	ch := a.places[k].ch
	id := ch.key
	a.look(ch)
	members, err := a.c.ChannelStats(a, id, whole)
	if err != nil {
		return err
	}
	ch.members.Store(int32(members))
	if isDirect(a.places[k]) {
		if err := a.showDirect(ch); err != nil {
			return err
		}
	}
	if err := a.view(k, prev); err != nil {
		return err
	}
	if a.b.lacks(hasBookmarks) == "" {
		if _, err := a.c.Bookmarks(a, id); err != nil {
			return err
		}
	}
	if sock := a.socket(); sock != nil && a.b.Config["FeatureFlagWebSocketEventScope"] == "true" {
		sock.Tell("presence", "channel_id", id)
	}
	a.measured("channel_switch", start)
	return a.hook(func(e *Extension) Step { return e.Channel })
}

// showDirect keeps a direct or group channel in the sidebar.
func (a *act) showDirect(ch *channel) error {
	show := api.Preference{Category: "group_channel_show", Name: ch.key, Value: "true"}
	if ch.kind == 'D' {
		show = api.Preference{Category: "direct_channel_show", Name: otherOf(ch.name, a.id),
			Value: "true"}
	}
	if show.Name == "" { // a channel with oneself
		show.Name = a.id
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	return a.c.SetPreferences(a, a.id, show,
		api.Preference{Category: "channel_open_time", Name: ch.key, Value: now})
}

// load reads the posts of a place that the person does not have yet.
func (a *act) load(k int) error {
	p := &a.places[k]
	ch, id := p.ch, p.ch.key
	var posts []api.Seen
	var err error
	if p.loaded && p.seen > 0 {
		posts, err = a.c.PostsSince(a, id, p.seen)
	} else {
		posts, err = a.c.PostsAroundUnread(a, a.id, id, pageOf, pageOf)
	}
	if err != nil {
		return err
	}
	p.loaded = true
	a.learn(ch, posts)
	return a.meet(posts)
}

// learn remembers posts that were read.
func (a *person) learn(ch *channel, posts []api.Seen) {
	for _, p := range posts {
		if p.Deleted {
			ch.forget(p.ID)
		} else {
			a.b.dir.see(ch, p)
		}
	}
}

// scrollChannel reads one to five pages backwards, each from where the one before ended, with
// pauses to look at them.
func scrollChannel(a *act) error {
	pages := 1 + a.choice.IntN(5)
	if err := a.somewhere(); err != nil {
		return err
	}
	ch := a.channel()
	if a.anchor.None() {
		p, ok := ch.oldest()
		if !ok {
			// It is empty, and the client looks whether it still is.
			posts, err := a.c.Posts(a, ch.key, pageOf)
			if err != nil || len(posts) == 0 {
				return err
			}
			a.learn(ch, posts)
			p.id = posts[len(posts)-1].ID
		}
		a.anchor = p.id
	}
	for i := range pages {
		posts, err := a.c.PostsBefore(a, ch.key, a.anchor.String(), pageOf)
		if err != nil {
			return err
		}
		if err := a.meet(posts); err != nil {
			return err
		}
		if len(posts) == 0 {
			return nil // the beginning of the channel
		}
		a.anchor = posts[len(posts)-1].ID
		if i+1 == pages {
			break // the pause after the last page is think time
		}
		if err := a.u.Pause(a, time.Duration(1+a.choice.IntN(10))*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// proveScrollChannel shows that the person came to older posts, where another client sees them.
func proveScrollChannel(s *stage) {
	ch := s.actor.channel()
	for range seenPosts + 2*pageOf {
		s.say(ch.key, "history")
	}
	s.refresh()
	s.actor.anchor = api.ID{}
	from, ok := ch.oldest()
	disproved(!ok, "the channel has no posts")
	s.act()
	older := must(s.witness.c.PostsBefore(s, ch.key, from.id.String(), 200))
	for i, p := range older {
		if p.ID == s.actor.anchor {
			disproved((i+1)%pageOf != 0 && i+1 != len(older),
				"after %d posts, which is no page", i+1)
			return
		}
	}
	disproved(true, "the post that was scrolled to does not lie before post %s", from.id)
}

// unreadCheck makes the calls with which the client refreshes its unread counts.
func unreadCheck(a *act) error {
	if err := a.readChannels(true); err != nil || a.current < 0 {
		return err
	}
	return a.view(a.current, "")
}

// proveUnreadCheck shows that a post that came into the current channel counts as read afterwards.
func proveUnreadCheck(s *stage) {
	ch := s.actor.channel()
	s.say(ch.key, "unread")
	s.act()
	s.allRead(ch)
}

// readChannels reads the channels of the team, with the archived ones or without, and the person's
// memberships.
func (a *act) readChannels(archived bool) error {
	chs, err := a.c.TeamChannels(a, a.id, a.team, archived)
	if err != nil {
		return err
	}
	a.take(chs)
	_, err = a.c.TeamChannelMembers(a, a.id, a.team)
	return err
}

// view reports that the person looks at a place, and no longer at the channel prev, if that is not
// empty.
func (a *act) view(k int, prev string) error {
	p := &a.places[k]
	seen, err := a.c.ViewChannel(a, a.id, p.ch.key, prev)
	if err == nil {
		p.seen = max(p.seen, seen)
	}
	return err
}

// clickPermalink follows a link to a post of another channel: the thread of the post, its channel,
// the person's membership there, and the channel itself.
func clickPermalink(a *act) error {
	k, ok := a.otherPlace(func(p place) bool {
		_, ok := p.ch.oldest()
		return ok && p.loaded && (a.inTeam(p) || isDirect(p))
	})
	if !ok { // no post of another channel is known: the link came from somewhere else
		if k, ok = a.otherPlace(a.inTeam); !ok {
			return errNoChannel
		}
		posts, err := a.c.Posts(a, a.places[k].ch.key, pageOf)
		if err != nil {
			return err
		}
		a.learn(a.places[k].ch, posts)
	}
	ch := a.places[k].ch
	p, ok := a.anyPost(ch, nil)
	if !ok {
		return errNoPost
	}
	if _, err := a.c.Thread(a, p.id.String()); err != nil {
		return err
	}
	if _, err := a.c.Channel(a, ch.key); err != nil {
		return err
	}
	if _, err := a.c.ChannelMember(a, ch.key, a.id); err != nil {
		return err
	}
	if err := unreadCheck(a); err != nil {
		return err
	}
	return a.enter(a.place(ch))
}

// proveClickPermalink shows that the person is in another of its channels, and has read all posts
// there.
func proveClickPermalink(s *stage) {
	s.proveEntering(func(p place) bool { return s.actor.inTeam(p) || isDirect(p) })
}

// switchTeam goes to another team and to a channel there.
func switchTeam(a *act) error {
	here := func(team string) bool { return team == a.team }
	others := slices.DeleteFunc(slices.Clone(a.teams), here)
	if len(others) == 0 {
		return errNoTeam
	}
	start := time.Now()
	a.team = one(a.pick, others)
	if err := a.loadTeam(); err != nil {
		return err
	}
	if sock := a.socket(); sock != nil {
		sock.Tell("presence", "team_id", a.team)
	}
	if err := a.hook(func(e *Extension) Step { return e.Team }); err != nil {
		return err
	}
	if err := switchChannel(a); err != nil {
		return err
	}
	a.measured("team_switch", start)
	return nil
}

// proveSwitchTeam shows that a post in the other team counts as read after the person went there.
func proveSwitchTeam(s *stage) {
	before := s.actor.team
	for _, team := range s.actor.teams {
		if team == before {
			continue
		}
		for _, ch := range must(s.witness.c.TeamChannels(s, s.witness.id, team, false)) {
			if ch.TeamID == team {
				s.say(ch.ID, "unread")
			}
		}
	}
	s.act()
	ch := s.actor.channel()
	now := s.actor.team
	s.actor.team = before // the other proofs happen here
	disproved(now == before || ch.team != api.ParseID(now), "the person is still in the same team")
	s.allRead(ch)
}

// proveEntering puts something unread everywhere, acts, and shows that one such channel was read.
func (s *stage) proveEntering(keep func(place) bool) {
	a := s.actor
	for k, p := range a.places {
		if k != a.current && keep(p) && s.shared(p) {
			s.say(p.ch.key, "unread")
		}
	}
	for range 20 { // until it is one that the witness has written to
		before := a.channel()
		s.act()
		disproved(a.channel() == before || !keep(a.places[a.current]),
			"the person is in the wrong channel")
		if s.shared(a.places[a.current]) {
			break
		}
	}
	s.allRead(a.channel())
}
