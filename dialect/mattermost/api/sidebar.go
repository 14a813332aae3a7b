package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"plimsoll/load/wire"
)

var (
	opCategories     = newOp("sidebar_categories")
	opCreateCategory = newOp("create_category")
	opUpdateCategory = newOp("update_category")
)

// A Category is a section of a user's sidebar in a team.
type Category struct {
	ID, Name string
	Type     string // favorites, channels, direct_messages or custom
	Sorting  string // "", manual, recent or alpha
	Channels []string
}

func readCategory(v []byte) (c Category, err error) {
	if err = texts(v, []string{"id", "display_name", "type", "sorting"}, &c.ID, &c.Name, &c.Type, &c.Sorting); err != nil {
		return c, err
	}
	if c.ID == "" {
		return c, fmt.Errorf("%w: a category without id", ErrEffect)
	}
	return c, eachField(v, func(k, v []byte) error {
		if string(k) != "channel_ids" || v[0] != '[' {
			return nil
		}
		return eachElement(v, func(v []byte) error { c.Channels = append(c.Channels, string(text(v))); return nil })
	})
}

// appendTo appends the category in the server's format.
func (c *Category) appendTo(b []byte, userID, teamID string) []byte {
	b = object(b, "id", c.ID, "user_id", userID, "team_id", teamID, "display_name", c.Name, "type", c.Type, "sorting", c.Sorting)
	b = append(b[:len(b)-1], `,"channel_ids":`...)
	b = list(b, c.Channels)
	return append(b, '}')
}

func categoriesPath(userID, teamID string) string {
	return userPath(userID) + "/teams/" + url.PathEscape(teamID) + "/channels/categories"
}

// Categories lists a user's sidebar in a team, in its order.
func (c *Client) Categories(ctx context.Context, userID, teamID string) (cats []Category, err error) {
	err = c.get(ctx, opCategories, categoriesPath(userID, teamID), func(resp *wire.Response) error {
		err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "categories" {
				return nil
			}
			return eachIn(v, func(v []byte) error {
				cat, err := readCategory(v)
				cats = append(cats, cat)
				return err
			})
		})
		if err == nil && len(cats) == 0 {
			err = fmt.Errorf("%w: a sidebar without categories", ErrEffect)
		}
		return err
	})
	return cats, err
}

// CreateCategory adds a section with some of the user's channels and returns its id.
func (c *Client) CreateCategory(ctx context.Context, userID, teamID string, cat Category) (id string, err error) {
	err = c.send(ctx, opCreateCategory, categoriesPath(userID, teamID), func(b []byte) []byte { return cat.appendTo(b, userID, teamID) },
		func(resp *wire.Response) error {
			got, err := readCategory(resp.Body)
			if err != nil {
				return err
			}
			if id = got.ID; got.Name != cat.Name || !slices.Equal(got.Channels, cat.Channels) {
				return fmt.Errorf("%w: another category", ErrEffect)
			}
			return nil
		}, 200, 201)
	return id, err
}

// UpdateCategories changes sections: names of custom ones, sorting, and which channels are in them.
func (c *Client) UpdateCategories(ctx context.Context, userID, teamID string, cats []Category) error {
	return c.sendAs(ctx, "PUT", opUpdateCategory, categoriesPath(userID, teamID), func(b []byte) []byte {
		b = append(b, '[')
		for i := range cats {
			if i > 0 {
				b = append(b, ',')
			}
			b = cats[i].appendTo(b, userID, teamID)
		}
		return append(b, ']')
	}, func(resp *wire.Response) error {
		i := 0
		err := eachIn(resp.Body, func(v []byte) error {
			got, err := readCategory(v)
			if err != nil {
				return err
			}
			if i >= len(cats) || got.ID != cats[i].ID || got.Sorting != cats[i].Sorting {
				return fmt.Errorf("%w: another category", ErrEffect)
			}
			for _, ch := range cats[i].Channels {
				if !slices.Contains(got.Channels, ch) {
					return fmt.Errorf("%w: a channel is missing in the category", ErrEffect)
				}
			}
			i++
			return nil
		})
		if err == nil && i != len(cats) {
			err = fmt.Errorf("%w: %d categories of %d", ErrEffect, i, len(cats))
		}
		return err
	}, 200)
}
