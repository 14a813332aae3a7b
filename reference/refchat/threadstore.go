package refchat

import (
	"context"
	"slices"
)

// conditions selects the memberships that count in a user's inbox: of followed threads in channels
// of the team and of no team. The statements name the tables tm (threadmemberships), t (threads), p
// (the root, of posts) and c (channels).
func (t threadQuery) conditions() (string, []any) {
	text := "(c.teamid = ? OR c.teamid = '') AND tm.userid = ? AND tm.following = ?"
	if !t.deleted {
		text += " AND p.deleteat = 0"
	}
	return text, []any{t.teamID, t.userID, true}
}

const threadJoins = " LEFT JOIN threads t ON t.postid = tm.postid LEFT JOIN posts p ON p.id = tm.postid LEFT JOIN channels c ON c.id = t.channelid WHERE "

// threadTotals counts a user's threads, those with unread replies, and unread mentions. The real
// server queries the three in one statement.
func (st *store) threadTotals(ctx context.Context, t threadQuery, out *threadList) (err error) {
	defer st.timed("ThreadStore.GetTotalThreads", &err)()
	cond, args := t.conditions()
	if err := st.row(ctx, []any{&out.TotalUnreadThreads}, `SELECT COUNT(DISTINCT p.rootid) FROM posts p LEFT JOIN threadmemberships tm ON tm.postid = p.rootid
		LEFT JOIN channels c ON c.id = p.channelid WHERE `+cond+" AND p.createat >= tm.lastviewed", args...); err != nil {
		return err
	}
	counted := cond
	if t.unread {
		counted += " AND tm.lastviewed < t.lastreplyat"
	}
	if err := st.row(ctx, []any{&out.Total}, "SELECT COUNT(tm.postid) FROM threadmemberships tm"+threadJoins+counted, args...); err != nil {
		return err
	}
	return st.row(
		ctx,
		[]any{&out.TotalUnreadMentions},
		"SELECT COALESCE(SUM(tm.unreadmentions), 0) FROM threadmemberships tm"+threadJoins+cond,
		args...)
}

var threadColumns = "t.postid, t.replycount, t.lastreplyat, t.participants, " + postKind.selected

func threadFields(x *threadResponse) []any {
	x.Post = &post{}
	thread := []any{&x.ID, &x.ReplyCount, &x.LastReplyAt, place(&x.Participants)}
	return slices.Concat(thread, postKind.fields(x.Post), []any{&x.UnreadReplies})
}

func threadFieldsOfMember(x *threadResponse) []any {
	return append(threadFields(x), &x.LastViewedAt, &x.UnreadMentions)
}

func countReplies(x *threadResponse) { x.Post.ReplyCount = x.ReplyCount }

// threadsFor lists a user's threads, the last replied to first; after a cursor the other way round.
func (st *store) threadsFor(
	ctx context.Context,
	t threadQuery,
) (list []*threadResponse, err error) {
	defer st.timed("ThreadStore.GetThreadsForUser", &err)()
	cond, args := t.conditions()
	order := "DESC"
	switch {
	case t.before != "":
		cond += " AND t.lastreplyat < (SELECT b.lastreplyat FROM threads b WHERE b.postid = ?)"
		args = append(args, t.before)
	case t.after != "":
		cond += " AND t.lastreplyat > (SELECT b.lastreplyat FROM threads b WHERE b.postid = ?)"
		args, order = append(args, t.after), "ASC"
	}
	if t.since > 0 {
		cond += " AND (tm.lastupdated >= ? OR t.lastreplyat >= ?)"
		args = append(args, t.since, t.since)
	}
	if t.unread {
		cond += " AND tm.lastviewed < t.lastreplyat"
	}
	find := query[threadResponse]{
		fields: threadFieldsOfMember,
		then:   countReplies,
		text: "SELECT " + threadColumns +
			`, (SELECT COUNT(r.id) FROM posts r WHERE r.rootid = tm.postid AND r.createat >= tm.lastviewed AND r.deleteat = 0),
		tm.lastviewed, tm.unreadmentions FROM threads t LEFT JOIN posts p ON p.id = t.postid LEFT JOIN channels c ON c.id = p.channelid
		LEFT JOIN threadmemberships tm ON tm.postid = t.postid WHERE ` + cond + " ORDER BY t.lastreplyat " + order + " LIMIT ?",
	}
	return find.rows(ctx, st, append(args, t.per)...)
}

var threadByID = &query[threadResponse]{
	method: "ThreadStore.GetThreadForUser",
	fields: threadFields,
	then:   countReplies,
	text: "SELECT " + threadColumns + `, (SELECT COUNT(r.id) FROM posts r WHERE r.rootid = t.postid AND r.createat >= ? AND r.deleteat = 0)
		FROM threads t LEFT JOIN posts p ON p.id = t.postid LEFT JOIN channels c ON c.id = p.channelid
		WHERE (c.teamid = ? OR c.teamid = '') AND t.postid = ?`,
}

// threadMember is the relation of a user to a thread.
type threadMember struct {
	PostID, UserID string
	Following      bool
	LastViewed     int64
	LastUpdated    int64
	UnreadMentions int64
}

var threadMemberKind = define(kind[threadMember]{
	table:   "threadmemberships",
	columns: "postid, userid, following, lastviewed, lastupdated, unreadmentions",
})

var (
	// Three ways of storing a new membership differ in what they do to one that was stored
	// meanwhile.
	saveFollower     = threadMemberKind.upsert("postid, userid", "following, lastupdated")
	saveThreadMember = threadMemberKind.upsert(
		"postid, userid",
		"following, lastviewed, lastupdated",
	)
	saveThreadReader = threadMemberKind.upsert("postid, userid", "following")

	isFollowing = "SELECT following FROM threadmemberships WHERE postid = ? AND userid = ?"
)

// follow makes a user follow a thread; mentioned counts an unread mention, author sets the thread
// as viewed.
func (st *store) follow(ctx context.Context, rootID, userID string, mentioned, author bool) error {
	m := &threadMember{PostID: rootID, UserID: userID, Following: true, LastUpdated: millis()}
	m.UnreadMentions = int64(number(mentioned))
	if author {
		m.LastViewed = m.LastUpdated
	}
	return st.method(ctx, "ThreadStore.MaintainMembership", func(tx *store) error {
		var following bool
		err := tx.row(ctx, []any{&following}, isFollowing, rootID, userID)
		switch {
		case noRow(err):
			return tx.run(ctx, saveFollower, threadMemberKind.content(m)...)
		case err != nil || following && !mentioned && !author:
			return err
		}
		return tx.run(
			ctx,
			`UPDATE threadmemberships SET following = ?, lastviewed = GREATEST(lastviewed, ?), lastupdated = ?,
			unreadmentions = unreadmentions + ? WHERE postid = ? AND userid = ?`,
			true,
			m.LastViewed,
			m.LastUpdated,
			m.UnreadMentions,
			rootID,
			userID,
		)
	})
}

// unfollowed reports whether a user unfollowed a thread on purpose.
func (st *store) unfollowed(ctx context.Context, rootID, userID string) (no bool, err error) {
	defer st.timed("ThreadStore.GetMembershipForUser", &err)()
	following := true
	err = st.row(ctx, []any{&following}, isFollowing, rootID, userID)
	return !following, unlessNone(err)
}

// threadMember returns a user's relation to a thread. Without one, it has no more than their
// identifiers.
func (st *store) threadMember(ctx context.Context, rootID, userID string) (*threadMember, error) {
	m := &threadMember{PostID: rootID, UserID: userID}
	err := st.row(
		ctx,
		[]any{&m.Following, &m.LastViewed, &m.UnreadMentions},
		"SELECT following, lastviewed, unreadmentions FROM threadmemberships WHERE postid = ? AND userid = ?",
		rootID,
		userID,
	)
	return m, err
}

// memberOfThread is threadMember as a store's method.
func (st *store) memberOfThread(
	ctx context.Context,
	rootID, userID string,
) (m *threadMember, err error) {
	defer st.timed("ThreadStore.GetMembershipForUser", &err)()
	return st.threadMember(ctx, rootID, userID)
}

// setFollowing lets a user follow a thread, which then counts as viewed, or no more.
func (st *store) setFollowing(ctx context.Context, rootID, userID string, on bool) error {
	now := millis()
	return st.method(ctx, "ThreadStore.MaintainMembership", func(tx *store) error {
		m, err := tx.threadMember(ctx, rootID, userID)
		m.Following = on
		m.LastUpdated = now
		if on {
			m.LastViewed = now
		}
		if noRow(err) {
			return tx.run(ctx, saveThreadMember, threadMemberKind.content(m)...)
		}
		if err != nil {
			return err
		}
		return tx.run(
			ctx,
			"UPDATE threadmemberships SET following = ?, lastviewed = ?, lastupdated = ? WHERE postid = ? AND userid = ?",
			on,
			m.LastViewed,
			now,
			rootID,
			userID,
		)
	})
}

// joinThread returns a user's membership of a thread, and makes one if there is none.
func (st *store) joinThread(
	ctx context.Context,
	rootID, userID string,
) (m *threadMember, err error) {
	err = st.method(ctx, "ThreadStore.MaintainMembership", func(tx *store) (err error) {
		m, err = tx.threadMember(ctx, rootID, userID)
		if noRow(err) {
			m.Following = true
			m.LastUpdated = millis()
			return tx.run(ctx, saveThreadReader, threadMemberKind.content(m)...)
		}
		return err
	})
	return m, err
}

// markThread stores a membership, then the time until which the thread was read: two statements, as
// by the real server.
func (st *store) markThread(ctx context.Context, m *threadMember) (err error) {
	defer st.timed("ThreadStore.MarkAsRead", &err)()
	err = st.run(
		ctx,
		"UPDATE threadmemberships SET following = ?, unreadmentions = ?, lastupdated = ? WHERE postid = ? AND userid = ?",
		m.Following,
		m.UnreadMentions,
		millis(),
		m.PostID,
		m.UserID,
	)
	if err != nil {
		return err
	}
	return st.run(
		ctx,
		"UPDATE threadmemberships SET lastviewed = ? WHERE userid = ? AND postid = ?",
		m.LastViewed,
		m.UserID,
		m.PostID,
	)
}

// markAllThreads marks a user's threads of a team, and of no team, as read.
func (st *store) markAllThreads(ctx context.Context, userID, teamID string, now int64) (err error) {
	defer st.timed("ThreadStore.MarkAllAsRead", &err)()
	ids, err := st.strings(
		ctx,
		`SELECT tm.postid FROM threadmemberships tm JOIN threads t ON t.postid = tm.postid
		JOIN channels c ON c.id = t.channelid WHERE (c.teamid = ? OR c.teamid = '') AND tm.userid = ?`,
		teamID,
		userID,
	)
	if err != nil || len(ids) == 0 {
		return err
	}
	slices.Sort(ids) // locks in one order
	return st.setThreads(ctx, "lastviewed = ?, unreadmentions = 0", now, userID, ids)
}

var (
	// repliesIn counts the replies of a thread; before the first, it has no row.
	repliesIn = selects[int64]("ThreadStore.Get", "",
		"SELECT replycount FROM threads WHERE postid = ?")
	followersOf = selects[string]("ThreadStore.GetThreadFollowers", "",
		"SELECT userid FROM threadmemberships WHERE postid = ? AND following = ?")
)

// threadPage returns the root and one page of the replies of a thread, and whether there are more.
func (st *store) threadPage(
	ctx context.Context,
	root *post,
	page threadPage,
) (list []*post, more bool, err error) {
	defer st.timed("PostStore.Get", &err)()
	clause, args := "WHERE p.rootid = ? AND p.deleteat = 0", []any{root.ID}
	cmp, dir := ">", "ASC"
	if page.up {
		cmp, dir = "<", "DESC"
	}
	if page.fromAt > 0 {
		clause += " AND (p.createat " + cmp + " ?"
		args = append(args, page.fromAt)
		if page.fromPost != "" {
			clause += " OR p.createat = ? AND p.id " + cmp + " ?"
			args = append(args, page.fromAt, page.fromPost)
		}
		clause += ")"
	}
	clause += " ORDER BY p.createat " + dir + ", p.id " + dir
	if page.per > 0 {
		clause += " LIMIT ?"
		args = append(args, page.per+1)
	}
	list, err = countedKind.rows(ctx, st, clause, args...)
	if page.per > 0 && len(list) > page.per {
		list, more = list[:page.per], true
	}
	return append([]*post{root}, list...), more, err
}
