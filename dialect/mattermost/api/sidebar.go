package api

import (
	"context"
	"slices"
)

var (
	opCategories = newOp("sidebar_categories", "GET /users/{}/teams/{}/channels/categories",
		wholeList)
	opCreateCategory = newOp("create_category", "POST /users/{}/teams/{}/channels/categories",
		mayCreate)
	opUpdateCategory = newOp("update_category", "PUT /users/{}/teams/{}/channels/categories")
)

// A Category is a section of a user's sidebar in a team.
type Category struct {
	ID, Name string
	Type     string // favorites, channels, direct_messages or custom
	Sorting  string // "", manual, recent or alpha
	Channels []string
}

func readCategory(b []byte) (c Category, err error) {
	err = fields(b, "id", &c.ID, "display_name", &c.Name, "type", &c.Type, "sorting", &c.Sorting,
		"channel_ids", &c.Channels)
	return c, require(err, c.ID != "", "a category without id")
}

var categories = orNone(listOf(readCategory))

// appendTo appends the category in the server's format.
func (c *Category) appendTo(b []byte, userID, teamID string) []byte {
	return object(b, "id", c.ID, "user_id", userID, "team_id", teamID, "display_name", c.Name,
		"type", c.Type, "sorting", c.Sorting, "channel_ids", c.Channels)
}

// Categories lists a user's sidebar in a team, in its order.
func (c *Client) Categories(ctx context.Context, userID, teamID string) ([]Category, error) {
	const none = "a sidebar without categories"
	some := holding(categories, none, func(cats []Category) bool { return len(cats) > 0 })
	return get(ctx, c, opCategories, member("categories", none, some), userID, teamID)
}

// CreateCategory adds a section with some of the user's channels and returns its id.
func (c *Client) CreateCategory(
	ctx context.Context, userID, teamID string, cat Category,
) (id string, err error) {
	b := cat.appendTo(c.body(), userID, teamID)
	return send(ctx, c, opCreateCategory, b, func(b []byte) (string, error) {
		got, err := readCategory(b)
		same := got.Name == cat.Name && slices.Equal(got.Channels, cat.Channels)
		return got.ID, require(err, same, "another category")
	}, userID, teamID)
}

// UpdateCategories changes sections: names of custom ones, sorting, and which channels are in them.
func (c *Client) UpdateCategories(
	ctx context.Context, userID, teamID string, cats []Category,
) error {
	b := array(c.body(), len(cats), func(b []byte, i int) []byte {
		return cats[i].appendTo(b, userID, teamID)
	})
	return c.do(ctx, opUpdateCategory, b, func(b []byte) error {
		got, err := categories(b)
		for i := range min(len(got), len(cats)) {
			same := got[i].ID == cats[i].ID && got[i].Sorting == cats[i].Sorting
			err = require(err, same, "another category")
			for _, ch := range cats[i].Channels {
				err = require(
					err,
					slices.Contains(got[i].Channels, ch),
					"a channel is missing in the category",
				)
			}
		}
		if err = require(err, len(got) <= len(cats), "another category"); err == nil &&
			len(got) < len(cats) {
			err = noEffect("%d categories of %d", len(got), len(cats))
		}
		return err
	}, userID, teamID)
}
