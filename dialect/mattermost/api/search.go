package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

var (
	opSearchPosts          = newOp("search_posts")
	opSearchAllPosts       = newOp("search_posts_all_teams")
	opSearchUsers          = newOp("search_users")
	opSearchChannels       = newOp("search_channels")
	opSearchGroups         = newOp("search_group_channels")
	opAutocompleteUsers    = newOp("autocomplete_users")
	opAutocompleteChannels = newOp("autocomplete_channels")
)

// SearchPosts finds posts of the team, of all the user's teams if teamID is empty, newest first. The offset is that
// of the user's days from Greenwich, in seconds.
func (c *Client) SearchPosts(ctx context.Context, teamID, terms string, offset int) (found []Seen, err error) {
	o, path := opSearchAllPosts, "/posts/search"
	if teamID != "" {
		o, path = opSearchPosts, "/teams/"+url.PathEscape(teamID)+"/posts/search"
	}
	err = c.send(ctx, o, path, func(b []byte) []byte {
		b = object(b, "terms", terms)
		b = append(b[:len(b)-1], `,"is_or_search":false,"time_zone_offset":`...)
		b = strconv.AppendInt(b, int64(offset), 10)
		return append(b, `,"page":0,"per_page":20,"include_deleted_channels":false}`...)
	}, func(resp *wire.Response) (err error) {
		found, err = readPosts(resp.Body)
		return err
	}, 200)
	return found, err
}

// SearchUsers finds users of the server by the beginnings of their names.
func (c *Client) SearchUsers(ctx context.Context, term string) (found []Profile, err error) {
	err = c.ask(ctx, opSearchUsers, "/users/search", func(b []byte) []byte {
		b = object(b, "term", term)
		return append(b[:len(b)-1], `,"limit":100}`...)
	}, func(resp *wire.Response) (err error) {
		found, err = profiles(resp.Body)
		return err
	})
	return found, err
}

// SearchChannels finds channels of the team by their names, of all the user's teams if teamID is empty (servers since
// 7.8).
func (c *Client) SearchChannels(ctx context.Context, teamID, term string) (found []Channel, err error) {
	path := "/channels/search?system_console=false"
	if teamID != "" {
		path = "/teams/" + url.PathEscape(teamID) + "/channels/search"
	}
	err = c.ask(ctx, opSearchChannels, path, func(b []byte) []byte { return object(b, "term", term) }, channelsIn(&found))
	return found, err
}

// SearchGroupChannels finds the user's group channels by the names of their members.
func (c *Client) SearchGroupChannels(ctx context.Context, term string) (found []Channel, err error) {
	err = c.ask(ctx, opSearchGroups, "/channels/group/search", func(b []byte) []byte { return object(b, "term", term) }, channelsIn(&found))
	return found, err
}

// AutocompleteChannels offers the channels that a search for posts can name after "in:".
func (c *Client) AutocompleteChannels(ctx context.Context, teamID, name string) (found []Channel, err error) {
	err = c.get(ctx, opAutocompleteChannels, "/teams/"+url.PathEscape(teamID)+"/channels/search_autocomplete?name="+url.QueryEscape(name), channelsIn(&found))
	return found, err
}

// AutocompleteUsers returns the users that a name being typed may mean: members of the channel, then the team's
// others; without a channel, the team's.
func (c *Client) AutocompleteUsers(ctx context.Context, teamID, channelID, name string) (in, out []Profile, err error) {
	path := "/users/autocomplete?in_team=" + url.QueryEscape(teamID)
	if channelID != "" {
		path += "&in_channel=" + url.QueryEscape(channelID)
	}
	err = c.get(ctx, opAutocompleteUsers, path+"&name="+url.QueryEscape(name)+"&limit=100", func(resp *wire.Response) error {
		found := false
		err := eachField(resp.Body, func(k, v []byte) (err error) {
			switch {
			case string(k) == "users" && v[0] == '[':
				found = true
				in, err = profiles(v)
			case string(k) == "out_of_channel" && v[0] == '[':
				out, err = profiles(v)
			}
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("%w: no users", ErrEffect)
		}
		return err
	})
	return in, out, err
}

// channelsIn reads a list of channels; a server that has none may answer null.
func channelsIn(found *[]Channel) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		return eachIn(resp.Body, func(v []byte) error {
			ch, err := readChannel(v)
			*found = append(*found, ch)
			return err
		})
	}
}
