package refchat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// Memberships that count in a user's inbox: of followed threads in the team's channels and in those of no team. The
// statements name the tables tm (threadmemberships), t (threads), p (the root, of posts) and c (channels).
func (t threadQuery) conditions() (string, []any) {
	text := "(c.teamid = ? OR c.teamid = '') AND tm.userid = ? AND tm.following = ?"
	if !t.deleted {
		text += " AND p.deleteat = 0"
	}
	return text, []any{t.teamID, t.userID, true}
}

const threadJoins = " LEFT JOIN threads t ON t.postid = tm.postid LEFT JOIN posts p ON p.id = tm.postid LEFT JOIN channels c ON c.id = t.channelid WHERE "

// threadTotals counts a user's threads, those with unread replies, and unread mentions. The real server queries the
// three in one statement.
func (st *store) threadTotals(ctx context.Context, t threadQuery, out *threadList) (err error) {
	defer st.timed("ThreadStore.GetTotalThreads", &err)()
	cond, args := t.conditions()
	if err := st.row(ctx, nil, []any{&out.TotalUnreadThreads}, `SELECT COUNT(DISTINCT p.rootid) FROM posts p LEFT JOIN threadmemberships tm ON tm.postid = p.rootid
		LEFT JOIN channels c ON c.id = p.channelid WHERE `+cond+" AND p.createat >= tm.lastviewed", args...); err != nil {
		return err
	}
	counted := cond
	if t.unread {
		counted += " AND tm.lastviewed < t.lastreplyat"
	}
	if err := st.row(ctx, nil, []any{&out.Total}, "SELECT COUNT(tm.postid) FROM threadmemberships tm"+threadJoins+counted, args...); err != nil {
		return err
	}
	return st.row(ctx, nil, []any{&out.TotalUnreadMentions}, "SELECT COALESCE(SUM(tm.unreadmentions), 0) FROM threadmemberships tm"+threadJoins+cond, args...)
}

var threadColumns = "t.postid, t.replycount, t.lastreplyat, t.participants, " + postKind.selected

func threadFields(x *threadResponse) []any {
	x.Post = &post{}
	return slices.Concat([]any{&x.ID, &x.ReplyCount, &x.LastReplyAt, encoded[[]string]{&x.people, textList}},
		postKind.fields(x.Post), []any{&x.UnreadReplies})
}

func countReplies(x *threadResponse) { x.Post.ReplyCount = x.ReplyCount }

// threadsFor lists a user's threads, the last replied to first; after a cursor the other way round.
func (st *store) threadsFor(ctx context.Context, t threadQuery) (list []*threadResponse, err error) {
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
	return collect(ctx, st, nil, func(x *threadResponse) []any {
		return append(threadFields(x), &x.LastViewedAt, &x.UnreadMentions)
	}, countReplies, "SELECT "+threadColumns+`, (SELECT COUNT(r.id) FROM posts r WHERE r.rootid = tm.postid AND r.createat >= tm.lastviewed AND r.deleteat = 0), tm.lastviewed, tm.unreadmentions
		FROM threads t LEFT JOIN posts p ON p.id = t.postid LEFT JOIN channels c ON c.id = p.channelid LEFT JOIN threadmemberships tm ON tm.postid = t.postid
		WHERE `+cond+" ORDER BY t.lastreplyat "+order+" LIMIT ?", append(args, t.per)...)
}

// threadOf returns one thread as a member sees it.
func (st *store) threadOf(ctx context.Context, m *threadMember, teamID string) (x *threadResponse, err error) {
	defer st.timed("ThreadStore.GetThreadForUser", &err)()
	x, err = first(collect(ctx, st, nil, threadFields, countReplies, "SELECT "+threadColumns+`, (SELECT COUNT(r.id) FROM posts r WHERE r.rootid = t.postid AND r.createat >= ? AND r.deleteat = 0)
		FROM threads t LEFT JOIN posts p ON p.id = t.postid LEFT JOIN channels c ON c.id = p.channelid WHERE (c.teamid = ? OR c.teamid = '') AND t.postid = ?`,
		m.viewed, teamID, m.postID))
	if err != nil {
		return nil, err
	}
	x.LastViewedAt, x.UnreadMentions = m.viewed, m.mentions
	return x, nil
}

func (st *store) threadMember(ctx context.Context, rootID, userID string) (m *threadMember, err error) {
	defer st.timed("ThreadStore.GetMembershipForUser", &err)()
	return st.selectThreadMember(ctx, nil, rootID, userID)
}

func (st *store) selectThreadMember(ctx context.Context, tx *sql.Tx, rootID, userID string) (*threadMember, error) {
	m := &threadMember{postID: rootID, userID: userID}
	err := st.row(ctx, tx, []any{&m.following, &m.viewed, &m.mentions},
		"SELECT following, lastviewed, unreadmentions FROM threadmemberships WHERE postid = ? AND userid = ?", rootID, userID)
	return m, err
}

// setFollowing lets a user follow a thread, which then counts as viewed, or no more.
func (st *store) setFollowing(ctx context.Context, rootID, userID string, on bool) error {
	now := millis()
	return st.method(ctx, "ThreadStore.MaintainMembership", func(tx *sql.Tx) error {
		m, err := st.selectThreadMember(ctx, tx, rootID, userID)
		if on {
			m.viewed = now
		}
		if errors.Is(err, sql.ErrNoRows) {
			return st.run(ctx, tx, upsert("threadmemberships", "postid, userid, following, lastviewed, lastupdated, unreadmentions", "postid, userid", "following, lastviewed, lastupdated"),
				rootID, userID, on, m.viewed, now, 0)
		}
		if err != nil {
			return err
		}
		return st.run(ctx, tx, "UPDATE threadmemberships SET following = ?, lastviewed = ?, lastupdated = ? WHERE postid = ? AND userid = ?", on, m.viewed, now, rootID, userID)
	})
}

// joinThread returns a user's membership of a thread, and makes one if there is none.
func (st *store) joinThread(ctx context.Context, rootID, userID string) (m *threadMember, err error) {
	defer st.timed("ThreadStore.MaintainMembership", &err)()
	err = st.transact(ctx, func(tx *sql.Tx) (err error) {
		m, err = st.selectThreadMember(ctx, tx, rootID, userID)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = st.exec(ctx, tx, upsert("threadmemberships", "postid, userid, following, lastviewed, lastupdated, unreadmentions", "postid, userid", "following"),
				rootID, userID, true, 0, millis(), 0)
		}
		return err
	})
	return m, err
}

// markThread stores a membership, then the time until which the thread was read: two statements, as by the real server.
func (st *store) markThread(ctx context.Context, m *threadMember) (err error) {
	defer st.timed("ThreadStore.MarkAsRead", &err)()
	if err := st.run(ctx, nil, "UPDATE threadmemberships SET following = ?, unreadmentions = ?, lastupdated = ? WHERE postid = ? AND userid = ?",
		m.following, m.mentions, millis(), m.postID, m.userID); err != nil {
		return err
	}
	return st.run(ctx, nil, "UPDATE threadmemberships SET lastviewed = ? WHERE userid = ? AND postid = ?", m.viewed, m.userID, m.postID)
}

// markAllThreads marks a user's threads of a team, and of no team, as read.
func (st *store) markAllThreads(ctx context.Context, userID, teamID string, now int64) (err error) {
	defer st.timed("ThreadStore.MarkAllAsRead", &err)()
	ids, err := st.strings(ctx, nil, `SELECT tm.postid FROM threadmemberships tm JOIN threads t ON t.postid = tm.postid JOIN channels c ON c.id = t.channelid
		WHERE (c.teamid = ? OR c.teamid = '') AND tm.userid = ?`, teamID, userID)
	if err != nil || len(ids) == 0 {
		return err
	}
	slices.Sort(ids) // locks in one order
	return st.setThreads(ctx, "lastviewed = ?, unreadmentions = 0", now, userID, ids)
}

// replyCount returns the number of replies in a thread, 0 before the first.
func (st *store) replyCount(ctx context.Context, rootID string) (n int64, err error) {
	defer st.timed("ThreadStore.Get", &err)()
	err = st.row(ctx, nil, []any{&n}, "SELECT replycount FROM threads WHERE postid = ?", rootID)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

func (st *store) followersOf(ctx context.Context, rootID string) (ids []string, err error) {
	defer st.timed("ThreadStore.GetThreadFollowers", &err)()
	return st.strings(ctx, nil, "SELECT userid FROM threadmemberships WHERE postid = ? AND following = ?", rootID, true)
}

// threadPage returns the root and one page of the replies of a thread, and whether there are more.
func (st *store) threadPage(ctx context.Context, root *post, page threadPage) (list []*post, more bool, err error) {
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
	list, err = countedKind.in(ctx, st, nil, clause, args...)
	if page.per > 0 && len(list) > page.per {
		list, more = list[:page.per], true
	}
	return append([]*post{root}, list...), more, err
}
