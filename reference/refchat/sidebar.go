package refchat

import (
	"context"
	"database/sql"
	"slices"
)

// category is a section of a user's sidebar in a team, with its channels in order.
type category struct {
	ID          string   `json:"id"`
	UserID      string   `json:"user_id"`
	TeamID      string   `json:"team_id"`
	SortOrder   int64    `json:"sort_order"`
	Sorting     string   `json:"sorting"`
	Type        string   `json:"type"`
	DisplayName string   `json:"display_name"`
	Muted       bool     `json:"muted"`
	Collapsed   bool     `json:"collapsed"`
	ChannelIDs  []string `json:"channel_ids"`
}

const (
	favoritesCategory = "favorites"
	channelsCategory  = "channels"
	directCategory    = "direct_messages"
	customCategory    = "custom"
	sidebarStep       = 10 // between sort orders
)

var categoryKind = define(kind[category]{
	table: "sidebarcategories", alias: "c",
	columns: "id, userid, teamid, sortorder, sorting, type, displayname, muted, collapsed",
})

// placedChannel is a section with one of its channels, or nil without any.
type placedChannel struct {
	category
	Placed *string
}

var (
	// storeSection stores one of the three sections, which another request may make at the same
	// moment.
	storeSection = categoryKind.upsert("id", "type")
	// placedOf are the sections of a user in a team, as often as they have channels.
	placedOf = selects[placedChannel]("", categoryKind.columns+", placed",
		"SELECT "+categoryKind.selected+`, s.channelid
		FROM sidebarcategories c LEFT JOIN sidebarchannels s ON s.categoryid = c.id WHERE c.userid = ? AND c.teamid = ?
		ORDER BY c.sortorder, c.id, s.sortorder`)
	// sidebarChannels are a user's channels in a team and in no team.
	sidebarChannels = selects[channel]("", "id, type",
		`SELECT c.id, c.type FROM channels c JOIN channelmembers m ON m.channelid = c.id
		WHERE m.userid = ? AND (c.teamid = ? OR c.teamid = '') AND c.deleteat = 0 ORDER BY c.displayname, c.id`)
)

// categories returns a user's sidebar in a team, and makes it with the three sections of every user
// if there is none. The list is complete: a channel that no section claims is in the section of its
// kind.
func (st *store) categories(
	ctx context.Context,
	userID, teamID string,
) (list []*category, err error) {
	defer st.timed("ChannelStore.GetSidebarCategories", &err)()
	if list, err = st.storedCategories(ctx, userID, teamID); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		list = firstCategories(userID, teamID)
		for _, c := range list {
			if err := st.run(ctx, storeSection, categoryKind.content(c)...); err != nil {
				return nil, err
			}
		}
	}
	channels, err := sidebarChannels.rows(ctx, st, userID, teamID)
	if err != nil {
		return nil, err
	}
	claimed := map[string]bool{}
	for _, c := range list {
		for _, id := range c.ChannelIDs {
			claimed[id] = true
		}
	}
	free := map[string][]string{}
	for _, c := range channels {
		section := channelsCategory
		if c.Type == directChannel || c.Type == groupChannel {
			section = directCategory
		}
		if !claimed[c.ID] {
			free[section] = append(free[section], c.ID)
		}
	}
	for _, c := range list {
		if ids := free[c.Type]; len(ids) > 0 {
			c.ChannelIDs = append(ids, c.ChannelIDs...)
		}
	}
	return list, nil
}

// firstCategories are the sections of every user.
func firstCategories(userID, teamID string) []*category {
	list := []*category{
		{Type: favoritesCategory, DisplayName: "Favorites"},
		{Type: channelsCategory, DisplayName: "Channels"},
		{Type: directCategory, DisplayName: "Direct Messages", Sorting: "recent"},
	}
	for i, c := range list {
		c.ID = c.Type + "_" + userID + "_" + teamID
		c.UserID = userID
		c.TeamID = teamID
		c.SortOrder = int64(i * sidebarStep)
		c.ChannelIDs = []string{}
	}
	return list
}

func (st *store) storedCategories(ctx context.Context, userID, teamID string) ([]*category, error) {
	placed, err := placedOf.rows(ctx, st, userID, teamID)
	list := []*category{}
	for _, x := range placed {
		if n := len(list); n == 0 || list[n-1].ID != x.ID {
			x.ChannelIDs = []string{}
			list = append(list, &x.category)
		}
		if c := list[len(list)-1]; x.Placed != nil {
			c.ChannelIDs = append(c.ChannelIDs, *x.Placed)
		}
	}
	return list, err
}

var insertPlace = insertInto("sidebarchannels", "channelid, userid, categoryid, sortorder")

// claim moves channels to one section of a user's sidebar in a team.
func (st *store) claim(ctx context.Context, c *category, others []*category) error {
	var ids []string
	for _, o := range others {
		ids = append(ids, o.ID)
	}
	if len(ids) > 0 && len(c.ChannelIDs) > 0 {
		if err := st.run(ctx, "DELETE FROM sidebarchannels WHERE categoryid = ANY(?) AND channelid = ANY(?)", ids, c.ChannelIDs); err != nil {
			return err
		}
	}
	if err := st.run(ctx, "DELETE FROM sidebarchannels WHERE categoryid = ?", c.ID); err != nil {
		return err
	}
	for i, id := range c.ChannelIDs {
		if err := st.run(ctx, insertPlace, id, c.UserID, c.ID, i*sidebarStep); err != nil {
			return err
		}
	}
	return nil
}

// createCategory stores a new section behind the favorites, or first where those are not.
func (st *store) createCategory(ctx context.Context, c *category) error {
	return st.method(ctx, "ChannelStore.CreateSidebarCategory", func(tx *store) error {
		list, err := tx.categories(ctx, c.UserID, c.TeamID)
		if err != nil {
			return err
		}
		at := 0
		if len(list) > 0 && list[0].Type == favoritesCategory {
			at = 1
		}
		c.SortOrder = int64(len(list)+1) * sidebarStep
		if err := categoryKind.insert(ctx, tx, c); err != nil {
			return err
		}
		if err := tx.claim(ctx, c, list); err != nil {
			return err
		}
		for i, x := range slices.Insert(list, at, c) {
			x.SortOrder = int64(i) * sidebarStep
			if err := tx.run(ctx, "UPDATE sidebarcategories SET sortorder = ? WHERE id = ?", x.SortOrder, x.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateCategories stores changed sections and returns them complete; sql.ErrNoRows if one of them
// is not the user's.
func (st *store) updateCategories(
	ctx context.Context,
	userID, teamID string,
	changes []*category,
) (out []*category, err error) {
	defer st.timed("ChannelStore.UpdateSidebarCategories", &err)()
	err = st.transact(ctx, func(tx *store) error {
		list, err := tx.categories(ctx, userID, teamID)
		if err != nil {
			return err
		}
		for _, change := range changes {
			i := slices.IndexFunc(list, func(c *category) bool { return c.ID == change.ID })
			if i < 0 {
				return sql.ErrNoRows
			}
			c := *list[i]
			c.Sorting, c.Collapsed = change.Sorting, change.Collapsed
			if c.Type == customCategory {
				c.DisplayName = change.DisplayName
			}
			if c.Type != directCategory {
				c.ChannelIDs, c.Muted = change.ChannelIDs, change.Muted
			}
			err := tx.run(
				ctx,
				"UPDATE sidebarcategories SET displayname = ?, sorting = ?, muted = ?, collapsed = ? WHERE id = ?",
				c.DisplayName,
				c.Sorting,
				c.Muted,
				c.Collapsed,
				c.ID,
			)
			if err != nil {
				return err
			}
			if c.Type != directCategory {
				if err := tx.claim(ctx, &c, list); err != nil {
					return err
				}
			}
			if err := tx.saveFavorites(ctx, list[i], &c); err != nil {
				return err
			}
		}
		all, err := tx.categories(ctx, userID, teamID)
		if err != nil {
			return err
		}
		out = out[:0]
		for _, change := range changes {
			out = append(out,
				all[slices.IndexFunc(all, func(c *category) bool { return c.ID == change.ID })])
		}
		return nil
	})
	return out, err
}

// saveFavorites keeps the preferences, which older clients read, in step with the favorites.
func (st *store) saveFavorites(ctx context.Context, old, now *category) error {
	gone := now.ChannelIDs
	if now.Type == favoritesCategory {
		gone = old.ChannelIDs
	}
	if len(gone) > 0 {
		if err := st.run(ctx, "DELETE FROM preferences WHERE userid = ? AND category = 'favorite_channel' AND name = ANY(?)", now.UserID, gone); err != nil {
			return err
		}
	}
	if now.Type != favoritesCategory {
		return nil
	}
	for _, id := range now.ChannelIDs {
		if err := st.run(ctx, storePreference, now.UserID, "favorite_channel", id, "true"); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) getCategories() error {
	list, err := q.st.categories(q, q.userID, q.teamID)
	if err != nil {
		return errStore("channel.sidebar_categories", err)
	}
	order := make([]string, 0, len(list))
	for _, c := range list {
		order = append(order, c.ID)
	}
	return q.reply(map[string]any{"categories": list, "order": order})
}

// keepOwn leaves of each section's channels those that the user is in.
func (q *request) keepOwn(list ...*category) error {
	mine, err := q.channelsOfUser(q, q.userID)
	if err != nil {
		return err
	}
	for _, c := range list {
		kept := []string{}
		for _, id := range c.ChannelIDs {
			if mine[id] && !slices.Contains(kept, id) {
				kept = append(kept, id)
			}
		}
		c.ChannelIDs = kept
	}
	return nil
}

func (c *category) valid() bool {
	return len(c.DisplayName) <= 64 && slices.Contains([]string{"", "manual", "recent", "alpha"},
		c.Sorting)
}

func (q *request) createCategory(c *category) error {
	if c.UserID != q.userID || c.TeamID != q.teamID || !c.valid() {
		return errBody("category")
	}
	if err := q.keepOwn(c); err != nil {
		return err
	}
	c.ID = newID()
	c.Type = customCategory
	c.Sorting = ""
	c.Collapsed = false
	if err := q.st.createCategory(q, c); err != nil {
		return errStore("channel.sidebar_categories", err)
	}
	q.publish("sidebar_category_created", broadcast{
		UserID: q.userID,
		TeamID: q.teamID,
	}, "category_id", c.ID)
	return q.reply(c)
}

func (q *request) updateCategories(in *[]*category) error {
	list := *in
	if slices.ContainsFunc(list, func(c *category) bool { return c == nil || !c.valid() }) {
		return errBody("category")
	}
	if err := q.keepOwn(list...); err != nil {
		return err
	}
	out, err := q.st.updateCategories(q, q.userID, q.teamID, list)
	if err != nil {
		return errFind("channel.sidebar_categories", err, errBody("category"))
	}
	q.publish("sidebar_category_updated", broadcast{
		UserID: q.userID,
		TeamID: q.teamID,
	}, "updatedCategories", jsonText(out))
	return q.reply(out)
}
