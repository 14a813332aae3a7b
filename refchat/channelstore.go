package refchat

import (
	"context"
	"database/sql"
)

const channelColumns = `c.id, c.createat, c.updateat, c.deleteat, c.teamid, c.type, c.displayname, c.name, c.header, c.purpose, c.lastpostat,
	c.totalmsgcount, c.extraupdateat, c.creatorid, c.totalmsgcountroot`

func (st *store) selectChannels(ctx context.Context, clause string, args ...any) ([]*channel, error) {
	list := []*channel{}
	err := st.query(ctx, nil, func(r *sql.Rows) error {
		c := &channel{}
		list = append(list, c)
		return r.Scan(&c.ID, &c.CreateAt, &c.UpdateAt, &c.DeleteAt, &c.TeamID, &c.Type, &c.DisplayName, &c.Name, &c.Header, &c.Purpose,
			&c.LastPostAt, &c.TotalMsgCount, &c.ExtraUpdateAt, &c.CreatorID, &c.TotalMsgCountRoot)
	}, "SELECT "+channelColumns+" FROM channels c "+clause, args...)
	return list, err
}

func (st *store) oneChannel(ctx context.Context, clause string, args ...any) (*channel, error) {
	list, err := st.selectChannels(ctx, clause, args...)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func (st *store) channelByID(ctx context.Context, id string) (c *channel, err error) {
	defer st.timed("ChannelStore.Get", &err)()
	return st.oneChannel(ctx, "WHERE c.id = ?", id)
}

func (st *store) channelByName(ctx context.Context, teamID, name string) (c *channel, err error) {
	defer st.timed("ChannelStore.GetByName", &err)()
	return st.oneChannel(ctx, "WHERE c.name = ? AND c.teamid = ? AND c.deleteat = 0", name, teamID)
}

func (st *store) publicChannels(ctx context.Context, teamID string, page, per int) (list []*channel, err error) {
	defer st.timed("ChannelStore.GetPublicChannelsForTeam", &err)()
	return st.selectChannels(ctx, "WHERE c.teamid = ? AND c.type = 'O' AND c.deleteat = 0 ORDER BY c.displayname, c.id LIMIT ? OFFSET ?", teamID, per, page*per)
}

// channelsOf lists a user's channels in a team, with the direct and group ones of no team.
func (st *store) channelsOf(ctx context.Context, userID, teamID string, deleted bool) (list []*channel, err error) {
	defer st.timed("ChannelStore.GetChannels", &err)()
	clause := "JOIN channelmembers m ON m.channelid = c.id WHERE m.userid = ? AND (c.teamid = ? OR c.teamid = '')"
	if !deleted {
		clause += " AND c.deleteat = 0"
	}
	return st.selectChannels(ctx, clause+" ORDER BY c.displayname, c.id", userID, teamID)
}

const channelInsert = `INSERT INTO channels (id, createat, updateat, deleteat, teamid, type, displayname, name, header, purpose, lastpostat,
	totalmsgcount, extraupdateat, creatorid, totalmsgcountroot) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func channelValues(c *channel) []any {
	return []any{c.ID, c.CreateAt, c.UpdateAt, c.DeleteAt, c.TeamID, c.Type, c.DisplayName, c.Name, c.Header, c.Purpose, c.LastPostAt,
		c.TotalMsgCount, c.ExtraUpdateAt, c.CreatorID, c.TotalMsgCountRoot}
}

// insertChannel stores a new channel with its first members, in one transaction.
func (st *store) insertChannel(ctx context.Context, c *channel, members []*channelMember) (err error) {
	defer st.timed("ChannelStore.Save", &err)()
	now := millis()
	c.ID, c.CreateAt, c.UpdateAt, c.LastPostAt, c.ExtraUpdateAt = newID(), now, now, now, 0
	return st.transact(ctx, func(tx *sql.Tx) error {
		if _, err := st.exec(ctx, tx, channelInsert, channelValues(c)...); err != nil {
			return err
		}
		for _, m := range members {
			m.ChannelID = c.ID
			if _, err := st.exec(ctx, tx, memberInsert, memberValues(m)...); err != nil {
				return err
			}
		}
		return nil
	})
}

const memberColumns = `m.channelid, m.userid, m.roles, m.lastviewedat, m.msgcount, m.mentioncount, m.notifyprops, m.lastupdateat, m.schemeuser,
	m.schemeadmin, m.schemeguest, m.mentioncountroot, m.msgcountroot`

func (st *store) selectMembers(ctx context.Context, clause string, args ...any) ([]*channelMember, error) {
	list := []*channelMember{}
	err := st.query(ctx, nil, func(r *sql.Rows) error {
		m := &channelMember{}
		var props string
		list = append(list, m)
		err := r.Scan(&m.ChannelID, &m.UserID, &m.ExplicitRoles, &m.LastViewedAt, &m.MsgCount, &m.MentionCount, &props, &m.LastUpdateAt,
			&m.SchemeUser, &m.SchemeAdmin, &m.SchemeGuest, &m.MentionCountRoot, &m.MsgCountRoot)
		m.NotifyProps, m.Roles = textMap(props), memberRoles("channel", m.SchemeAdmin)
		return err
	}, "SELECT "+memberColumns+" FROM channelmembers m "+clause, args...)
	return list, err
}

func (st *store) member(ctx context.Context, channelID, userID string) (m *channelMember, err error) {
	defer st.timed("ChannelStore.GetMember", &err)()
	list, err := st.selectMembers(ctx, "WHERE m.channelid = ? AND m.userid = ?", channelID, userID)
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func (st *store) memberPage(ctx context.Context, channelID string, page, per int) (list []*channelMember, err error) {
	defer st.timed("ChannelStore.GetMembers", &err)()
	return st.selectMembers(ctx, "WHERE m.channelid = ? ORDER BY m.userid LIMIT ? OFFSET ?", channelID, per, page*per)
}

// membersOf lists a user's memberships in a team and in no team.
func (st *store) membersOf(ctx context.Context, userID, teamID string) (list []*channelMember, err error) {
	defer st.timed("ChannelStore.GetMembersForUser", &err)()
	return st.selectMembers(ctx, "JOIN channels c ON c.id = m.channelid WHERE m.userid = ? AND c.deleteat = 0 AND (c.teamid = ? OR c.teamid = '')", userID, teamID)
}

// channelRoles returns what a user is in every channel.
func (st *store) channelRoles(ctx context.Context, userID string) (m map[string]channelRole, err error) {
	defer st.timed("ChannelStore.GetAllChannelMembersForUser", &err)()
	m = map[string]channelRole{}
	err = st.query(ctx, nil, func(r *sql.Rows) error {
		var id string
		var role channelRole
		err := r.Scan(&id, &role.admin)
		m[id] = role
		return err
	}, "SELECT channelid, schemeadmin FROM channelmembers WHERE userid = ?", userID)
	return m, err
}

const memberInsert = `INSERT INTO channelmembers (channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, lastupdateat,
	schemeuser, schemeadmin, schemeguest, mentioncountroot, msgcountroot) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`

func memberValues(m *channelMember) []any {
	return []any{m.ChannelID, m.UserID, m.ExplicitRoles, m.LastViewedAt, m.MsgCount, m.MentionCount, jsonText(m.NotifyProps), m.LastUpdateAt,
		m.SchemeUser, m.SchemeAdmin, m.SchemeGuest, m.MentionCountRoot, m.MsgCountRoot}
}

// newMember is a member as joining makes one: everything so far is read.
func newMember(c *channel, userID string, admin bool) *channelMember {
	return &channelMember{ChannelID: c.ID, UserID: userID, MsgCount: c.TotalMsgCount, MsgCountRoot: c.TotalMsgCountRoot,
		NotifyProps:  map[string]string{"desktop": "default", "email": "default", "ignore_channel_mentions": "default", "mark_unread": "all", "push": "default"},
		LastUpdateAt: millis(), SchemeUser: true, SchemeAdmin: admin, Roles: memberRoles("channel", admin)}
}

func (st *store) insertMember(ctx context.Context, m *channelMember) (err error) {
	defer st.timed("ChannelStore.SaveMember", &err)()
	_, err = st.exec(ctx, nil, memberInsert, memberValues(m)...)
	return err
}

func (st *store) deleteMember(ctx context.Context, channelID, userID string) (err error) {
	defer st.timed("ChannelStore.RemoveMember", &err)()
	_, err = st.exec(ctx, nil, "DELETE FROM channelmembers WHERE channelid = ? AND userid = ?", channelID, userID)
	return err
}

func (st *store) stats(ctx context.Context, channelID string) (x channelStats, err error) {
	defer st.timed("ChannelStore.GetMemberCount", &err)()
	x.ChannelID = channelID
	err = st.row(ctx, nil, []any{&x.MemberCount, &x.GuestCount}, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN m.schemeguest THEN 1 ELSE 0 END), 0)
		FROM channelmembers m JOIN users u ON u.id = m.userid WHERE m.channelid = ? AND u.deleteat = 0`, channelID)
	if err == nil {
		err = st.row(ctx, nil, []any{&x.PinnedCount}, "SELECT COUNT(*) FROM posts WHERE channelid = ? AND ispinned = ? AND deleteat = 0", channelID, true)
	}
	return x, err
}

func (st *store) unread(ctx context.Context, channelID, userID string) (x channelUnread, err error) {
	defer st.timed("ChannelStore.GetChannelUnread", &err)()
	x.ChannelID = channelID
	err = st.row(ctx, nil, []any{&x.TeamID, &x.MsgCount, &x.MsgCountRoot, &x.MentionCount, &x.MentionCountRoot},
		`SELECT c.teamid, c.totalmsgcount - m.msgcount, c.totalmsgcountroot - m.msgcountroot, m.mentioncount, m.mentioncountroot
		FROM channels c JOIN channelmembers m ON m.channelid = c.id WHERE c.id = ? AND m.userid = ? AND c.deleteat = 0`, channelID, userID)
	return x, err
}

// unreadMentions counts a user's unread mentions in a channel.
func (st *store) unreadMentions(ctx context.Context, channelID, userID string) (n int64, err error) {
	defer st.timed("UserStore.GetUnreadCountForChannel", &err)()
	err = st.row(ctx, nil, []any{&n}, `SELECT COALESCE(SUM(CASE WHEN c.type = 'D' THEN c.totalmsgcount - m.msgcount ELSE m.mentioncount END), 0)
		FROM channels c JOIN channelmembers m ON m.channelid = c.id WHERE c.id = ? AND m.userid = ?`, channelID, userID)
	return n, err
}

// markViewed sets what a user has read in a channel to all of it and returns the channel's time of last post.
func (st *store) markViewed(ctx context.Context, channelID, userID string) (lastPostAt int64, err error) {
	defer st.timed("ChannelStore.UpdateLastViewedAt", &err)()
	if st.eng == postgresEngine {
		err = st.row(ctx, nil, []any{&lastPostAt}, `WITH c AS (SELECT id, lastpostat, totalmsgcount, totalmsgcountroot FROM channels WHERE id = ?),
			updated AS (UPDATE channelmembers m SET mentioncount = 0, mentioncountroot = 0, msgcount = GREATEST(m.msgcount, c.totalmsgcount),
			msgcountroot = GREATEST(m.msgcountroot, c.totalmsgcountroot), lastviewedat = GREATEST(m.lastviewedat, c.lastpostat),
			lastupdateat = GREATEST(m.lastviewedat, c.lastpostat) FROM c WHERE m.userid = ? AND m.channelid = c.id)
			SELECT lastpostat FROM c`, channelID, userID)
		return lastPostAt, err
	}
	var total, root int64
	err = st.row(ctx, nil, []any{&lastPostAt, &total, &root}, "SELECT lastpostat, totalmsgcount, totalmsgcountroot FROM channels WHERE id = ?", channelID)
	if err == nil {
		_, err = st.exec(ctx, nil, `UPDATE channelmembers SET mentioncount = 0, mentioncountroot = 0, msgcount = GREATEST(msgcount, ?),
			msgcountroot = GREATEST(msgcountroot, ?), lastviewedat = GREATEST(lastviewedat, ?), lastupdateat = lastviewedat
			WHERE userid = ? AND channelid = ?`, total, root, lastPostAt, userID, channelID)
	}
	return lastPostAt, err
}

func (st *store) countMention(ctx context.Context, channelID, userID string, root bool) (err error) {
	defer st.timed("ChannelStore.IncrementMentionCount", &err)()
	n := 0
	if root {
		n = 1
	}
	_, err = st.exec(ctx, nil, "UPDATE channelmembers SET mentioncount = mentioncount + 1, mentioncountroot = mentioncountroot + ?, lastupdateat = ? WHERE userid = ? AND channelid = ?",
		n, millis(), userID, channelID)
	return err
}

// outgoingHooks counts the hooks that a post in a team could fire.
func (st *store) outgoingHooks(ctx context.Context, teamID string) (n int, err error) {
	defer st.timed("WebhookStore.GetOutgoingByTeam", &err)()
	err = st.query(ctx, nil, func(r *sql.Rows) error {
		var id, words, urls string
		n++
		return r.Scan(&id, &words, &urls)
	}, "SELECT id, triggerwords, callbackurls FROM outgoingwebhooks WHERE teamid = ? AND deleteat = 0", teamID)
	return n, err
}
