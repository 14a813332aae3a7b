package refchat

import (
	"context"
	"database/sql"
)

var channelKind = define(kind[channel]{
	table: "channels", alias: "c",
	columns: "id, createat, updateat, deleteat, teamid, type, displayname, name, header, " +
		"purpose, lastpostat, totalmsgcount, extraupdateat, creatorid, " +
		"totalmsgcountroot",
	fields: func(c *channel) []any {
		return []any{&c.ID, &c.CreateAt, &c.UpdateAt, &c.DeleteAt, &c.TeamID, &c.Type, &c.DisplayName,
			&c.Name, &c.Header, &c.Purpose, &c.LastPostAt, &c.TotalMsgCount, &c.ExtraUpdateAt,
			&c.CreatorID, &c.TotalMsgCountRoot}
	},
})

var (
	channelByID    = channelKind.query("ChannelStore.Get", "WHERE c.id = ?")
	channelByName  = channelKind.query("ChannelStore.GetByName", "WHERE c.name = ? AND c.teamid = ? AND c.deleteat = 0")
	publicChannels = channelKind.query("ChannelStore.GetPublicChannelsForTeam", "WHERE c.teamid = ? AND c.type = 'O' AND c.deleteat = 0 ORDER BY c.displayname, c.id LIMIT ? OFFSET ?")
	// channelsOf are a user's channels in a team, with the direct and group ones of no team; with those deleted or without.
	channelsOf = map[bool]*query[channel]{
		false: channelKind.query("ChannelStore.GetChannels", inChannels+"AND (c.teamid = ? OR c.teamid = '') AND c.deleteat = 0 ORDER BY c.displayname, c.id"),
		true:  channelKind.query("ChannelStore.GetChannels", inChannels+"AND (c.teamid = ? OR c.teamid = '') ORDER BY c.displayname, c.id"),
	}
	allChannelsOf = map[bool]*query[channel]{
		false: channelKind.query("ChannelStore.GetChannelsByUser", inChannels+"AND c.deleteat = 0 ORDER BY c.id"),
		true:  channelKind.query("ChannelStore.GetChannelsByUser", inChannels+"ORDER BY c.id"),
	}
)

const inChannels = "JOIN channelmembers m ON m.channelid = c.id WHERE m.userid = ? "

// insertChannel stores a new channel with its first members, in one transaction.
func (st *store) insertChannel(ctx context.Context, c *channel, members []*channelMember) error {
	now := millis()
	c.ID, c.CreateAt, c.UpdateAt, c.LastPostAt, c.ExtraUpdateAt = newID(), now, now, now, 0
	return st.method(ctx, "ChannelStore.Save", func(tx *sql.Tx) error {
		if err := channelKind.insert(ctx, st, tx, c); err != nil {
			return err
		}
		for _, m := range members {
			m.ChannelID = c.ID
			if err := memberKind.insert(ctx, st, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

var memberKind = define(kind[channelMember]{
	table: "channelmembers", alias: "m",
	columns: "channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, " +
		"lastupdateat, schemeuser, schemeadmin, schemeguest, mentioncountroot, " +
		"msgcountroot",
	fields: func(m *channelMember) []any {
		return []any{&m.ChannelID, &m.UserID, &m.ExplicitRoles, &m.LastViewedAt, &m.MsgCount, &m.MentionCount,
			encoded[map[string]string]{&m.NotifyProps, textMap}, &m.LastUpdateAt, &m.SchemeUser,
			&m.SchemeAdmin, &m.SchemeGuest, &m.MentionCountRoot, &m.MsgCountRoot}
	},
	then: func(m *channelMember) { m.Roles = memberRoles("channel", m.SchemeAdmin) },
})

var (
	memberOf   = memberKind.query("ChannelStore.GetMember", "WHERE m.channelid = ? AND m.userid = ?")
	memberPage = memberKind.query("ChannelStore.GetMembers", "WHERE m.channelid = ? ORDER BY m.userid LIMIT ? OFFSET ?")
	// membersOf are a user's memberships in a team and in no team.
	membersOf = memberKind.query("ChannelStore.GetMembersForUser", "JOIN channels c ON c.id = m.channelid WHERE m.userid = ? AND c.deleteat = 0 AND (c.teamid = ? OR c.teamid = '')")

	allMembersOf = memberKind.query("ChannelStore.GetMembersForUserWithPagination", "JOIN channels c ON c.id = m.channelid WHERE m.userid = ? AND c.deleteat = 0 ORDER BY m.channelid LIMIT ? OFFSET ?")
	dropMember   = command{"ChannelStore.RemoveMember", "DELETE FROM channelmembers WHERE channelid = ? AND userid = ?"}
)

// memberRole is a member as a permission check reads it: with the schemes of the channel and its team, none of which
// this server gives.
func (st *store) memberRole(ctx context.Context, channelID, userID string) (role channelRole, err error) {
	defer st.timed("ChannelStore.GetMember", &err)()
	var notify, user, admin string
	err = st.row(ctx, nil, []any{&role.admin, &notify, &user, &admin}, `SELECT m.schemeadmin, m.notifyprops,
		COALESCE(cs.defaultchanneluserrole, ts.defaultchanneluserrole, ''), COALESCE(cs.defaultchanneladminrole, ts.defaultchanneladminrole, '')
		FROM channelmembers m JOIN channels c ON c.id = m.channelid LEFT JOIN schemes cs ON cs.id = c.schemeid
		LEFT JOIN teams t ON t.id = c.teamid LEFT JOIN schemes ts ON ts.id = t.schemeid WHERE m.channelid = ? AND m.userid = ?`, channelID, userID)
	return role, err
}

// channelRoles returns the user's role in every channel.
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

// newMember is a member as joining makes one: everything so far is read.
func newMember(c *channel, userID string, admin bool) *channelMember {
	return &channelMember{ChannelID: c.ID, UserID: userID, MsgCount: c.TotalMsgCount, MsgCountRoot: c.TotalMsgCountRoot,
		NotifyProps:  map[string]string{"desktop": "default", "email": "default", "ignore_channel_mentions": "default", "mark_unread": "all", "push": "default"},
		LastUpdateAt: memberTime(millis()), SchemeUser: true, SchemeAdmin: admin, Roles: memberRoles("channel", admin)}
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

// markViewed marks all posts of channels as read by a user and returns the channels' times of last post.
func (st *store) markViewed(ctx context.Context, ids []string, userID string) (times map[string]int64, err error) {
	defer st.timed("ChannelStore.UpdateLastViewedAt", &err)()
	times = map[string]int64{}
	if st.eng == postgresEngine {
		err = st.query(ctx, nil, func(r *sql.Rows) error {
			var id string
			var at int64
			err := r.Scan(&id, &at)
			times[id] = at
			return err
		}, `WITH c AS (SELECT id, lastpostat, totalmsgcount, totalmsgcountroot FROM channels WHERE id = ANY(?)),
			updated AS (UPDATE channelmembers m SET mentioncount = 0, mentioncountroot = 0, msgcount = GREATEST(m.msgcount, c.totalmsgcount),
			msgcountroot = GREATEST(m.msgcountroot, c.totalmsgcountroot), lastviewedat = GREATEST(m.lastviewedat, c.lastpostat),
			lastupdateat = GREATEST(m.lastviewedat, c.lastpostat) FROM c WHERE m.userid = ? AND m.channelid = c.id)
			SELECT id, lastpostat FROM c`, ids, userID)
	} else {
		type read struct{ at, total, root int64 }
		found := map[string]read{}
		if err = st.query(ctx, nil, func(r *sql.Rows) error {
			var id string
			var x read
			err := r.Scan(&id, &x.at, &x.total, &x.root)
			found[id], times[id] = x, x.at
			return err
		}, "SELECT id, lastpostat, totalmsgcount, totalmsgcountroot FROM channels WHERE id = ANY(?)", ids); err != nil {
			return nil, err
		}
		for id, x := range found {
			if _, err = st.exec(ctx, nil, `UPDATE channelmembers SET mentioncount = 0, mentioncountroot = 0, msgcount = GREATEST(msgcount, ?),
				msgcountroot = GREATEST(msgcountroot, ?), lastviewedat = GREATEST(lastviewedat, ?), lastupdateat = lastviewedat
				WHERE userid = ? AND channelid = ?`, x.total, x.root, x.at, userID, id); err != nil {
				return nil, err
			}
		}
	}
	if err == nil && len(times) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	return times, nil
}

// viewThreads marks the threads that a user follows in channels as read.
func (st *store) viewThreads(ctx context.Context, ids []string, userID string) (err error) {
	defer st.timed("ThreadStore.MarkAllAsReadInChannels", &err)()
	threads, err := st.strings(ctx, nil, `SELECT tm.postid FROM threadmemberships tm JOIN threads t ON t.postid = tm.postid JOIN channels c ON c.id = t.channelid
		WHERE c.id = ANY(?) AND tm.userid = ?`, ids, userID)
	if err != nil {
		return err
	}
	return st.setThreads(ctx, "lastviewed = ?, unreadmentions = 0", millis(), userID, threads)
}

// setThreads changes a user's memberships of threads. Without threads the statement is sent all the same, as by the
// real server.
func (st *store) setThreads(ctx context.Context, set string, at int64, userID string, threads []string) error {
	if len(threads) == 0 {
		return st.run(ctx, nil, "UPDATE threadmemberships SET "+set+" WHERE userid = ? AND 1 = 0", at, userID)
	}
	return st.run(ctx, nil, "UPDATE threadmemberships SET "+set+" WHERE userid = ? AND postid = ANY(?)", at, userID, threads)
}

// countMention counts a mention of a member, and notes it in the threads with newer replies that the member follows.
func (st *store) countMention(ctx context.Context, channelID, userID string, root bool) (err error) {
	defer st.timed("ChannelStore.IncrementMentionCount", &err)()
	now := millis()
	threads, err := st.strings(ctx, nil, `SELECT t.postid FROM threads t LEFT JOIN channelmembers m ON m.channelid = t.channelid
		WHERE t.channelid = ? AND m.userid = ? AND t.lastreplyat > m.lastviewedat`, channelID, userID)
	if err != nil {
		return err
	}
	n := 0
	if root {
		n = 1
	}
	if err := st.run(ctx, nil, "UPDATE channelmembers SET mentioncount = mentioncount + 1, mentioncountroot = mentioncountroot + ?, lastupdateat = ? WHERE userid = ? AND channelid = ?",
		n, now, userID, channelID); err != nil {
		return err
	}
	return st.setThreads(ctx, "lastupdated = ?", now, userID, threads)
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
