package refchat

var teamKind = define(kind[team]{
	table: "teams", alias: "t",
	columns: "id, createat, updateat, deleteat, displayname, name, description, email, type, " +
		"companyname, alloweddomains, inviteid, allowopeninvite",
})

const teamPage = "ORDER BY t.displayname, t.id LIMIT ? OFFSET ?"

var (
	teamByID   = teamKind.query("TeamStore.Get", "WHERE t.id = ?")
	teamByName = teamKind.query("TeamStore.GetByName", "WHERE t.name = ?")
	teams      = teamKind.query("TeamStore.GetAllPage", teamPage)
	// openTeams can be joined without an invitation.
	openTeams = teamKind.query("TeamStore.GetAllPage", "WHERE t.allowopeninvite "+teamPage)
	teamsOf   = teamKind.query(
		"TeamStore.GetTeamsByUserId",
		"JOIN teammembers m ON m.teamid = t.id WHERE m.userid = ? AND m.deleteat = 0 AND t.deleteat = 0",
	)
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
	then:    func(m *teamMember) { m.Roles = memberRoles("team", m.SchemeAdmin) },
})

var (
	teamMembersOf   = teamMemberKind.query("TeamStore.GetTeamsForUser", "WHERE userid = ?")
	teamMemberOf    = teamMemberKind.query("TeamStore.GetMember", "WHERE teamid = ? AND userid = ?")
	teamMembersPage = teamMemberKind.query("TeamStore.GetMembers",
		"WHERE teamid = ? AND deleteat = 0 ORDER BY userid LIMIT ? OFFSET ?")
	saveTeamMember = command{"TeamStore.SaveMember",
		teamMemberKind.upsert("teamid, userid", "deleteat")}
)

type teamStats struct {
	Active int64  `json:"active_member_count"`
	TeamID string `json:"team_id"`
	Total  int64  `json:"total_member_count"`
}

var statsOfTeam = selects[teamStats](
	"TeamStore.GetTotalMemberCount",
	"total, active",
	`SELECT COUNT(*), COALESCE(SUM(CASE WHEN u.deleteat = 0 THEN 1 ELSE 0 END), 0) FROM teammembers m
	JOIN users u ON u.id = m.userid WHERE m.teamid = ? AND m.deleteat = 0`,
)

// unreadByTeam sums a user's unread posts and mentions by team.
var unreadByTeam = selects[teamUnread]("TeamStore.GetChannelUnreadsForAllTeams",
	"teamid, msgcount, msgcountroot, mentioncount, mentioncountroot",
	`SELECT c.teamid, SUM(c.totalmsgcount - m.msgcount), SUM(c.totalmsgcountroot - m.msgcountroot),
	SUM(m.mentioncount), SUM(m.mentioncountroot) FROM channels c JOIN channelmembers m ON m.channelid = c.id
	WHERE m.userid = ? AND c.deleteat = 0 AND c.teamid <> '' AND c.teamid <> ? GROUP BY c.teamid`)
