package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

// The requests of a client that starts, comes back, or goes to another team.
var (
	opLogout           = newOp("logout")
	opUsers            = newOp("users")
	opPreferences      = newOp("preferences")
	opSetPreferences   = newOp("set_preferences")
	opRoles            = newOp("roles")
	opPlugins          = newOp("webapp_plugins")
	opTeams            = newOp("teams")
	opMyTeamMembers    = newOp("my_team_members")
	opTeamsUnread      = newOp("teams_unread")
	opMyChannels       = newOp("my_channels")
	opMyChannelMembers = newOp("my_channel_members")
	opMyStatus         = newOp("my_status")
	opPublicChannels   = newOp("public_channels")
	opCreateDirect     = newOp("create_direct_channel")
	opCreateGroup      = newOp("create_group_channel")
)

// many makes a GET request for a list whose elements show the pairs, and returns how many it has.
func (c *Client) many(ctx context.Context, o op, path string, pairs ...string) (n int, err error) {
	err = c.get(ctx, o, path, listed(&n, pairs...))
	return n, err
}

// Logout ends the session.
func (c *Client) Logout(ctx context.Context) error {
	return c.call(ctx, opLogout, &wire.Request{Method: "POST", Path: root + "/users/logout"}, done, 200)
}

// Users returns one page of the server's users; filter is a further part of the query, such as "&in_channel=ID".
func (c *Client) Users(ctx context.Context, page, perPage int, filter string) (ps []Profile, err error) {
	err = c.get(ctx, opUsers, fmt.Sprintf("/users?page=%d&per_page=%d%s", page, perPage, filter), func(resp *wire.Response) (err error) {
		ps, err = profiles(resp.Body)
		return err
	})
	return ps, err
}

// A Preference is a setting of a user.
type Preference struct{ Category, Name, Value string }

// Preferences reads the user's settings.
func (c *Client) Preferences(ctx context.Context, userID string) (list []Preference, err error) {
	err = c.get(ctx, opPreferences, "/users/"+url.PathEscape(userID)+"/preferences", func(resp *wire.Response) error {
		return eachElement(resp.Body, func(v []byte) error {
			var p Preference
			err := eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "category":
					p.Category = string(text(v))
				case "name":
					p.Name = string(text(v))
				case "value":
					p.Value = string(text(v))
				}
				return nil
			})
			if err == nil {
				// A name may be empty: the theme of all teams has none.
				err = shows(v, "user_id", userID, "category", "")
			}
			list = append(list, p)
			return err
		})
	})
	return list, err
}

// SetPreferences stores settings of the user.
func (c *Client) SetPreferences(ctx context.Context, userID string, list ...Preference) error {
	buf := []byte{'['}
	for i, p := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = object(buf, "user_id", userID, "category", p.Category, "name", p.Name, "value", p.Value)
	}
	return c.call(ctx, opSetPreferences, &wire.Request{
		Method: "PUT", Path: root + "/users/" + url.PathEscape(userID) + "/preferences", Body: append(buf, ']'),
	}, done, 200)
}

// Roles reads the permissions of the named roles and returns how many there are.
func (c *Client) Roles(ctx context.Context, names []string) (n int, err error) {
	var got []string
	err = c.ask(ctx, opRoles, "/roles/names", func(b []byte) []byte { return list(b, names) }, func(resp *wire.Response) error {
		if err := textsOf("name", &got)(resp); err != nil {
			return err
		}
		n = len(got)
		return among(got, names)
	})
	return n, err
}

// Plugins reads which plugins the web app must load.
func (c *Client) Plugins(ctx context.Context) (n int, err error) {
	return c.many(ctx, opPlugins, "/plugins/webapp", "id", "")
}

// Teams returns the ids of a page of the teams that anyone may join.
func (c *Client) Teams(ctx context.Context, perPage int) (ids []string, err error) {
	err = c.get(ctx, opTeams, "/teams?page=0&per_page="+strconv.Itoa(perPage), idsOf("id", &ids))
	return ids, err
}

// MyTeamMembers returns the ids of the teams of which the user is a member.
func (c *Client) MyTeamMembers(ctx context.Context, userID string) (teams []string, err error) {
	err = c.get(ctx, opMyTeamMembers, "/users/"+url.PathEscape(userID)+"/teams/members", idsOf("team_id", &teams))
	return teams, err
}

// TeamsUnread reads the unread counts of the user's teams.
func (c *Client) TeamsUnread(ctx context.Context, userID string) (n int, err error) {
	return c.many(ctx, opTeamsUnread, "/users/"+url.PathEscape(userID)+"/teams/unread", "team_id", "")
}

// MyChannels returns the user's channels in all teams.
func (c *Client) MyChannels(ctx context.Context, userID string) (chs []Channel, err error) {
	err = c.get(ctx, opMyChannels, "/users/"+url.PathEscape(userID)+"/channels?last_delete_at=0&include_deleted=true", func(resp *wire.Response) (err error) {
		chs, err = channels(resp.Body)
		return err
	})
	return chs, err
}

// MyChannelMembers reads one page of the user's memberships in all teams.
func (c *Client) MyChannelMembers(ctx context.Context, userID string, page, perPage int) (n int, err error) {
	path := fmt.Sprintf("/users/%s/channel_members?page=%d&per_page=%d", url.PathEscape(userID), page, perPage)
	err = c.get(ctx, opMyChannelMembers, path, func(resp *wire.Response) error {
		if err := listed(&n, "user_id", userID, "channel_id", "")(resp); err != nil {
			return err
		}
		return ends(page, n >= perPage)
	})
	return n, err
}

// MyStatus reads the user's presence.
func (c *Client) MyStatus(ctx context.Context, userID string) error {
	return c.get(ctx, opMyStatus, "/users/"+url.PathEscape(userID)+"/status", shown("user_id", userID, "status", ""))
}

// UsersSince requests those of these users that changed after a moment, in Unix milliseconds, and returns how
// many did.
func (c *Client) UsersSince(ctx context.Context, ids []string, since int64) (n int, err error) {
	err = c.ask(ctx, opUserIDs, "/users/ids?since="+millis(since), func(b []byte) []byte { return list(b, ids) }, func(resp *wire.Response) error {
		ps, err := profiles(resp.Body)
		if err != nil {
			return err
		}
		n = len(ps)
		return among(idsOfProfiles(ps), ids)
	})
	return n, err
}

// PublicChannels returns a page of a team's open channels.
func (c *Client) PublicChannels(ctx context.Context, teamID string, page, perPage int) (chs []Channel, err error) {
	path := fmt.Sprintf("/teams/%s/channels?page=%d&per_page=%d", url.PathEscape(teamID), page, perPage)
	err = c.get(ctx, opPublicChannels, path, func(resp *wire.Response) (err error) {
		if chs, err = channels(resp.Body); err != nil {
			return err
		}
		return ends(page, len(chs) >= perPage)
	})
	return chs, err
}

// Channel reads one channel.
func (c *Client) Channel(ctx context.Context, channelID string) (ch Channel, err error) {
	err = c.get(ctx, opChannel, "/channels/"+url.PathEscape(channelID), func(resp *wire.Response) (err error) {
		if ch, err = readChannel(resp.Body); err == nil && ch.ID != channelID {
			err = fmt.Errorf("%w: another channel", ErrEffect)
		}
		return err
	})
	return ch, err
}

// ofKind reads one channel of a type.
func ofKind(kind string, ch *Channel) func(*wire.Response) error {
	return func(resp *wire.Response) (err error) {
		if *ch, err = readChannel(resp.Body); err == nil && ch.Type != kind {
			err = fmt.Errorf("%w: a channel of type %.4q", ErrEffect, ch.Type)
		}
		return err
	}
}

// CreateDirect opens the direct channel of two users, which may be there already.
func (c *Client) CreateDirect(ctx context.Context, userID, other string) (ch Channel, err error) {
	err = c.send(ctx, opCreateDirect, "/channels/direct", func(b []byte) []byte { return list(b, []string{userID, other}) }, ofKind("D", &ch), 201)
	return ch, err
}

// CreateGroup opens the group channel of three to eight users, which may be there already.
func (c *Client) CreateGroup(ctx context.Context, userIDs []string) (ch Channel, err error) {
	err = c.send(ctx, opCreateGroup, "/channels/group", func(b []byte) []byte { return list(b, userIDs) }, ofKind("G", &ch), 201)
	return ch, err
}
