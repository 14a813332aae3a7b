package api

import (
	"context"
	"net/url"
)

var opJoinTeam = newSetupOp("join_team")

// JoinTeam makes a user a member of an open team.
func (c *Client) JoinTeam(ctx context.Context, teamID, userID string) error {
	return c.send(ctx, opJoinTeam, "/teams/"+url.PathEscape(teamID)+"/members", func(b []byte) []byte {
		return object(b, "team_id", teamID, "user_id", userID)
	}, shown("user_id", userID, "team_id", teamID), 201)
}
