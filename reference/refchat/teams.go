package refchat

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
)

// slugForm matches names of teams and channels.
var slugForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// isAdmin reports whether a session is a system administrator's, who may do everything.
func (s *Server) isAdmin(sess *session) bool {
	return sess != nil && strings.Contains(sess.Roles, "system_admin")
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
func (s *Server) mustBeInTeam(ctx context.Context, sess *session, teamID string) error {
	if s.isAdmin(sess) {
		return nil
	}
	m, err := s.teamsOfUser(ctx, sess.UserID)
	if _, ok := m[teamID]; !ok && err == nil {
		err = errPermission
	}
	return err
}

// mustManageTeam allows administrators of the team or the system.
func (s *Server) mustManageTeam(ctx context.Context, sess *session, teamID string) error {
	if s.isAdmin(sess) {
		return nil
	}
	m, err := s.teamsOfUser(ctx, sess.UserID)
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

func (s *Server) createTeam(q *request, in *team) error {
	switch {
	case len(in.Name) < 2 || !slugForm.MatchString(in.Name):
		return badRequest("model.team.is_valid.url.app_error", "Invalid URL Identifier.")
	case in.DisplayName == "" || len(in.DisplayName) > 64:
		return badRequest("model.team.is_valid.name.app_error", "Invalid name.")
	case in.Type != "O" && in.Type != "I":
		return badRequest("model.team.is_valid.type.app_error", "Invalid type.")
	}
	ctx := q.ctx()
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
	if u, err := s.user(ctx, q.sess.UserID); err == nil && t.Email == "" {
		t.Email = u.Email
	}
	err := teamKind.save(ctx, s.st, "TeamStore.Save", t)
	if duplicate(err, "") {
		return badRequest("app.team.save.existing.app_error", "Must call update for existing team.")
	}
	if err != nil {
		return errStore("team.save", err)
	}
	for _, d := range defaultChannels {
		ch := &channel{TeamID: t.ID, Type: openChannel, Name: d.name, DisplayName: d.display}
		if err := s.st.insertChannel(ctx, ch, nil); err != nil {
			return errStore("channel.save", err)
		}
	}
	if _, err := s.joinTeam(ctx, t.ID, q.sess.UserID, true); err != nil {
		return err
	}
	return q.created(t)
}

// joinTeam makes a user a member of a team and its default channels. Joining again changes nothing.
func (s *Server) joinTeam(
	ctx context.Context,
	teamID, userID string,
	asAdmin bool,
) (*teamMember, error) {
	u, err := s.user(ctx, userID)
	if err != nil {
		return nil, err
	}
	if m, err := teamMemberOf.one(ctx, s.st, teamID, userID); err == nil && m.DeleteAt == 0 {
		return m, nil
	} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, errStore("team.get_member", err)
	}
	m := &teamMember{
		TeamID:      teamID,
		UserID:      userID,
		SchemeUser:  true,
		SchemeAdmin: asAdmin,
		Roles:       memberRoles("team", asAdmin),
	}
	if err := saveTeamMember.run(ctx, s.st, teamMemberKind.content(m)...); err != nil {
		return nil, errStore("team.save_member", err)
	}
	s.invalidate(dropInTeams, userID)
	s.hub.joinTeam(userID, teamID)
	for _, d := range defaultChannels {
		ch, err := channelByName.one(ctx, s.st, d.name, teamID)
		if errors.Is(err, sql.ErrNoRows) {
			continue // a seeded team may do without
		}
		if err != nil {
			return nil, errStore("channel.get_by_name", err)
		}
		kind := "system_join_channel"
		if d.name == "town-square" {
			kind = "system_join_team"
		}
		if _, err := s.joinChannel(ctx, ch, u, u.ID, asAdmin, kind); err != nil {
			return nil, err
		}
	}
	s.publish("added_to_team", broadcast{UserID: userID}, "team_id", teamID, "user_id", userID)
	return m, nil
}

func (s *Server) addTeamMember(q *request, in *teamMember) error {
	if in.TeamID != q.id {
		return errBody("team_id")
	}
	if !validID(in.UserID) {
		return errBody("user_id")
	}
	m, err := s.addToTeam(q.ctx(), q.sess, q.id, in.UserID)
	if err != nil {
		return err
	}
	return q.created(m)
}

func (s *Server) addTeamMembers(q *request) error {
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
		m, err := s.addToTeam(q.ctx(), q.sess, q.id, x.UserID)
		if err != nil {
			return err
		}
		out = append(out, m)
	}
	return q.created(out)
}

// addToTeam checks the right to add a user: users may add themselves to an open team, and members
// may add others.
func (s *Server) addToTeam(
	ctx context.Context,
	sess *session,
	teamID, userID string,
) (*teamMember, error) {
	t, err := s.team(ctx, teamID)
	if err != nil {
		return nil, err
	}
	if userID == sess.UserID {
		if !t.AllowOpenInvite && s.mustBeInTeam(ctx, sess, teamID) != nil {
			return nil, errPermission
		}
	} else if err := s.mustBeInTeam(ctx, sess, teamID); err != nil {
		return nil, err
	}
	return s.joinTeam(ctx, teamID, userID, false)
}

func (s *Server) getTeams(q *request) error {
	all := openTeams
	if s.isAdmin(q.sess) {
		all = teams
	}
	list, err := all.list(q.ctx(), s.st, q.paged()...)
	return q.answer(s.sanitizeTeams(q, list), errStore("team.get_all", err))
}

// sanitizeTeams hides fields that only managers of a team may see.
func (s *Server) sanitizeTeams(q *request, list []*team) []*team {
	out := make([]*team, len(list))
	for i, t := range list {
		if s.mustManageTeam(q.ctx(), q.sess, t.ID) != nil {
			c := *t
			c.Email, c.InviteID = "", ""
			t = &c
		}
		out[i] = t
	}
	return out
}

func (s *Server) getTeamByName(q *request) error {
	t, err := teamByName.one(q.ctx(), s.st, q.param("team_name"))
	if err != nil {
		return errFind("team.get_by_name", err,
			missing("app.team.get_by_name.missing.app_error", "Unable to find the existing team."))
	}
	return s.replyTeam(q, t)
}

func (s *Server) replyTeam(q *request, t *team) error {
	if !t.AllowOpenInvite {
		if err := s.mustBeInTeam(q.ctx(), q.sess, t.ID); err != nil {
			return err
		}
	}
	return q.reply(s.sanitizeTeams(q, []*team{t})[0])
}

func (s *Server) getTeamStats(q *request) error {
	x, err := statsOfTeam.find(q.ctx(), s.st, q.teamID)
	x.TeamID = q.teamID
	return q.answer(x, errStore("team.stats", err))
}

// mustBeInTeamOfPath is mustBeInTeam for the team of the path.
func (s *Server) mustBeInTeamOfPath(q *request) (err error) {
	if q.teamID, err = q.idParam("team_id"); err != nil {
		return err
	}
	return s.mustBeInTeam(q.ctx(), q.sess, q.teamID)
}

func (s *Server) getTeamMember(q *request) error {
	m, err := teamMemberOf.one(q.ctx(), s.st, q.teamID, q.id)
	return q.answer(m,
		errFind("team.get_member", err,
			missing("app.team.get_member.missing.app_error",
				"No team member found for that user ID and team ID.")))
}

func (s *Server) getTeamsForUser(q *request) error {
	list, err := teamsOf.list(q.ctx(), s.st, q.userID)
	return q.answer(s.sanitizeTeams(q, list), errStore("team.get_all", err))
}

func (s *Server) getTeamsUnread(q *request) error {
	list, err := unreadByTeam.list(q.ctx(), s.st, q.userID, q.query("exclude_team"))
	return q.answer(list, errStore("team.get_unread", err))
}
