package refchat

import (
	"context"
	"database/sql"
)

var channelKind = define(kind[channel]{
	table: "channels",
	alias: "c",
	columns: "id, createat, updateat, deleteat, teamid, type, displayname, name, header, purpose, " +
		"lastpostat, totalmsgcount, extraupdateat, creatorid, totalmsgcountroot",
})

const (
	inChannels   = "JOIN channelmembers m ON m.channelid = c.id WHERE m.userid = ? "
	inChannelsOf = inChannels + "AND (c.teamid = ? OR c.teamid = '') "
	byName       = "ORDER BY c.displayname, c.id"
)

var (
	channelByID   = channelKind.query("ChannelStore.Get", "WHERE c.id = ?")
	channelByName = channelKind.query("ChannelStore.GetByName",
		"WHERE c.name = ? AND c.teamid = ? AND c.deleteat = 0")
	publicChannels = channelKind.query("ChannelStore.GetPublicChannelsForTeam",
		"WHERE c.teamid = ? AND c.type = 'O' AND c.deleteat = 0 "+byName+" LIMIT ? OFFSET ?")
	// channelsOf are a user's channels in a team, with the direct and group ones of no team; with
	// those deleted or without.
	channelsOf = map[bool]*query[channel]{
		false: channelKind.query(
			"ChannelStore.GetChannels",
			inChannelsOf+"AND c.deleteat = 0 "+byName,
		),
		true: channelKind.query("ChannelStore.GetChannels", inChannelsOf+byName),
	}
	allChannelsOf = map[bool]*query[channel]{
		false: channelKind.query(
			"ChannelStore.GetChannelsByUser",
			inChannels+"AND c.deleteat = 0 ORDER BY c.id",
		),
		true: channelKind.query("ChannelStore.GetChannelsByUser", inChannels+"ORDER BY c.id"),
	}
)

// insertChannel stores a new channel with its first members, in one transaction.
func (st *store) insertChannel(ctx context.Context, c *channel, members []*channelMember) error {
	now := millis()
	c.ID = newID()
	c.CreateAt = now
	c.UpdateAt = now
	c.LastPostAt = now
	c.ExtraUpdateAt = 0
	return st.method(ctx, "ChannelStore.Save", func(tx *store) error {
		if err := channelKind.insert(ctx, tx, c); err != nil {
			return err
		}
		for _, m := range members {
			m.ChannelID = c.ID
			if err := memberKind.insert(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

var memberKind = define(kind[channelMember]{
	table: "channelmembers",
	alias: "m",
	columns: "channelid, userid, roles, lastviewedat, msgcount, mentioncount, notifyprops, lastupdateat, " +
		"schemeuser, schemeadmin, schemeguest, mentioncountroot, msgcountroot",
	then: func(m *channelMember) { m.Roles = memberRoles("channel", m.SchemeAdmin) },
})

var (
	memberOf   = memberKind.query("ChannelStore.GetMember", "WHERE m.channelid = ? AND m.userid = ?")
	memberPage = memberKind.query("ChannelStore.GetMembers",
		"WHERE m.channelid = ? ORDER BY m.userid LIMIT ? OFFSET ?")
	// membersOf are a user's memberships in a team and in no team.
	membersOf = memberKind.query(
		"ChannelStore.GetMembersForUser",
		"JOIN channels c ON c.id = m.channelid WHERE m.userid = ? AND c.deleteat = 0 AND (c.teamid = ? OR c.teamid = '')",
	)
	allMembersOf = memberKind.query(
		"ChannelStore.GetMembersForUserWithPagination",
		"JOIN channels c ON c.id = m.channelid WHERE m.userid = ? AND c.deleteat = 0 ORDER BY m.channelid LIMIT ? OFFSET ?",
	)
	dropMember = command{"ChannelStore.RemoveMember",
		"DELETE FROM channelmembers WHERE channelid = ? AND userid = ?"}
)

// memberRole is a member as a permission check reads it, with the roles that the schemes of the
// channel or its team give. This server has no schemes.
type memberRole struct {
	SchemeAdmin bool
	NotifyProps string
	UserRole    string
	AdminRole   string
}

// roleOf reads the member of a channel for a permission check.
var roleOf = selects[memberRole](
	"ChannelStore.GetMember",
	"schemeadmin, notifyprops, userrole, adminrole",
	`SELECT m.schemeadmin, m.notifyprops, COALESCE(cs.defaultchanneluserrole, ts.defaultchanneluserrole, ''),
	COALESCE(cs.defaultchanneladminrole, ts.defaultchanneladminrole, '')
	FROM channelmembers m JOIN channels c ON c.id = m.channelid LEFT JOIN schemes cs ON cs.id = c.schemeid
	LEFT JOIN teams t ON t.id = c.teamid LEFT JOIN schemes ts ON ts.id = t.schemeid WHERE m.channelid = ? AND m.userid = ?`,
)

// channelRole is a user's membership of a channel.
type channelRole struct {
	ChannelID   string
	SchemeAdmin bool
}

var channelRoles = selects[channelRole]("ChannelStore.GetAllChannelMembersForUser",
	"channelid, schemeadmin",
	"SELECT channelid, schemeadmin FROM channelmembers WHERE userid = ?")

// newMember is a member as joining makes one: everything so far is read.
func newMember(c *channel, userID string, admin bool) *channelMember {
	return &channelMember{
		ChannelID:    c.ID,
		UserID:       userID,
		MsgCount:     c.TotalMsgCount,
		MsgCountRoot: c.TotalMsgCountRoot,
		NotifyProps: map[string]string{
			"desktop":                 "default",
			"email":                   "default",
			"ignore_channel_mentions": "default",
			"mark_unread":             "all",
			"push":                    "default",
		},
		LastUpdateAt: memberTime(millis()),
		SchemeUser:   true,
		SchemeAdmin:  admin,
		Roles:        memberRoles("channel", admin),
	}
}

var (
	membersCount = `SELECT COUNT(*), COALESCE(SUM(CASE WHEN m.schemeguest THEN 1 ELSE 0 END), 0)
		FROM channelmembers m JOIN users u ON u.id = m.userid WHERE m.channelid = ? AND u.deleteat = 0`
	pinnedCount = "SELECT COUNT(*) FROM posts WHERE channelid = ? AND ispinned = ? AND deleteat = 0"
)

func (st *store) stats(ctx context.Context, channelID string) (x channelStats, err error) {
	defer st.timed("ChannelStore.GetMemberCount", &err)()
	x.ChannelID = channelID
	err = st.row(ctx, []any{&x.MemberCount, &x.GuestCount}, membersCount, channelID)
	if err == nil {
		err = st.row(ctx, []any{&x.PinnedCount}, pinnedCount, channelID, true)
	}
	return x, err
}

var unreadIn = selects[channelUnread](
	"ChannelStore.GetChannelUnread",
	"teamid, msgcount, msgcountroot, mentioncount, mentioncountroot",
	`SELECT c.teamid, c.totalmsgcount - m.msgcount, c.totalmsgcountroot - m.msgcountroot, m.mentioncount,
	m.mentioncountroot FROM channels c JOIN channelmembers m ON m.channelid = c.id WHERE c.id = ? AND m.userid = ? AND c.deleteat = 0`,
)

var (
	viewedChannels = selects[channel]("", "id, lastpostat, totalmsgcount, totalmsgcountroot",
		"SELECT id, lastpostat, totalmsgcount, totalmsgcountroot FROM channels WHERE id = ANY(?)")
	// viewChannels does the same and updates the memberships.
	viewChannels = selects[channel]("", "id, lastpostat", `WITH c AS (`+viewedChannels.text+`),
		updated AS (UPDATE channelmembers m SET mentioncount = 0, mentioncountroot = 0,
		msgcount = GREATEST(m.msgcount, c.totalmsgcount), msgcountroot = GREATEST(m.msgcountroot, c.totalmsgcountroot),
		lastviewedat = GREATEST(m.lastviewedat, c.lastpostat), lastupdateat = GREATEST(m.lastviewedat, c.lastpostat)
		FROM c WHERE m.userid = ? AND m.channelid = c.id) SELECT id, lastpostat FROM c`)
	viewChannel = `UPDATE channelmembers SET mentioncount = 0, mentioncountroot = 0, msgcount = GREATEST(msgcount, ?),
		msgcountroot = GREATEST(msgcountroot, ?), lastviewedat = GREATEST(lastviewedat, ?), lastupdateat = lastviewedat
		WHERE userid = ? AND channelid = ?`
)

// markViewed marks all posts of channels as read by a user and returns the channels' times of last
// post.
func (st *store) markViewed(
	ctx context.Context,
	ids []string,
	userID string,
) (times map[string]int64, err error) {
	defer st.timed("ChannelStore.UpdateLastViewedAt", &err)()
	var list []*channel
	if st.eng.cte {
		list, err = viewChannels.rows(ctx, st, ids, userID)
	} else {
		list, err = viewedChannels.rows(ctx, st, ids)
	}
	if err == nil && len(list) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return nil, err
	}
	times = map[string]int64{}
	for _, c := range list {
		times[c.ID] = c.LastPostAt
		if st.eng.cte {
			continue
		}
		if err := st.run(ctx, viewChannel, c.TotalMsgCount, c.TotalMsgCountRoot, c.LastPostAt, userID, c.ID); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// viewThreads marks the threads that a user follows in channels as read.
func (st *store) viewThreads(ctx context.Context, ids []string, userID string) (err error) {
	defer st.timed("ThreadStore.MarkAllAsReadInChannels", &err)()
	threads, err := st.strings(
		ctx,
		`SELECT tm.postid FROM threadmemberships tm JOIN threads t ON t.postid = tm.postid
		JOIN channels c ON c.id = t.channelid WHERE c.id = ANY(?) AND tm.userid = ?`,
		ids,
		userID,
	)
	if err != nil {
		return err
	}
	return st.setThreads(ctx, "lastviewed = ?, unreadmentions = 0", millis(), userID, threads)
}

// setThreads changes a user's memberships of threads. Without threads the statement is sent all the
// same, as by the real server.
func (st *store) setThreads(
	ctx context.Context,
	set string,
	at int64,
	userID string,
	threads []string,
) error {
	text := "UPDATE threadmemberships SET " + set + " WHERE userid = ? AND "
	if len(threads) == 0 {
		return st.run(ctx, text+"1 = 0", at, userID)
	}
	return st.run(ctx, text+"postid = ANY(?)", at, userID, threads)
}

// countMention counts a mention of a member, and notes it in the threads with newer replies that
// the member follows.
func (st *store) countMention(
	ctx context.Context,
	channelID, userID string,
	root bool,
) (err error) {
	defer st.timed("ChannelStore.IncrementMentionCount", &err)()
	now := millis()
	threads, err := st.strings(
		ctx,
		`SELECT t.postid FROM threads t LEFT JOIN channelmembers m ON m.channelid = t.channelid
		WHERE t.channelid = ? AND m.userid = ? AND t.lastreplyat > m.lastviewedat`,
		channelID,
		userID,
	)
	if err != nil {
		return err
	}
	err = st.run(
		ctx,
		`UPDATE channelmembers SET mentioncount = mentioncount + 1, mentioncountroot = mentioncountroot + ?,
		lastupdateat = ? WHERE userid = ? AND channelid = ?`,
		number(root),
		now,
		userID,
		channelID,
	)
	if err != nil {
		return err
	}
	return st.setThreads(ctx, "lastupdated = ?", now, userID, threads)
}

// number is 1 for true.
func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// outgoingHook is one that a post in a team could fire.
type outgoingHook struct{ ID, TriggerWords, CallbackURLs string }

var hooksOfTeam = selects[outgoingHook]("WebhookStore.GetOutgoingByTeam",
	"id, triggerwords, callbackurls",
	"SELECT id, triggerwords, callbackurls FROM outgoingwebhooks WHERE teamid = ? AND deleteat = 0")
