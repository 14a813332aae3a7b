package api

import "context"

var (
	opTeamByName     = newOp("team_by_name", "GET /teams/name/{}", setup)
	opCreateTeam     = newOp("create_team", "POST /teams", setup, created)
	opMyTeams        = newOp("my_teams", "GET /users/{}/teams")
	opTeamMembers    = newOp("team_members", "GET /teams/{}/members?page={}&per_page={}", setup)
	opAddTeamMembers = newOp("add_team_members", "POST /teams/{}/members/batch", setup, created)
	opTeams          = newOp("teams", "GET /teams?page=0&per_page={}")
	opMyTeamMembers  = newOp("my_team_members", "GET /users/{}/teams/members")
	opTeamsUnread    = newOp("teams_unread", "GET /users/{}/teams/unread")
	opTeamMember     = newOp("team_member", "GET /teams/{}/members/{}")
	opTeamStats      = newOp("team_stats", "GET /teams/{}/stats")
	opJoinTeam       = newOp("join_team", "POST /teams/{}/members", setup, created)
)

// TeamByName returns a team's id.
func (c *Client) TeamByName(ctx context.Context, name string) (id string, err error) {
	return get(ctx, c, opTeamByName, idIn("id"), name)
}

// CreateTeam creates an open team and returns its id.
func (c *Client) CreateTeam(ctx context.Context, name string) (id string, err error) {
	b := object(c.body(), "name", name, "display_name", name, "type", "O",
		"allow_open_invite", true) // without it users may not join uninvited
	return send(ctx, c, opCreateTeam, b, idIn("id"))
}

// MyTeams returns the ids of the user's teams.
func (c *Client) MyTeams(ctx context.Context, userID string) (ids []string, err error) {
	return get(ctx, c, opMyTeams, idsIn, userID)
}

// TeamMembers returns one page of the user ids of a team.
func (c *Client) TeamMembers(
	ctx context.Context, teamID string, page, perPage int,
) (ids []string, err error) {
	return pageOf(ctx, c, opTeamMembers, userIDsIn, teamID, page, perPage)
}

// AddTeamMembers makes users members of a team.
func (c *Client) AddTeamMembers(ctx context.Context, teamID string, userIDs []string) error {
	b := array(c.body(), len(userIDs), func(b []byte, i int) []byte {
		return object(b, "team_id", teamID, "user_id", userIDs[i])
	})
	return c.do(ctx, opAddTeamMembers, b, func(b []byte) error {
		_, err := added(b, userIDs)
		return err
	}, teamID)
}

// added requires all of the users to have become members, and returns how many have.
func added(b []byte, userIDs []string) (int, error) {
	got, err := userIDsIn(b)
	if err == nil && len(got) != len(userIDs) {
		err = noEffect("%d of %d users were added", len(got), len(userIDs))
	}
	return len(got), among(err, got, userIDs)
}

// Teams returns the ids of a page of the teams that anyone may join.
func (c *Client) Teams(ctx context.Context, perPage int) (ids []string, err error) {
	return get(ctx, c, opTeams, idsIn, decimal(perPage))
}

// MyTeamMembers returns the ids of the user's teams.
func (c *Client) MyTeamMembers(ctx context.Context, userID string) (teams []string, err error) {
	return get(ctx, c, opMyTeamMembers, teamIDsIn, userID)
}

// TeamsUnread reads the unread counts of the user's teams.
func (c *Client) TeamsUnread(ctx context.Context, userID string) (int, error) {
	return get(ctx, c, opTeamsUnread, listed("team_id", ""), userID)
}

// TeamMember reads one membership of a team and returns its roles.
func (c *Client) TeamMember(ctx context.Context, teamID, userID string) (roles string, err error) {
	return get(ctx, c, opTeamMember, textIn("roles", "team_id", teamID, "user_id", userID), teamID,
		userID)
}

// TeamStats returns how many members a team has.
func (c *Client) TeamStats(ctx context.Context, teamID string) (n int64, err error) {
	return get(ctx, c, opTeamStats, countIn("total_member_count", "team_id", teamID), teamID)
}

// JoinTeam makes a user a member of an open team.
func (c *Client) JoinTeam(ctx context.Context, teamID, userID string) error {
	b := object(c.body(), "team_id", teamID, "user_id", userID)
	return c.do(ctx, opJoinTeam, b, shown("user_id", userID, "team_id", teamID), teamID)
}
