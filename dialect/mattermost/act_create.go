package mattermost

import (
	"slices"
	"strconv"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// createActions make or join channels.
var createActions = []action{
	{"create_direct_channel", 0.0055, always, createDirect, proveCreateDirect,
		"createDirectChannel", 1},
	{"join_channel", 0.0049, always, joinChannel, proveJoinChannel,
		"addChannelMember", 1},
	{"create_group_channel", 0.0029, always, createGroup, proveCreateGroup,
		"createGroupChannel", 1},
	{"create_private_channel", 0.0002, always, createPrivate, proveCreatePrivate,
		"createChannel", 1},
	{"create_public_channel", 0.0001, always, createPublic, proveCreatePublic,
		"createChannel", 1},
}

// joinChannel looks through the team's open channels and joins one.
func joinChannel(a *act) error {
	var free []api.Channel
	for page := 0; len(free) == 0 && page < 10; page++ {
		chs, err := a.c.PublicChannels(a, a.team, page, 100)
		if err != nil {
			return err
		}
		for _, ch := range chs {
			if !ch.Archived && !slices.ContainsFunc(a.places, func(p place) bool {
				return p.ch.id == api.ParseID(ch.ID)
			}) {
				free = append(free, ch)
			}
		}
		if len(chs) < 100 {
			break
		}
	}
	if len(free) == 0 {
		return errNoChannel
	}
	slices.SortFunc(free, api.ByName)
	ch := one(a.pick, free)
	if err := a.c.JoinChannel(a, ch.ID, a.id); err != nil {
		return err
	}
	a.place(a.b.dir.channel(ch))
	return nil
}

// proveJoinChannel shows that the actor has become a member of a channel.
func proveJoinChannel(s *stage) {
	must(s.witness.c.MakeChannel(s, s.b.Team, "verify-"+strconv.FormatInt(s.nonce, 36), "O"))
	before := s.placesNow()
	s.act()
	s.isIn(before, 'O')
}

// people lists the other users in a dialog for a new channel, and requests their pictures.
func (a *act) people() ([]api.Profile, error) {
	all, err := a.c.Users(a, 0, 100, "&in_team="+a.team)
	if err != nil {
		return nil, err
	}
	a.know(all)
	all = slices.DeleteFunc(all, func(p api.Profile) bool { return p.ID == a.id || p.Bot })
	if err := a.show(all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoUser
	}
	return all, nil
}

func createDirect(a *act) error {
	_, err := newDirect(a)
	return err
}

func proveCreateDirect(s *stage) {
	s.proveOpening('D', newDirect)
}

func createGroup(a *act) error {
	_, err := newGroup(a)
	return err
}

func proveCreateGroup(s *stage) {
	s.proveOpening('G', newGroup)
}

// newDirect opens a direct channel with another user and writes there. It returns the two.
func newDirect(a *act) (users []string, err error) {
	c := a.compose(rootWords)
	all, err := a.people()
	if err != nil {
		return nil, err
	}
	strangers := slices.DeleteFunc(slices.Clone(all), func(p api.Profile) bool {
		return slices.ContainsFunc(a.places, func(q place) bool {
			return q.ch.kind == 'D' && otherOf(q.ch.name, a.id) == p.ID
		})
	})
	if len(strangers) > 0 {
		all = strangers
	}
	users = []string{a.id, one(a.pick, all).ID}
	return users, a.settleIn(users, c)
}

// newGroup opens a group channel with two others and writes there. It returns the three.
func newGroup(a *act) (users []string, err error) {
	c := a.compose(rootWords)
	all, err := a.people()
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		return nil, errNoUser
	}
	i := a.pick.IntN(len(all))
	k := (i + 1 + a.pick.IntN(len(all)-1)) % len(all)
	users = []string{a.id, all[i].ID, all[k].ID}
	return users, a.settleIn(users, c)
}

// settleIn opens the direct or group channel of users, reads it and writes there.
func (a *act) settleIn(users []string, c composed) error {
	ch, err := a.c.Open(a, users)
	if err != nil {
		return err
	}
	if ch, err = a.c.Channel(a, ch.ID); err != nil {
		return err
	}
	if _, err := a.c.ChannelMember(a, ch.ID, a.id); err != nil {
		return err
	}
	if err := a.enter(a.place(a.b.dir.channel(ch))); err != nil {
		return err
	}
	return a.writeHere(c, "", api.Priority{})
}

func createPrivate(a *act) error { return a.createChannel("P") }

func proveCreatePrivate(s *stage) { s.proveMaking('P') }

func createPublic(a *act) error { return a.createChannel("O") }

func proveCreatePublic(s *stage) { s.proveMaking('O') }

// createChannel makes a channel in the team and adds one to four members by the dialog for it.
func (a *act) createChannel(kind string) error {
	name := "made-" + strconv.FormatUint(a.content.Uint64(), 36)
	want := 1 + a.choice.IntN(4)
	ch, err := a.c.MakeChannel(a, a.team, name, kind)
	if exists(err) { // by an earlier run with the same seed
		name += "-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
		ch, err = a.c.MakeChannel(a, a.team, name, kind)
	}
	if err != nil {
		return err
	}
	if _, err := a.c.TeamStats(a, a.team); err != nil {
		return err
	}
	in, err := a.c.Users(a, 0, 100, "&in_channel="+ch.ID)
	if err != nil {
		return err
	}
	out, err := a.c.Users(a, 0, 100, "&in_team="+a.team+"&not_in_channel="+ch.ID)
	if err != nil {
		return err
	}
	a.know(in)
	a.know(out)
	for _, people := range [][]api.Profile{in, out} {
		var ids []string
		for _, p := range people {
			ids = append(ids, p.ID)
		}
		if err := a.getStatuses(ids); err != nil {
			return err
		}
	}
	if err := a.enter(a.place(a.b.dir.channel(ch))); err != nil {
		return err
	}
	out = slices.DeleteFunc(out, func(p api.Profile) bool { return p.ID == a.id || p.Bot })
	for range min(want, len(out)) {
		i := a.pick.IntN(len(out))
		if err := a.c.JoinChannel(a, ch.ID, out[i].ID); err != nil {
			return err
		}
		out = slices.Delete(out, i, i+1)
	}
	return nil
}

// proveMaking shows that the actor is in a new channel of a kind with other members, as the
// administrator sees it.
func (s *stage) proveMaking(kind byte) {
	before := s.placesNow()
	s.act()
	ch := s.actor.channel()
	disproved(ch.kind != kind || slices.Contains(before, ch.id),
		"the person is in a channel of kind %c that was there before", ch.kind)
	members := must(s.admin.ChannelMembers(s, ch.key, 0, 100))
	disproved(len(members) < 2 || !slices.Contains(members, s.actor.id),
		"the channel has %d members", len(members))
}

// proveOpening shows that the actor has written in the direct or group channel of the users it
// named and nobody else. The administrator reads the members. The channel may have been there
// already.
func (s *stage) proveOpening(kind byte, open func(*act) ([]string, error)) {
	var asked []string
	check(s.carryOut(func(a *act) (err error) {
		asked, err = open(a)
		return err
	}))
	ch := s.actor.channel()
	disproved(ch.kind != kind, "the person is in a channel of kind %c", ch.kind)
	members := must(s.admin.ChannelMembers(s, ch.key, 0, 100))
	slices.Sort(asked)
	slices.Sort(members)
	disproved(!slices.Equal(members, asked),
		"the members of the channel are %v, not %v", members, asked)
	posts := s.postsOf(ch, members)
	disproved(len(posts) == 0 || posts[0].UserID.String() != s.actor.id,
		"the person wrote nothing there")
}

// postsOf reads a channel as another member than the actor: a release may refuse an administrator
// who is no member. If no other member is a person of the stage, it reads as the actor's other
// device.
func (s *stage) postsOf(ch *channel, members []string) []api.Seen {
	token := s.actor.c.Token
	for rank, id := range s.b.IDs {
		if t := s.b.session(rank, false); id != s.actor.id && slices.Contains(members, id) &&
			t != "" {
			token = t
			break
		}
	}
	c := must(s.client(token))
	defer c.Close()
	return must(c.Posts(s, ch.key, pageOf))
}

// placesNow returns the channels that the actor is in.
func (s *stage) placesNow() (ids []api.ID) {
	for _, p := range s.actor.places {
		ids = append(ids, p.ch.id)
	}
	return ids
}

// isIn shows that the actor is in a channel of a kind that it was not in before.
func (s *stage) isIn(before []api.ID, kind byte) {
	for _, p := range s.actor.places {
		if p.ch.kind == kind && !slices.Contains(before, p.ch.id) {
			must(s.admin.ChannelMember(s, p.ch.key, s.actor.id))
			return
		}
	}
	disproved(true, "the person joined nothing")
}
