package mattermost

import (
	"slices"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// profileActions are about profiles.
var profileActions = []action{
	{"click_user_profile", 0.03, always, clickUserProfile, proveClickUserProfile,
		"getTeamMember", 1},
	{"update_custom_attribute", 0.004, hasAttributes, updateCustomAttribute,
		proveUpdateCustomAttribute,
		"patchCPAValues", 1},
	{"update_custom_status", 0.0028, hasCustomStatus, updateCustomStatus, proveUpdateCustomStatus,
		"updateUserCustomStatus", 1},
	{"remove_custom_status", 0.0026, hasCustomStatus, removeCustomStatus, proveRemoveCustomStatus,
		"removeUserCustomStatus", 1},
	{"generate_user_report", 0.0001, hasReports, generateUserReport, proveGenerateUserReport,
		"getUsersForReporting", 1},
}

// A look holds the profile that a person read last.
type look struct {
	user       uint32 // in the directory
	messages   int64  // that the other has read of the channel
	roles      string // in the team
	attributes int
}

// clickUserProfile opens the profile of an author in the current channel: membership of channel and
// team, and custom attributes.
func clickUserProfile(a *act) error {
	if err := a.somewhere(); err != nil {
		return err
	}
	ch := a.channel()
	var who uint32
	if p, ok := a.anyPost(ch, func(p *post) bool {
		return isUserPost(p) && p.author != a.self
	}); ok {
		who = p.author
	} else {
		ids, err := a.c.ChannelMembers(a, ch.key, 0, pageOf)
		if err != nil {
			return err
		}
		if ids = slices.DeleteFunc(ids, func(id string) bool { return id == a.id }); len(ids) == 0 {
			return errNoUser
		}
		who = a.b.dir.user(api.ParseID(one(a.pick, ids)))
	}
	id := a.b.dir.account(who).id.String()
	m, err := a.c.ChannelMember(a, ch.key, id)
	if missing(err) {
		return errNoUser // has left the channel since
	}
	if err != nil {
		return err
	}
	l := look{user: who, messages: m.Messages}
	if a.b.lacks(hasAttributes) == "" {
		values, err := a.c.Attributes(a, id)
		if err != nil {
			return err
		}
		l.attributes = len(values)
	}
	if l.roles, err = a.c.TeamMember(a, a.team, id); err != nil {
		return err
	}
	a.own().looked = l
	return nil
}

// proveClickUserProfile shows that the person read the same profile of the witness as the witness
// does.
func proveClickUserProfile(s *stage) {
	ch := s.actor.channel()
	for range seenPosts { // so that the person picks the witness
		s.say(ch.key, "who am I?")
	}
	s.refresh()
	s.actor.own().looked = look{}
	s.act()
	want := look{user: s.witness.self}
	want.messages = must(s.witness.c.ChannelMember(s, ch.key, s.witness.id)).Messages
	if s.b.lacks(hasAttributes) == "" {
		want.attributes = len(must(s.witness.c.Attributes(s, s.witness.id)))
	}
	want.roles = must(s.witness.c.TeamMember(s, s.actor.team, s.witness.id))
	disproved(s.actor.own().looked != want,
		"the profile says %+v, its owner %+v", s.actor.own().looked, want)
}

// Custom statuses last half an hour, as the web app's first offer.
const statusTime = 30 * time.Minute

// updateCustomStatus sets the person's custom status.
func updateCustomStatus(a *act) error {
	emoji := one(a.content, emojis)
	text := fewWords(a.content, 4)
	return a.c.SetCustomStatus(a, a.id, emoji, text, time.Now().Add(statusTime))
}

// proveUpdateCustomStatus shows that another client sees the status.
func proveUpdateCustomStatus(s *stage) {
	check(s.actor.c.ClearCustomStatus(s, s.actor.id))
	before := s.customStatus()
	disproved(before != "", "another client sees %q of a status that was cleared", before)
	s.act()
	after := s.customStatus()
	disproved(after == "", "another client sees no status")
}

// removeCustomStatus removes the custom status. Without one, the server accepts the call, too.
func removeCustomStatus(a *act) error {
	return a.c.ClearCustomStatus(a, a.id)
}

// proveRemoveCustomStatus shows that another client sees none any more.
func proveRemoveCustomStatus(s *stage) {
	check(updateCustomStatus(&act{s.Context, s.actor}))
	before := s.customStatus()
	disproved(before == "", "another client sees no status that could be removed")
	s.act()
	after := s.customStatus()
	disproved(after != "", "another client still sees %q", after)
}

// customStatus returns the actor's custom status as another client sees it.
func (s *stage) customStatus() string {
	return must(s.witness.c.CustomStatus(s, s.actor.id))
}

// updateCustomAttribute changes one of the person's attributes.
func updateCustomAttribute(a *act) error {
	return a.c.SetAttribute(a, a.b.Attribute, fewWords(a.content, 2))
}

// proveUpdateCustomAttribute shows that another client sees the new value.
func proveUpdateCustomAttribute(s *stage) {
	const before = "as before"
	c := s.device()
	defer c.Close()
	check(c.SetAttribute(s, s.b.Attribute, before))
	s.act()
	after := must(s.witness.c.Attributes(s, s.actor.id))[s.b.Attribute]
	disproved(after == "" || after == before,
		"another client sees %q, before it was %q", after, before)
}

const reportPage = 50 // users

// generateUserReport reads the report on all users to its end, as the administrator: the only
// action that is not the person's own.
func generateUserReport(a *act) error {
	mine := a.c.Token
	defer a.c.SetToken(mine)
	a.c.SetToken(a.b.AdminToken)
	n := 0
	var last api.Profile
	for before := 0; ; before++ {
		page, err := a.c.UserReport(a, before, last.Username, last.ID, reportPage)
		if err != nil {
			return err
		}
		n += len(page)
		if len(page) < reportPage {
			a.own().reported = n
			return nil
		}
		last = page[len(page)-1]
	}
}

// proveGenerateUserReport shows that the report has every account that the server counts without
// bots, which the report leaves out.
func proveGenerateUserReport(s *stage) {
	s.act()
	n := must(s.admin.UsersStats(s))
	disproved(int64(s.actor.own().reported) < n,
		"%d accounts in the report, %d on the server", s.actor.own().reported, n)
}
