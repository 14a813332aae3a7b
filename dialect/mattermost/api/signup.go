package api

import "context"

var opJoinTeam = newOp("join_team", "POST /teams/{}/members", setup, created)

// JoinTeam makes a user a member of an open team.
func (c *Client) JoinTeam(ctx context.Context, teamID, userID string) error {
	b := object(c.body(), "team_id", teamID, "user_id", userID)
	return c.do(ctx, opJoinTeam, b, shown("user_id", userID, "team_id", teamID), teamID)
}
