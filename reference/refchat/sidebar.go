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

var sidebarChannelTable = table{"sidebarchannels", `channelid varchar(26) NOT NULL, userid varchar(26) NOT NULL, categoryid varchar(128) NOT NULL, sortorder bigint,
	PRIMARY KEY (channelid, userid, categoryid)`, []string{"idx_sidebarchannels_categoryid: categoryid"}}

var sidebarRoutes = []operation{
	{"GET /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26", "getCategoriesForTeamForUser", (*Server).getCategories},
	{"POST /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26", "createCategoryForTeamForUser", (*Server).createCategory},
	{"PUT /users/{user_id}/teams/{team_id}/channels/categories own team since 5.26", "updateCategoriesForTeamForUser", (*Server).updateCategories},
}

// categories returns a user's sidebar in a team, and makes it with the three sections of every user if there is none.
// The list is complete: channels that no section claims are in that of their kind.
func (st *store) categories(ctx context.Context, tx *sql.Tx, userID, teamID string) (list []*category, err error) {
	defer st.timed("ChannelStore.GetSidebarCategories", &err)()
	if list, err = st.storedCategories(ctx, tx, userID, teamID); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		for i, kind := range []string{favoritesCategory, channelsCategory, directCategory} {
			c := &category{ID: kind + "_" + userID + "_" + teamID, UserID: userID, TeamID: teamID, SortOrder: int64(i * sidebarStep), Type: kind,
				DisplayName: []string{"Favorites", "Channels", "Direct Messages"}[i], ChannelIDs: []string{}}
			if kind == directCategory {
				c.Sorting = "recent"
			}
			// Another request may make the same at this moment.
			if err := st.insertCategory(ctx, tx, upsert("sidebarcategories", categoryColumns, "id", "type"), c); err != nil {
				return nil, err
			}
			list = append(list, c)
		}
	}
	claimed := map[string]bool{}
	by := map[string]*category{}
	for _, c := range list {
		if c.Type != customCategory {
			by[c.Type] = c
		}
		for _, id := range c.ChannelIDs {
			claimed[id] = true
		}
	}
	free := map[string][]string{}
	err = st.query(ctx, tx, func(r *sql.Rows) error {
		var id, kind string
		err := r.Scan(&id, &kind)
		section := channelsCategory
		if kind == directChannel || kind == groupChannel {
			section = directCategory
		}
		if !claimed[id] {
			free[section] = append(free[section], id)
		}
		return err
	}, `SELECT c.id, c.type FROM channels c JOIN channelmembers m ON m.channelid = c.id WHERE m.userid = ? AND (c.teamid = ? OR c.teamid = '')
		AND c.deleteat = 0 ORDER BY c.displayname, c.id`, userID, teamID)
	for section, ids := range free {
		if c := by[section]; c != nil {
			c.ChannelIDs = append(ids, c.ChannelIDs...)
		}
	}
	return list, err
}

func (st *store) storedCategories(ctx context.Context, tx *sql.Tx, userID, teamID string) ([]*category, error) {
	list := []*category{}
	err := st.query(ctx, tx, func(r *sql.Rows) error {
		c := &category{ChannelIDs: []string{}}
		var channel sql.NullString
		if err := r.Scan(&c.ID, &c.UserID, &c.TeamID, &c.SortOrder, &c.Sorting, &c.Type, &c.DisplayName, &c.Muted, &c.Collapsed, &channel); err != nil {
			return err
		}
		if n := len(list); n > 0 && list[n-1].ID == c.ID {
			c = list[n-1]
		} else {
			list = append(list, c)
		}
		if channel.Valid {
			c.ChannelIDs = append(c.ChannelIDs, channel.String)
		}
		return nil
	}, `SELECT c.id, c.userid, c.teamid, c.sortorder, c.sorting, c.type, c.displayname, c.muted, c.collapsed, s.channelid
		FROM sidebarcategories c LEFT JOIN sidebarchannels s ON s.categoryid = c.id WHERE c.userid = ? AND c.teamid = ?
		ORDER BY c.sortorder, c.id, s.sortorder`, userID, teamID)
	return list, err
}

const categoryColumns = "id, userid, teamid, sortorder, sorting, type, displayname, muted, collapsed"

func (st *store) insertCategory(ctx context.Context, tx *sql.Tx, text string, c *category) error {
	return st.run(ctx, tx, text, c.ID, c.UserID, c.TeamID, c.SortOrder, c.Sorting, c.Type, c.DisplayName, c.Muted, c.Collapsed)
}

// claim makes channels those of one section of a user's sidebar in a team, and of no other there.
func (st *store) claim(ctx context.Context, tx *sql.Tx, c *category, others []*category) error {
	var ids []string
	for _, o := range others {
		ids = append(ids, o.ID)
	}
	if len(ids) > 0 && len(c.ChannelIDs) > 0 {
		if err := st.run(ctx, tx, "DELETE FROM sidebarchannels WHERE categoryid = ANY(?) AND channelid = ANY(?)", ids, c.ChannelIDs); err != nil {
			return err
		}
	}
	if err := st.run(ctx, tx, "DELETE FROM sidebarchannels WHERE categoryid = ?", c.ID); err != nil {
		return err
	}
	for i, id := range c.ChannelIDs {
		if err := st.run(ctx, tx, "INSERT INTO sidebarchannels (channelid, userid, categoryid, sortorder) VALUES (?,?,?,?)", id, c.UserID, c.ID, i*sidebarStep); err != nil {
			return err
		}
	}
	return nil
}

// createCategory stores a new section behind the favorites, or first where those are not.
func (st *store) createCategory(ctx context.Context, c *category) error {
	return st.method(ctx, "ChannelStore.CreateSidebarCategory", func(tx *sql.Tx) error {
		list, err := st.categories(ctx, tx, c.UserID, c.TeamID)
		if err != nil {
			return err
		}
		at := 0
		if len(list) > 0 && list[0].Type == favoritesCategory {
			at = 1
		}
		c.SortOrder = int64(len(list)+1) * sidebarStep
		if err := st.insertCategory(ctx, tx, insertInto("sidebarcategories", categoryColumns), c); err != nil {
			return err
		}
		if err := st.claim(ctx, tx, c, list); err != nil {
			return err
		}
		for i, x := range slices.Insert(list, at, c) {
			x.SortOrder = int64(i) * sidebarStep
			if err := st.run(ctx, tx, "UPDATE sidebarcategories SET sortorder = ? WHERE id = ?", x.SortOrder, x.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// updateCategories stores changed sections and returns them complete; sql.ErrNoRows if one of them is not the user's.
func (st *store) updateCategories(ctx context.Context, userID, teamID string, changes []*category) (out []*category, err error) {
	defer st.timed("ChannelStore.UpdateSidebarCategories", &err)()
	err = st.transact(ctx, func(tx *sql.Tx) error {
		list, err := st.categories(ctx, tx, userID, teamID)
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
			if err := st.run(ctx, tx, "UPDATE sidebarcategories SET displayname = ?, sorting = ?, muted = ?, collapsed = ? WHERE id = ?",
				c.DisplayName, c.Sorting, c.Muted, c.Collapsed, c.ID); err != nil {
				return err
			}
			if c.Type != directCategory {
				if err := st.claim(ctx, tx, &c, list); err != nil {
					return err
				}
			}
			if err := st.saveFavorites(ctx, tx, list[i], &c); err != nil {
				return err
			}
		}
		all, err := st.categories(ctx, tx, userID, teamID)
		if err != nil {
			return err
		}
		out = out[:0]
		for _, change := range changes {
			out = append(out, all[slices.IndexFunc(all, func(c *category) bool { return c.ID == change.ID })])
		}
		return nil
	})
	return out, err
}

// saveFavorites keeps the preferences, which older clients read, in step with the favorites.
func (st *store) saveFavorites(ctx context.Context, tx *sql.Tx, old, now *category) error {
	gone := now.ChannelIDs
	if now.Type == favoritesCategory {
		gone = old.ChannelIDs
	}
	if len(gone) > 0 {
		if err := st.run(ctx, tx, "DELETE FROM preferences WHERE userid = ? AND category = 'favorite_channel' AND name = ANY(?)", now.UserID, gone); err != nil {
			return err
		}
	}
	if now.Type != favoritesCategory {
		return nil
	}
	for _, id := range now.ChannelIDs {
		if err := st.run(ctx, tx, storePreference, now.UserID, "favorite_channel", id, "true"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) getCategories(q *request) error {
	list, err := s.st.categories(q.ctx(), nil, q.userID, q.teamID)
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
func (s *Server) keepOwn(ctx context.Context, userID string, list ...*category) error {
	mine, err := s.rolesOf(ctx, userID)
	if err != nil {
		return err
	}
	for _, c := range list {
		kept := []string{}
		for _, id := range c.ChannelIDs {
			if _, ok := mine[id]; ok && !slices.Contains(kept, id) {
				kept = append(kept, id)
			}
		}
		c.ChannelIDs = kept
	}
	return nil
}

func (c *category) valid() bool {
	return len(c.DisplayName) <= 64 && slices.Contains([]string{"", "manual", "recent", "alpha"}, c.Sorting)
}

func (s *Server) createCategory(q *request) error {
	var c category
	if err := q.decode(&c, "category"); err != nil || c.UserID != q.userID || c.TeamID != q.teamID || !c.valid() {
		return errBody("category")
	}
	ctx := q.ctx()
	if err := s.keepOwn(ctx, q.userID, &c); err != nil {
		return err
	}
	c.ID, c.Type, c.Sorting, c.Collapsed = newID(), customCategory, "", false
	if err := s.st.createCategory(ctx, &c); err != nil {
		return errStore("channel.sidebar_categories", err)
	}
	s.publish("sidebar_category_created", broadcast{UserID: q.userID, TeamID: q.teamID}, "category_id", c.ID)
	return q.reply(&c)
}

func (s *Server) updateCategories(q *request) error {
	var list []*category
	if err := q.decode(&list, "category"); err != nil || slices.ContainsFunc(list, func(c *category) bool { return c == nil || !c.valid() }) {
		return errBody("category")
	}
	ctx := q.ctx()
	if err := s.keepOwn(ctx, q.userID, list...); err != nil {
		return err
	}
	out, err := s.st.updateCategories(ctx, q.userID, q.teamID, list)
	if err != nil {
		return errFind("channel.sidebar_categories", err, errBody("category"))
	}
	s.publish("sidebar_category_updated", broadcast{UserID: q.userID, TeamID: q.teamID}, "updatedCategories", jsonText(out))
	return q.reply(out)
}
