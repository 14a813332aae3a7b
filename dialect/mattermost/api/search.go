package api

import (
	"context"
	"net/url"
)

var (
	opSearchPosts          = newOp("search_posts", "POST /teams/{}/posts/search")
	opSearchAllPosts       = newOp("search_posts_all_teams", "POST /posts/search")
	opSearchUsers          = newOp("search_users", "POST /users/search", reads)
	opSearchChannels       = newOp("search_channels", "POST ", reads)
	opSearchGroups         = newOp("search_group_channels", "POST /channels/group/search", reads)
	opAutocompleteUsers    = newOp("autocomplete_users", "GET /users/autocomplete?in_team={}")
	opAutocompleteChannels = newOp("autocomplete_channels",
		"GET /teams/{}/channels/search_autocomplete?name={}")
)

// SearchPosts finds posts of the team, of all the user's teams if teamID is empty, newest first.
// The offset is the user's time zone, in seconds east of Greenwich.
func (c *Client) SearchPosts(
	ctx context.Context, teamID, terms string, offset int,
) ([]Seen, error) {
	o := opSearchPosts
	if teamID == "" {
		o = opSearchAllPosts
	}
	b := object(c.body(), "terms", terms, "is_or_search", false, "time_zone_offset", offset,
		"page", 0, "per_page", 20, "include_deleted_channels", false)
	return send(ctx, c, o, b, readPosts, teamID)
}

// SearchUsers finds users of the server by the beginnings of their names.
func (c *Client) SearchUsers(ctx context.Context, term string) ([]Profile, error) {
	return send(ctx, c, opSearchUsers, object(c.body(), "term", term, "limit", 100), profiles)
}

// SearchChannels finds channels of the team by their names, of all the user's teams if teamID is
// empty (servers since 7.8).
func (c *Client) SearchChannels(ctx context.Context, teamID, term string) ([]Channel, error) {
	path := "/channels/search?system_console=false"
	if teamID != "" {
		path = "/teams/" + url.PathEscape(teamID) + "/channels/search"
	}
	return send(ctx, c, opSearchChannels, object(c.body(), "term", term), channelsOrNone, path)
}

// SearchGroupChannels finds the user's group channels by the names of their members.
func (c *Client) SearchGroupChannels(ctx context.Context, term string) ([]Channel, error) {
	return send(ctx, c, opSearchGroups, object(c.body(), "term", term), channelsOrNone)
}

// AutocompleteChannels offers the channels that a search for posts can name after "in:".
func (c *Client) AutocompleteChannels(ctx context.Context, teamID, name string) ([]Channel, error) {
	return get(ctx, c, opAutocompleteChannels, channelsOrNone, teamID, name)
}

// AutocompleteUsers returns the users that a name being typed may mean: members of the channel,
// then the team's others; without a channel, the team's.
func (c *Client) AutocompleteUsers(
	ctx context.Context, teamID, channelID, name string,
) (in, out []Profile, err error) {
	query := "&name=" + url.QueryEscape(name) + "&limit=100"
	if channelID != "" {
		query = "&in_channel=" + url.QueryEscape(channelID) + query
	}
	err = c.do(ctx, opAutocompleteUsers, nil, func(b []byte) error {
		found := false
		err := eachField(b, func(k, v []byte) (err error) {
			switch {
			case string(k) == "users" && v[0] == '[':
				found = true
				in, err = profiles(v)
			case string(k) == "out_of_channel" && v[0] == '[':
				out, err = profiles(v)
			}
			return err
		})
		return require(err, found, "no users")
	}, teamID, query)
	return in, out, err
}

// channelsOrNone reads a list of channels; a server that has none may answer null.
var channelsOrNone = orNone(channels)
