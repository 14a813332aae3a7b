package api

import (
	"cmp"
	"context"
	"strconv"
)

var (
	opChannelByName  = newOp("channel_by_name", "GET /teams/{}/channels/name/{}", setup)
	opCreateChannel  = newOp("create_channel", "POST /channels", created)
	opChannel        = newOp("channel", "GET /channels/{}")
	opChannelMembers = newOp("channel_members", "GET /channels/{}/members?page={}&per_page={}")
	opChannelMember  = newOp("channel_member", "GET /channels/{}/members/{}")
	opJoinChannel    = newOp("join_channel", "POST /channels/{}/members", created)
	opTeamChannels   = newOp("team_channels", "GET /users/{}/teams/{}/channels?include_deleted={}",
		wholeList)
	opTeamChannelMembers = newOp("team_channel_members", "GET /users/{}/teams/{}/channels/members",
		wholeList)
	opChannelStats = newOp("channel_stats", "GET /channels/{}/stats?exclude_files_count={}")
	opViewChannel  = newOp("view_channel", "POST /channels/members/{}/view", reads)
	opMyChannels   = newOp("my_channels",
		"GET /users/{}/channels?last_delete_at=0&include_deleted=true", wholeList)
	opMyChannelMembers = newOp("my_channel_members",
		"GET /users/{}/channel_members?page={}&per_page={}", wholeList)
	opPublicChannels = newOp("public_channels", "GET /teams/{}/channels?page={}&per_page={}")
	opCreateDirect   = newOp("create_direct_channel", "POST /channels/direct", created)
	opCreateGroup    = newOp("create_group_channel", "POST /channels/group", created)
)

// ChannelByName returns a channel's id.
func (c *Client) ChannelByName(ctx context.Context, teamID, name string) (id string, err error) {
	return get(ctx, c, opChannelByName, idIn("id", "name", name), teamID, name)
}

// MakeChannel creates a channel of type O or P.
func (c *Client) MakeChannel(ctx context.Context, teamID, name, kind string) (Channel, error) {
	b := object(c.body(), "team_id", teamID, "name", name, "display_name", name, "type", kind)
	return send(ctx, c, opCreateChannel, b,
		holding(readChannel, "another channel", func(ch Channel) bool {
			return ch.Name == name && ch.Type == kind
		}))
}

// ByName orders channels by name and, where that is the same, by identifier.
func ByName(x, y Channel) int {
	return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
}

// ChannelMembers returns one page of the user ids of a channel.
func (c *Client) ChannelMembers(
	ctx context.Context, channelID string, page, perPage int,
) (ids []string, err error) {
	return pageOf(ctx, c, opChannelMembers, userIDsIn, channelID, page, perPage)
}

// JoinChannel makes a user a member of a channel.
func (c *Client) JoinChannel(ctx context.Context, channelID, userID string) error {
	b := object(c.body(), "user_id", userID)
	return c.do(ctx, opJoinChannel, b, shown("channel_id", channelID, "user_id", userID), channelID)
}

// A Channel holds the needed fields of a channel.
type Channel struct {
	ID, Name string
	Type     string // O open, P private, D direct, G group
	TeamID   string // "" for D and G
	Archived bool
	Messages int64  // posts so far
	People   string // of a group channel, the names of its users in their order
}

// TeamChannels returns the channels of a user in a team, direct and group channels included, with
// the archived ones or without.
func (c *Client) TeamChannels(
	ctx context.Context, userID, teamID string, archived bool,
) ([]Channel, error) {
	return get(ctx, c, opTeamChannels, channels, userID, teamID, strconv.FormatBool(archived))
}

var channels = listOf(readChannel)

func readChannel(b []byte) (ch Channel, err error) {
	var display []byte
	err = eachField(b, func(k, v []byte) (err error) {
		switch string(k) {
		case "id":
			ch.ID, err = idText(v)
		case "name":
			ch.Name = string(text(v))
		case "type":
			ch.Type = string(text(v))
		case "team_id":
			ch.TeamID, err = idText(v)
		case "display_name":
			display = v
		case "delete_at":
			ch.Archived = number(v) > 0
		case "total_msg_count":
			ch.Messages = number(v)
		}
		return err
	})
	if ch.Type == "G" && err == nil {
		ch.People = string(text(display))
	}
	return ch, require(err, ch.ID != "", "a channel without id")
}

// TeamChannelMembers reads the user's memberships in a team's channels, with their unread counts,
// and returns how many there are.
func (c *Client) TeamChannelMembers(ctx context.Context, userID, teamID string) (int, error) {
	return get(ctx, c, opTeamChannelMembers, listed("user_id", userID, "channel_id", ""), userID,
		teamID)
}

// JoinChannelAll makes users members of a channel, as a user with that permission, and returns how
// many of the first ones it added: all, or one on a server that adds one at a time.
func (c *Client) JoinChannelAll(
	ctx context.Context, channelID string, userIDs []string,
) (int, error) {
	b := object(c.body(), "user_id", userIDs[0], "user_ids", userIDs)
	return send(ctx, c, opJoinChannel, b, func(b []byte) (int, error) {
		if len(b) > 0 && b[0] == '{' {
			return 1, shows(b, "user_id", userIDs[0])
		}
		return added(b, userIDs)
	}, channelID)
}

// A Membership holds the needed fields of a user's membership in a channel.
type Membership struct {
	Seen     int64 // server time of the last look, Unix ms; -1 if the server does not tell others
	Messages int64 // how many of the channel's posts it has seen
	Mentions int64 // unread
}

// ChannelMember reads a user's membership of a channel.
func (c *Client) ChannelMember(ctx context.Context, channelID, userID string) (Membership, error) {
	return get(ctx, c, opChannelMember, func(b []byte) (Membership, error) {
		m := Membership{Seen: -1, Messages: -1, Mentions: -1}
		err := shows(b, "user_id", userID, "channel_id", channelID)
		if err != nil {
			return m, err
		}
		// Releases since 10.12 answer -1 for memberships of others, later ones leave both out.
		var seen, changed []byte
		err = fields(b, "last_viewed_at", &seen, "last_update_at", &changed,
			"msg_count", amountTo(&m.Messages), "mention_count", amountTo(&m.Mentions))
		looked := false
		if seen != nil {
			m.Seen, looked = whole(seen)
		}
		shown := looked == (changed != nil) && m.Messages >= 0 && m.Mentions >= 0
		return m, require(err, shown, "no counts of the member")
	}, channelID, userID)
}

// ChannelStats returns the number of a channel's members. With files, the server counts the
// channel's files, too.
func (c *Client) ChannelStats(
	ctx context.Context, channelID string, files bool,
) (members int64, err error) {
	return get(ctx, c, opChannelStats, countIn("member_count", "channel_id", channelID), channelID,
		strconv.FormatBool(!files))
}

// ViewChannel reports that the user views a channel now, and prev no longer ("" if there was none).
// It returns the time until which the channel counts as seen, in Unix milliseconds of the server.
func (c *Client) ViewChannel(
	ctx context.Context, userID, channelID, prev string,
) (seen int64, err error) {
	b := object(c.body(), "channel_id", channelID, "prev_channel_id", prev)
	if c.Collapse {
		b = append(b[:len(b)-1], `,"collapsed_threads_supported":true}`...)
	}
	return send(ctx, c, opViewChannel, b, func(b []byte) (int64, error) {
		seen := int64(-1)
		err := inside(b, "last_viewed_at_times", func(v []byte) error {
			return fields(v, channelID, amountTo(&seen))
		})
		return seen, require(err, seen >= 0, "no time for the channel")
	}, userID)
}

// MyChannels returns the user's channels in all teams.
func (c *Client) MyChannels(ctx context.Context, userID string) ([]Channel, error) {
	return get(ctx, c, opMyChannels, channels, userID)
}

// MyChannelMembers reads one page of the user's memberships in all teams.
func (c *Client) MyChannelMembers(
	ctx context.Context, userID string, page, perPage int,
) (int, error) {
	return get(ctx, c, opMyChannelMembers, func(b []byte) (int, error) {
		n, err := listed("user_id", userID, "channel_id", "")(b)
		return n, ends(err, page, n >= perPage)
	}, userID, decimal(page), decimal(perPage))
}

// PublicChannels returns a page of a team's open channels.
func (c *Client) PublicChannels(
	ctx context.Context, teamID string, page, perPage int,
) ([]Channel, error) {
	return pageOf(ctx, c, opPublicChannels, channels, teamID, page, perPage)
}

// Channel reads one channel.
func (c *Client) Channel(ctx context.Context, channelID string) (Channel, error) {
	return get(ctx, c, opChannel, holding(readChannel, "another channel", func(ch Channel) bool {
		return ch.ID == channelID
	}), channelID)
}

// Open opens the direct channel of two users, or the group channel of three to eight. The channel
// may be there already.
func (c *Client) Open(ctx context.Context, userIDs []string) (Channel, error) {
	o := opCreateDirect
	kind := "D"
	if len(userIDs) > 2 {
		o = opCreateGroup
		kind = "G"
	}
	return send(ctx, c, o, list(c.body(), userIDs), func(b []byte) (Channel, error) {
		ch, err := readChannel(b)
		if err == nil && ch.Type != kind {
			err = noEffect("a channel of type %.4q", ch.Type)
		}
		return ch, err
	})
}
