package refchat

import (
	"context"
)

var teamKind = define(kind[team]{
	table: "teams", alias: "t",
	columns: "id, createat, updateat, deleteat, displayname, name, description, email, type, " +
		"companyname, alloweddomains, inviteid, allowopeninvite",
	fields: func(t *team) []any {
		return []any{&t.ID, &t.CreateAt, &t.UpdateAt, &t.DeleteAt, &t.DisplayName, &t.Name, &t.Description,
			&t.Email, &t.Type, &t.CompanyName, &t.AllowedDomains, &t.InviteID, &t.AllowOpenInvite}
	},
})

var (
	teamByID   = teamKind.query("TeamStore.Get", "WHERE t.id = ?")
	teamByName = teamKind.query("TeamStore.GetByName", "WHERE t.name = ?")
	teams      = teamKind.query("TeamStore.GetAllPage", "ORDER BY t.displayname, t.id LIMIT ? OFFSET ?")
	// openTeams can be joined without an invitation.
	openTeams = teamKind.query("TeamStore.GetAllPage", "WHERE t.allowopeninvite ORDER BY t.displayname, t.id LIMIT ? OFFSET ?")
	teamsOf   = teamKind.query("TeamStore.GetTeamsByUserId", "JOIN teammembers m ON m.teamid = t.id WHERE m.userid = ? AND m.deleteat = 0 AND t.deleteat = 0")
)

// memberRoles spells out the roles that a scheme gives.
func memberRoles(kind string, isAdmin bool) string {
	if isAdmin {
		return kind + "_user " + kind + "_admin"
	}
	return kind + "_user"
}

var teamMemberKind = define(kind[teamMember]{
	table:   "teammembers",
	columns: "teamid, userid, roles, deleteat, schemeuser, schemeadmin, schemeguest",
	fields: func(m *teamMember) []any {
		return []any{&m.TeamID, &m.UserID, &m.ExplicitRoles, &m.DeleteAt, &m.SchemeUser, &m.SchemeAdmin,
			&m.SchemeGuest}
	},
	then: func(m *teamMember) { m.Roles = memberRoles("team", m.SchemeAdmin) },
})

var (
	teamMembersOf   = teamMemberKind.query("TeamStore.GetTeamsForUser", "WHERE userid = ?")
	teamMemberOf    = teamMemberKind.query("TeamStore.GetMember", "WHERE teamid = ? AND userid = ?")
	teamMembersPage = teamMemberKind.query("TeamStore.GetMembers", "WHERE teamid = ? AND deleteat = 0 ORDER BY userid LIMIT ? OFFSET ?")
	saveTeamMember  = command{"TeamStore.SaveMember", upsert("teammembers", teamMemberKind.columns, "teamid, userid", "deleteat")}
)

func (st *store) teamStats(ctx context.Context, teamID string) (total, active int64, err error) {
	defer st.timed("TeamStore.GetTotalMemberCount", &err)()
	err = st.row(ctx, nil, []any{&total, &active}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN u.deleteat = 0 THEN 1 ELSE 0 END), 0) FROM teammembers m
		JOIN users u ON u.id = m.userid WHERE m.teamid = ? AND m.deleteat = 0`, teamID)
	return total, active, err
}

// teamsUnread sums a user's unread posts and mentions by team.
func (st *store) teamsUnread(ctx context.Context, userID, exceptTeam string) (list []*teamUnread, err error) {
	defer st.timed("TeamStore.GetChannelUnreadsForAllTeams", &err)()
	return collect(ctx, st, nil, func(x *teamUnread) []any {
		return []any{&x.TeamID, &x.MsgCount, &x.MsgCountRoot, &x.MentionCount, &x.MentionCountRoot}
	}, nil, `SELECT c.teamid, SUM(c.totalmsgcount - m.msgcount), SUM(c.totalmsgcountroot - m.msgcountroot), SUM(m.mentioncount), SUM(m.mentioncountroot)
		FROM channels c JOIN channelmembers m ON m.channelid = c.id
		WHERE m.userid = ? AND c.deleteat = 0 AND c.teamid <> '' AND c.teamid <> ? GROUP BY c.teamid`, userID, exceptTeam)
}
