package api

import (
	"context"
)

// The requests of a client that starts, comes back, or goes to another team.
var (
	opLogout           = newOp("logout", "POST /users/logout")
	opUsers            = newOp("users", "GET /users?page={}&per_page={}")
	opPreferences      = newOp("preferences", "GET /users/{}/preferences", wholeList)
	opSetPreferences   = newOp("set_preferences", "PUT /users/{}/preferences")
	opRoles            = newOp("roles", "POST /roles/names", reads)
	opPlugins          = newOp("webapp_plugins", "GET /plugins/webapp")
	opTeams            = newOp("teams", "GET /teams?page=0&per_page={}")
	opMyTeamMembers    = newOp("my_team_members", "GET /users/{}/teams/members")
	opTeamsUnread      = newOp("teams_unread", "GET /users/{}/teams/unread")
	opMyChannels       = newOp("my_channels", "GET /users/{}/channels?last_delete_at=0&include_deleted=true", wholeList)
	opMyChannelMembers = newOp("my_channel_members", "GET /users/{}/channel_members?page={}&per_page={}", wholeList)
	opMyStatus         = newOp("my_status", "GET /users/{}/status")
	opPublicChannels   = newOp("public_channels", "GET /teams/{}/channels?page={}&per_page={}")
	opCreateDirect     = newOp("create_direct_channel", "POST /channels/direct", created)
	opCreateGroup      = newOp("create_group_channel", "POST /channels/group", created)
)

// Logout ends the session.
func (c *Client) Logout(ctx context.Context) error { return c.do(ctx, opLogout, nil, done) }

// Users returns one page of the server's users; filter is a further part of the query, such as "&in_channel=ID".
func (c *Client) Users(ctx context.Context, page, perPage int, filter string) ([]Profile, error) {
	return get(ctx, c, opUsers, profiles, decimal(page), decimal(perPage), filter)
}

// A Preference is a setting of a user.
type Preference struct{ Category, Name, Value string }

// Preferences reads the user's settings.
func (c *Client) Preferences(ctx context.Context, userID string) ([]Preference, error) {
	return get(ctx, c, opPreferences, listOf(func(b []byte) (p Preference, err error) {
		err = fields(b, "category", &p.Category, "name", &p.Name, "value", &p.Value)
		if err == nil {
			// A name may be empty: the theme of all teams has none.
			err = shows(b, "user_id", userID, "category", "")
		}
		return p, err
	}), userID)
}

// SetPreferences stores settings of the user.
func (c *Client) SetPreferences(ctx context.Context, userID string, list ...Preference) error {
	b := array(c.body(), len(list), func(b []byte, i int) []byte {
		p := &list[i]
		return object(b, "user_id", userID, "category", p.Category, "name", p.Name, "value", p.Value)
	})
	return c.do(ctx, opSetPreferences, b, done, userID)
}

// Roles reads the permissions of the named roles and returns how many there are.
func (c *Client) Roles(ctx context.Context, names []string) (int, error) {
	return send(ctx, c, opRoles, list(c.body(), names), func(b []byte) (int, error) {
		got, err := namesIn(b)
		return len(got), among(err, got, names)
	})
}

// Plugins reads which plugins the web app must load.
func (c *Client) Plugins(ctx context.Context) (int, error) {
	return get(ctx, c, opPlugins, listed("id", ""))
}

// Teams returns the ids of a page of the teams that anyone may join.
func (c *Client) Teams(ctx context.Context, perPage int) (ids []string, err error) {
	return get(ctx, c, opTeams, idsIn, decimal(perPage))
}

// MyTeamMembers returns the ids of the teams of which the user is a member.
func (c *Client) MyTeamMembers(ctx context.Context, userID string) (teams []string, err error) {
	return get(ctx, c, opMyTeamMembers, teamIDsIn, userID)
}

// TeamsUnread reads the unread counts of the user's teams.
func (c *Client) TeamsUnread(ctx context.Context, userID string) (int, error) {
	return get(ctx, c, opTeamsUnread, listed("team_id", ""), userID)
}

// MyChannels returns the user's channels in all teams.
func (c *Client) MyChannels(ctx context.Context, userID string) ([]Channel, error) {
	return get(ctx, c, opMyChannels, channels, userID)
}

// MyChannelMembers reads one page of the user's memberships in all teams.
func (c *Client) MyChannelMembers(ctx context.Context, userID string, page, perPage int) (int, error) {
	return get(ctx, c, opMyChannelMembers, func(b []byte) (int, error) {
		n, err := listed("user_id", userID, "channel_id", "")(b)
		return n, ends(err, page, n >= perPage)
	}, userID, decimal(page), decimal(perPage))
}

// MyStatus reads the user's presence.
func (c *Client) MyStatus(ctx context.Context, userID string) error {
	return c.do(ctx, opMyStatus, nil, shown("user_id", userID, "status", ""), userID)
}

// UsersSince requests those of these users that changed after a moment, in Unix milliseconds, and returns how
// many did.
func (c *Client) UsersSince(ctx context.Context, ids []string, since int64) (n int, err error) {
	ps, err := c.profilesByID(ctx, ids, "?since="+millis(since))
	return len(ps), err
}

// PublicChannels returns a page of a team's open channels.
func (c *Client) PublicChannels(ctx context.Context, teamID string, page, perPage int) ([]Channel, error) {
	return pageOf(ctx, c, opPublicChannels, channels, teamID, page, perPage)
}

// Channel reads one channel.
func (c *Client) Channel(ctx context.Context, channelID string) (Channel, error) {
	return get(ctx, c, opChannel, func(b []byte) (Channel, error) {
		ch, err := readChannel(b)
		return ch, require(err, ch.ID == channelID, "another channel")
	}, channelID)
}

// open opens a channel of a type for users.
func (c *Client) open(ctx context.Context, o op, kind string, userIDs []string) (Channel, error) {
	return send(ctx, c, o, list(c.body(), userIDs), func(b []byte) (Channel, error) {
		ch, err := readChannel(b)
		if err == nil && ch.Type != kind {
			err = noEffect("a channel of type %.4q", ch.Type)
		}
		return ch, err
	})
}

// CreateDirect opens the direct channel of two users, which may be there already.
func (c *Client) CreateDirect(ctx context.Context, userID, other string) (Channel, error) {
	return c.open(ctx, opCreateDirect, "D", []string{userID, other})
}

// CreateGroup opens the group channel of three to eight users, which may be there already.
func (c *Client) CreateGroup(ctx context.Context, userIDs []string) (Channel, error) {
	return c.open(ctx, opCreateGroup, "G", userIDs)
}
