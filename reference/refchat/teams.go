package refchat

import (
	"context"
	"regexp"
	"strings"
)

// slugForm matches names of teams and channels.
var slugForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// isAdmin reports whether a session is a system administrator's, who may do everything.
func (x *session) isAdmin() bool {
	return x != nil && strings.Contains(x.Roles, "system_admin")
}

// teamsOfUser returns the teams of a user, and whether the user administers each.
func (s *Server) teamsOfUser(ctx context.Context, userID string) (map[string]bool, error) {
	m, err := s.inTeams.through(userID, func() (map[string]bool, error) {
		list, err := teamMembersOf.list(fromMaster(ctx), s.st, userID)
		if err != nil {
			return nil, err
		}
		m := make(map[string]bool, len(list))
		for _, x := range list {
			if x.DeleteAt == 0 {
				m[x.TeamID] = x.SchemeAdmin
			}
		}
		return m, nil
	})
	return m, errStore("team.get_member", err)
}

// mustBeInTeam allows members of a team and administrators.
func (q *request) mustBeInTeam(teamID string) error {
	if q.sess.isAdmin() {
		return nil
	}
	m, err := q.teamsOfUser(q, q.sess.UserID)
	if _, ok := m[teamID]; !ok && err == nil {
		err = errPermission
	}
	return err
}

// mustManageTeam allows administrators of the team or the system.
func (q *request) mustManageTeam(teamID string) error {
	if q.sess.isAdmin() {
		return nil
	}
	m, err := q.teamsOfUser(q, q.sess.UserID)
	if err == nil && !m[teamID] {
		err = errPermission
	}
	return err
}

func (s *Server) team(ctx context.Context, id string) (*team, error) {
	t, err := s.teams.through(id, func() (*team, error) {
		return teamByID.one(fromMaster(ctx), s.st, id)
	})
	return t, errFind("team.get", err, errNoTeam)
}

// defaultChannels exist in every team, and every member of the team is in them.
var defaultChannels = []struct{ name, display string }{{"town-square", "Town Square"},
	{"off-topic", "Off-Topic"}}

func (q *request) createTeam(in *team) error {
	switch {
	case len(in.Name) < 2 || !slugForm.MatchString(in.Name):
		return badRequest("model.team.is_valid.url.app_error", "Invalid URL Identifier.")
	case in.DisplayName == "" || len(in.DisplayName) > 64:
		return badRequest("model.team.is_valid.name.app_error", "Invalid name.")
	case in.Type != "O" && in.Type != "I":
		return badRequest("model.team.is_valid.type.app_error", "Invalid type.")
	}
	now := millis()
	t := &team{
		ID:              newID(),
		CreateAt:        now,
		UpdateAt:        now,
		DisplayName:     in.DisplayName,
		Name:            in.Name,
		Description:     clip(in.Description, 255),
		Email:           in.Email,
		Type:            in.Type,
		CompanyName:     clip(in.CompanyName, 64),
		AllowedDomains:  clip(in.AllowedDomains, 1000),
		InviteID:        newID(),
		AllowOpenInvite: in.AllowOpenInvite,
	}
	if u, err := q.user(q, q.sess.UserID); err == nil && t.Email == "" {
		t.Email = u.Email
	}
	err := teamKind.save(q, q.st, "TeamStore.Save", t)
	if duplicate(err, "") {
		return badRequest("app.team.save.existing.app_error", "Must call update for existing team.")
	}
	if err != nil {
		return errStore("team.save", err)
	}
	for _, d := range defaultChannels {
		ch := &channel{TeamID: t.ID, Type: openChannel, Name: d.name, DisplayName: d.display}
		if err := q.st.insertChannel(q, ch, nil); err != nil {
			return errStore("channel.save", err)
		}
	}
	if _, err := q.joinTeam(t.ID, q.sess.UserID, true); err != nil {
		return err
	}
	return q.created(t)
}

// joinTeam makes a user a member of a team and its default channels. Joining again changes nothing.
func (q *request) joinTeam(
	teamID, userID string,
	asAdmin bool,
) (*teamMember, error) {
	u, err := q.user(q, userID)
	if err != nil {
		return nil, err
	}
	if m, err := teamMemberOf.one(q, q.st, teamID, userID); err == nil && m.DeleteAt == 0 {
		return m, nil
	} else if err != nil && !noRow(err) {
		return nil, errStore("team.get_member", err)
	}
	m := &teamMember{
		TeamID:      teamID,
		UserID:      userID,
		SchemeUser:  true,
		SchemeAdmin: asAdmin,
		Roles:       memberRoles("team", asAdmin),
	}
	if err := saveTeamMember.run(q, q.st, teamMemberKind.content(m)...); err != nil {
		return nil, errStore("team.save_member", err)
	}
	q.invalidate(dropInTeams, userID)
	q.hub.join(busMessage{User: userID, Team: teamID})
	for _, d := range defaultChannels {
		ch, err := channelByName.one(q, q.st, d.name, teamID)
		if noRow(err) {
			continue // a seeded team may do without
		}
		if err != nil {
			return nil, errStore("channel.get_by_name", err)
		}
		kind := "system_join_channel"
		if d.name == "town-square" {
			kind = "system_join_team"
		}
		if _, err := q.joinChannel(q, ch, u, u.ID, asAdmin, kind); err != nil {
			return nil, err
		}
	}
	q.publish("added_to_team", broadcast{UserID: userID}, "team_id", teamID, "user_id", userID)
	return m, nil
}

func (q *request) addTeamMember(in *teamMember) error {
	if in.TeamID != q.id {
		return errBody("team_id")
	}
	if !validID(in.UserID) {
		return errBody("user_id")
	}
	m, err := q.addToTeam(q.id, in.UserID)
	if err != nil {
		return err
	}
	return q.created(m)
}

func (q *request) addTeamMembers() error {
	var in []teamMember
	if err := q.decode(&in, "members"); err != nil || len(in) == 0 {
		return badRequest("api.team.add_members.too_many.error",
			"Parameter required to add user to team.")
	}
	out := make([]*teamMember, 0, len(in))
	for _, x := range in {
		if x.TeamID != q.id || !validID(x.UserID) {
			return errBody("member")
		}
		m, err := q.addToTeam(q.id, x.UserID)
		if err != nil {
			return err
		}
		out = append(out, m)
	}
	return q.created(out)
}

// addToTeam checks the right to add a user: users may add themselves to an open team, and members
// may add others.
func (q *request) addToTeam(teamID, userID string) (*teamMember, error) {
	t, err := q.team(q, teamID)
	if err != nil {
		return nil, err
	}
	if userID == q.sess.UserID {
		if !t.AllowOpenInvite && q.mustBeInTeam(teamID) != nil {
			return nil, errPermission
		}
	} else if err := q.mustBeInTeam(teamID); err != nil {
		return nil, err
	}
	return q.joinTeam(teamID, userID, false)
}

func (q *request) getTeams() error {
	all := openTeams
	if q.sess.isAdmin() {
		all = teams
	}
	list, err := all.list(q, q.st, q.paged()...)
	return q.answer(q.sanitizeTeams(list), errStore("team.get_all", err))
}

// sanitizeTeams hides fields that only managers of a team may see.
func (q *request) sanitizeTeams(list []*team) []*team {
	for _, t := range list {
		if q.mustManageTeam(t.ID) != nil {
			t.Email, t.InviteID = "", ""
		}
	}
	return list
}

func (q *request) getTeamByName() error {
	t, err := teamByName.one(q, q.st, q.param("team_name"))
	if err != nil {
		return errFind("team.get_by_name", err,
			missing("app.team.get_by_name.missing.app_error", "Unable to find the existing team."))
	}
	if !t.AllowOpenInvite {
		if err := q.mustBeInTeam(t.ID); err != nil {
			return err
		}
	}
	return q.reply(q.sanitizeTeams([]*team{t})[0])
}

func (q *request) getTeamStats() error {
	x, err := statsOfTeam.find(q, q.st, q.teamID)
	x.TeamID = q.teamID
	return q.answer(x, errStore("team.stats", err))
}

// mustBeInTeamOfPath is mustBeInTeam for the team of the path.
func (q *request) mustBeInTeamOfPath() (err error) {
	if q.teamID, err = q.idParam("team_id"); err != nil {
		return err
	}
	return q.mustBeInTeam(q.teamID)
}

func (q *request) getTeamMember() error {
	m, err := teamMemberOf.one(q, q.st, q.teamID, q.id)
	return q.answer(m, errFind("team.get_member", err, errNoTeamMember))
}

func (q *request) getTeamsForUser() error {
	list, err := teamsOf.list(q, q.st, q.userID)
	return q.answer(q.sanitizeTeams(list), errStore("team.get_all", err))
}

func (q *request) getTeamsUnread() error {
	return replyList(q, unreadByTeam, "team.get_unread", q.userID, q.query("exclude_team"))
}
