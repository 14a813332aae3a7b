package refchat

import (
	"context"
	"database/sql"
)

const teamColumns = "t.id, t.createat, t.updateat, t.deleteat, t.displayname, t.name, t.description, t.email, t.type, t.companyname, t.alloweddomains, t.inviteid, t.allowopeninvite"

func (st *store) selectTeams(ctx context.Context, clause string, args ...any) ([]*team, error) {
	list := []*team{}
	err := st.query(ctx, nil, func(r *sql.Rows) error {
		t := &team{}
		list = append(list, t)
		return r.Scan(&t.ID, &t.CreateAt, &t.UpdateAt, &t.DeleteAt, &t.DisplayName, &t.Name, &t.Description, &t.Email, &t.Type,
			&t.CompanyName, &t.AllowedDomains, &t.InviteID, &t.AllowOpenInvite)
	}, "SELECT "+teamColumns+" FROM teams t "+clause, args...)
	return list, err
}

func (st *store) teamByID(ctx context.Context, id string) (t *team, err error) {
	defer st.timed("TeamStore.Get", &err)()
	return st.oneTeam(ctx, "WHERE t.id = ?", id)
}

func (st *store) teamByName(ctx context.Context, name string) (t *team, err error) {
	defer st.timed("TeamStore.GetByName", &err)()
	return st.oneTeam(ctx, "WHERE t.name = ?", name)
}

func (st *store) oneTeam(ctx context.Context, clause string, arg any) (*team, error) {
	list, err := st.selectTeams(ctx, clause, arg)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// teamPage lists teams by name; openOnly leaves out those that cannot be joined without an invitation.
func (st *store) teamPage(ctx context.Context, openOnly bool, page, per int) (list []*team, err error) {
	defer st.timed("TeamStore.GetAllPage", &err)()
	if openOnly {
		return st.selectTeams(ctx, "WHERE t.allowopeninvite = ? ORDER BY t.displayname, t.id LIMIT ? OFFSET ?", true, per, page*per)
	}
	return st.selectTeams(ctx, "ORDER BY t.displayname, t.id LIMIT ? OFFSET ?", per, page*per)
}

func (st *store) teamsOf(ctx context.Context, userID string) (list []*team, err error) {
	defer st.timed("TeamStore.GetTeamsByUserId", &err)()
	return st.selectTeams(ctx, "JOIN teammembers m ON m.teamid = t.id WHERE m.userid = ? AND m.deleteat = 0 AND t.deleteat = 0", userID)
}

const teamInsert = `INSERT INTO teams (id, createat, updateat, deleteat, displayname, name, description, email, type, companyname, alloweddomains,
	inviteid, allowopeninvite) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`

func teamValues(t *team) []any {
	return []any{t.ID, t.CreateAt, t.UpdateAt, t.DeleteAt, t.DisplayName, t.Name, t.Description, t.Email, t.Type, t.CompanyName,
		t.AllowedDomains, t.InviteID, t.AllowOpenInvite}
}

func (st *store) insertTeam(ctx context.Context, t *team) error {
	return st.do(ctx, "TeamStore.Save", teamInsert, teamValues(t)...)
}

// memberRoles spells out the roles that a scheme gives.
func memberRoles(kind string, isAdmin bool) string {
	if isAdmin {
		return kind + "_user " + kind + "_admin"
	}
	return kind + "_user"
}

func (st *store) selectTeamMembers(ctx context.Context, clause string, args ...any) ([]*teamMember, error) {
	list := []*teamMember{}
	err := st.query(ctx, nil, func(r *sql.Rows) error {
		m := &teamMember{}
		list = append(list, m)
		err := r.Scan(&m.TeamID, &m.UserID, &m.ExplicitRoles, &m.DeleteAt, &m.SchemeUser, &m.SchemeAdmin, &m.SchemeGuest)
		m.Roles = memberRoles("team", m.SchemeAdmin)
		return err
	}, "SELECT teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest FROM teammembers "+clause, args...)
	return list, err
}

func (st *store) teamMembersOf(ctx context.Context, userID string) (list []*teamMember, err error) {
	defer st.timed("TeamStore.GetTeamsForUser", &err)()
	return st.selectTeamMembers(ctx, "WHERE userid = ?", userID)
}

func (st *store) teamMember(ctx context.Context, teamID, userID string) (m *teamMember, err error) {
	defer st.timed("TeamStore.GetMember", &err)()
	list, err := st.selectTeamMembers(ctx, "WHERE teamid = ? AND userid = ?", teamID, userID)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func (st *store) teamMemberPage(ctx context.Context, teamID string, page, per int) (list []*teamMember, err error) {
	defer st.timed("TeamStore.GetMembers", &err)()
	return st.selectTeamMembers(ctx, "WHERE teamid = ? AND deleteat = 0 ORDER BY userid LIMIT ? OFFSET ?", teamID, per, page*per)
}

func (st *store) saveTeamMember(ctx context.Context, m *teamMember) error {
	return st.do(ctx, "TeamStore.SaveMember", st.upsert("teammembers", "teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest", "teamid, userid", "deleteat"),
		m.TeamID, m.UserID, "", 0, true, m.SchemeAdmin, false)
}

func (st *store) teamStats(ctx context.Context, teamID string) (total, active int64, err error) {
	defer st.timed("TeamStore.GetTotalMemberCount", &err)()
	err = st.row(ctx, nil, []any{&total, &active}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN u.deleteat = 0 THEN 1 ELSE 0 END), 0) FROM teammembers m
		JOIN users u ON u.id = m.userid WHERE m.teamid = ? AND m.deleteat = 0`, teamID)
	return total, active, err
}

// teamsUnread sums a user's unread posts and mentions by team.
func (st *store) teamsUnread(ctx context.Context, userID, exceptTeam string) (list []*teamUnread, err error) {
	defer st.timed("TeamStore.GetChannelUnreadsForAllTeams", &err)()
	list = []*teamUnread{}
	err = st.query(ctx, nil, func(r *sql.Rows) error {
		x := &teamUnread{}
		list = append(list, x)
		return r.Scan(&x.TeamID, &x.MsgCount, &x.MsgCountRoot, &x.MentionCount, &x.MentionCountRoot)
	}, `SELECT c.teamid, SUM(c.totalmsgcount - m.msgcount), SUM(c.totalmsgcountroot - m.msgcountroot), SUM(m.mentioncount), SUM(m.mentioncountroot)
		FROM channels c JOIN channelmembers m ON m.channelid = c.id
		WHERE m.userid = ? AND c.deleteat = 0 AND c.teamid <> '' AND c.teamid <> ? GROUP BY c.teamid`, userID, exceptTeam)
	return list, err
}
