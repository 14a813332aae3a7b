package api

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

var (
	opChannelByName      = newSetupOp("channel_by_name")
	opCreateChannel      = newOp("create_channel")
	opChannel            = newOp("channel")
	opChannelMembers     = newOp("channel_members")
	opChannelMember      = newOp("channel_member")
	opJoinChannel        = newOp("join_channel")
	opTeamChannels       = newOp("team_channels")
	opTeamChannelMembers = newOp("team_channel_members")
	opChannelStats       = newOp("channel_stats")
	opViewChannel        = newOp("view_channel")
)

// ChannelByName returns a channel's id.
func (c *Client) ChannelByName(ctx context.Context, teamID, name string) (id string, err error) {
	err = c.get(ctx, opChannelByName, "/teams/"+url.PathEscape(teamID)+"/channels/name/"+url.PathEscape(name), func(resp *wire.Response) error {
		if err := shows(resp.Body, "name", name); err != nil {
			return err
		}
		return idIn("id", &id)(resp)
	})
	return id, err
}

// MakeChannel creates a channel of type O or P.
func (c *Client) MakeChannel(ctx context.Context, teamID, name, kind string) (ch Channel, err error) {
	err = c.send(ctx, opCreateChannel, "/channels", func(b []byte) []byte {
		return object(b, "team_id", teamID, "name", name, "display_name", name, "type", kind)
	}, func(resp *wire.Response) (err error) {
		if ch, err = readChannel(resp.Body); err == nil && (ch.Name != name || ch.Type != kind) {
			err = fmt.Errorf("%w: another channel", ErrEffect)
		}
		return err
	}, 201)
	return ch, err
}

// ByName orders channels by name and, where that is the same, by identifier.
func ByName(x, y Channel) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) }

// ChannelMembers returns one page of the user ids of a channel.
func (c *Client) ChannelMembers(ctx context.Context, channelID string, page, perPage int) (ids []string, err error) {
	err = c.get(ctx, opChannelMembers, fmt.Sprintf("/channels/%s/members?page=%d&per_page=%d", url.PathEscape(channelID), page, perPage), membersOf(page, perPage, &ids))
	return ids, err
}

// JoinChannel makes a user a member of a channel.
func (c *Client) JoinChannel(ctx context.Context, channelID, userID string) error {
	return c.send(ctx, opJoinChannel, "/channels/"+url.PathEscape(channelID)+"/members", func(b []byte) []byte {
		return object(b, "user_id", userID)
	}, shown("channel_id", channelID, "user_id", userID), 201)
}

// A Channel holds the needed fields of a channel.
type Channel struct {
	ID, Name string
	Type     string // O open, P private, D direct, G group
	TeamID   string // "" for D and G
	Archived bool
	Messages int64 // posts so far
}

// TeamChannels returns the channels of a user in a team, direct and group channels included;
// archived includes those that were archived.
func (c *Client) TeamChannels(ctx context.Context, userID, teamID string, archived bool) (chs []Channel, err error) {
	path := "/users/" + url.PathEscape(userID) + "/teams/" + url.PathEscape(teamID) + "/channels?include_deleted=" + strconv.FormatBool(archived)
	err = c.get(ctx, opTeamChannels, path, func(resp *wire.Response) error {
		chs, err = channels(resp.Body)
		return err
	})
	return chs, err
}

func channels(b []byte) (chs []Channel, err error) {
	err = eachElement(b, func(v []byte) error {
		ch, err := readChannel(v)
		chs = append(chs, ch)
		return err
	})
	return chs, err
}

func readChannel(b []byte) (ch Channel, err error) {
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
		case "delete_at":
			ch.Archived = number(v) > 0
		case "total_msg_count":
			ch.Messages = number(v)
		}
		return err
	})
	if err == nil && ch.ID == "" {
		err = fmt.Errorf("%w: a channel without id", ErrEffect)
	}
	return ch, err
}

// TeamChannelMembers reads the user's memberships in a team's channels, with their unread counts, and returns how
// many there are.
func (c *Client) TeamChannelMembers(ctx context.Context, userID, teamID string) (n int, err error) {
	err = c.get(ctx, opTeamChannelMembers, "/users/"+url.PathEscape(userID)+"/teams/"+url.PathEscape(teamID)+"/channels/members", listed(&n, "user_id", userID, "channel_id", ""))
	return n, err
}

// JoinChannelAll makes users members of a channel, as a user with that permission, and returns how many of the first
// ones it added: all, or one on a server that adds one at a time.
func (c *Client) JoinChannelAll(ctx context.Context, channelID string, userIDs []string) (n int, err error) {
	err = c.send(ctx, opJoinChannel, "/channels/"+url.PathEscape(channelID)+"/members", func(b []byte) []byte {
		b = append(b, `{"user_id":`...)
		b = appendString(b, userIDs[0])
		b = append(b, `,"user_ids":`...)
		return append(list(b, userIDs), '}')
	}, func(resp *wire.Response) error {
		if len(resp.Body) > 0 && resp.Body[0] == '{' {
			n = 1
			return shows(resp.Body, "user_id", userIDs[0])
		}
		var added []string
		err := idsOf("user_id", &added)(resp)
		if n = len(added); err == nil && n != len(userIDs) {
			err = fmt.Errorf("%w: %d of %d users were added", ErrEffect, n, len(userIDs))
		}
		if err == nil {
			err = among(added, userIDs)
		}
		return err
	}, 201)
	return n, err
}

// A Membership holds the needed fields of a user's membership in a channel.
type Membership struct {
	Seen     int64 // server time of the last look, Unix ms; -1 if the server does not tell others
	Messages int64 // how many of the channel's posts it has seen
	Mentions int64 // unread
}

// ChannelMember reads a user's membership of a channel.
func (c *Client) ChannelMember(ctx context.Context, channelID, userID string) (m Membership, err error) {
	err = c.get(ctx, opChannelMember, "/channels/"+url.PathEscape(channelID)+"/members/"+url.PathEscape(userID), func(resp *wire.Response) error {
		if err := shows(resp.Body, "user_id", userID, "channel_id", channelID); err != nil {
			return err
		}
		m.Seen, m.Messages, m.Mentions = -1, -1, -1
		looked, changed := false, false // releases since 10.12 answer -1 for memberships of others, later ones leave both out
		if err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "last_viewed_at":
				m.Seen, looked = whole(v)
			case "last_update_at":
				changed = true
			case "msg_count":
				m.Messages = amount(v)
			case "mention_count":
				m.Mentions = amount(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if looked != changed || m.Messages < 0 || m.Mentions < 0 {
			return fmt.Errorf("%w: no counts of the member", ErrEffect)
		}
		return nil
	})
	return m, err
}

// ChannelStats reads a channel's counts, with that of its files or without, and returns that of its members.
func (c *Client) ChannelStats(ctx context.Context, channelID string, files bool) (members int64, err error) {
	path := "/channels/" + url.PathEscape(channelID) + "/stats?exclude_files_count=" + strconv.FormatBool(!files)
	err = c.get(ctx, opChannelStats, path, func(resp *wire.Response) error {
		if err := shows(resp.Body, "channel_id", channelID); err != nil {
			return err
		}
		return countIn("member_count", &members)(resp)
	})
	return members, err
}

// ViewChannel reports that the user views a channel now, and prev no longer ("" if there was none). It returns the
// moment, by the server's clock in Unix milliseconds, up to which the channel counts as seen.
func (c *Client) ViewChannel(ctx context.Context, userID, channelID, prev string) (seen int64, err error) {
	err = c.ask(ctx, opViewChannel, "/channels/members/"+url.PathEscape(userID)+"/view", func(b []byte) []byte {
		b = object(b, "channel_id", channelID, "prev_channel_id", prev)
		if c.collapse {
			b = append(b[:len(b)-1], `,"collapsed_threads_supported":true}`...)
		}
		return b
	}, func(resp *wire.Response) error {
		seen = -1
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "last_viewed_at_times" || v[0] != '{' {
				return nil
			}
			return eachField(v, func(k, v []byte) error {
				if string(k) == channelID {
					seen = amount(v)
				}
				return nil
			})
		}); err != nil {
			return err
		}
		if seen < 0 {
			return fmt.Errorf("%w: no time for the channel", ErrEffect)
		}
		return nil
	})
	return seen, err
}
