package refchat

import (
	"context"
	"errors"
	"maps"
	"slices"
)

var postKind = define(kind[post]{
	table: "posts",
	alias: "p",
	columns: "id, createat, updateat, editat, deleteat, ispinned, userid, channelid, rootid, parentid, " +
		"originalid, message, type, props, hashtags, fileids, hasreactions",
})

// replyCount counts the replies of each post's thread as the real server does, by a subquery per
// row; a long thread is thus read in quadratic time.
const replyCount = `(SELECT COUNT(r.id) FROM posts r WHERE r.rootid = (CASE WHEN p.rootid = '' THEN p.id ELSE p.rootid END) AND r.deleteat = 0)`

// countedKind are posts with the number of replies in their threads.
var countedKind = postKind.with(", "+replyCount, "replycount", "")

// rootKind are root posts with their threads as a user sees them: one statement, as the real
// server's, and no others for replies. The user is the first argument.
var rootKind = postKind.with(
	", COALESCE(t.replycount, 0), COALESCE(t.lastreplyat, 0), COALESCE(t.participants, ''), COALESCE(tm.following, FALSE)",
	"replycount, lastreplyat, participants, isfollowing",
	" LEFT JOIN threads t ON t.postid = p.id LEFT JOIN threadmemberships tm ON tm.postid = p.id AND tm.userid = ?",
)

// textUsers is textList for users of whom only the identifiers are known.
func textUsers(s string) (list []*user) {
	for _, id := range textList(s) {
		list = append(list, &user{ID: id})
	}
	return list
}

var (
	postByID = countedKind.query("PostStore.GetSingle", "WHERE p.id = ? AND p.deleteat = 0")
	// thread is the root and the replies of a thread, oldest first.
	threadPosts = countedKind.query("PostStore.Get",
		"WHERE (p.id = ? OR p.rootid = ?) AND p.deleteat = 0 ORDER BY p.createat, p.id")
	// threadsOf are the whole threads of the given roots.
	threadsOf = map[bool]*query[post]{true: threadsIn(countedKind), false: threadsIn(postKind)}
	// repliesSince are the replies of a thread that changed since a time.
	repliesSince = postKind.query("ThreadStore.GetPosts",
		"WHERE p.rootid = ? AND p.deleteat = 0 AND p.updateat >= ?")
)

func threadsIn(k *kind[post]) *query[post] {
	return k.query("PostStore.GetParents",
		"WHERE (p.id = ANY(?) OR p.rootid = ANY(?)) AND p.deleteat = 0")
}

// postLists select the pages of a channel's posts, in one of two forms.
type postLists struct {
	newest, since, before, after *query[post]
	only                         string // a condition of all
}

var (
	// allPosts are the posts as they come. The replies of the newest are not counted, a habit of
	// the real server.
	allPosts = listsOf(postKind, countedKind, "")
	// rootPosts are for clients that collapse threads.
	rootPosts = listsOf(rootKind, rootKind, " AND p.rootid = ''")
)

func listsOf(newest, others *kind[post], only string) *postLists {
	where := "WHERE p.channelid = ?" + only
	const there, page = " AND p.deleteat = 0", " LIMIT ? OFFSET ?"
	const moment = " (SELECT b.createat FROM posts b WHERE b.id = ?) ORDER BY p.createat "
	return &postLists{
		newest: newest.query("PostStore.GetPosts", where+there+" ORDER BY p.createat DESC"+page),
		since: others.query(
			"PostStore.GetPostsSince",
			where+" AND p.updateat > ? ORDER BY p.createat DESC LIMIT 1000",
		),
		before: others.query(
			"PostStore.GetPostsBefore",
			where+there+" AND p.createat <"+moment+"DESC"+page,
		),
		after: others.query(
			"PostStore.GetPostsAfter",
			where+there+" AND p.createat >"+moment+"ASC"+page,
		),
		only: only,
	}
}

// threadView is a user's form of lists of posts: all as they come or, collapsed, roots alone, each
// with its thread as the user sees it.
type threadView struct {
	*postLists
	collapsed bool
	userID    string
	extended  bool // with the participants' profiles
}

// list returns posts of a channel, the newest first.
func (v *threadView) list(
	ctx context.Context,
	st *store,
	q *query[post],
	args ...any,
) ([]*post, error) {
	if v.collapsed {
		args = append([]any{v.userID}, args...)
	}
	list, err := q.list(ctx, st, args...)
	if q == v.after {
		slices.Reverse(list)
	}
	return list, err
}

// neighbor returns the id of the post next to a time in a channel, or "".
func (v *threadView) neighbor(
	ctx context.Context,
	st *store,
	channelID string,
	at int64,
	before bool,
) (id string, err error) {
	method := "PostStore.GetPostIdAfterTime"
	cmp := ">"
	dir := "ASC"
	if before {
		method = "PostStore.GetPostIdBeforeTime"
		cmp = "<"
		dir = "DESC"
	}
	defer st.timed(method, &err)()
	err = st.row(ctx, []any{&id},
		"SELECT p.id FROM posts p WHERE p.channelid = ? AND p.deleteat = 0"+v.only+
			" AND p.createat "+cmp+" ? ORDER BY p.createat "+dir+" LIMIT 1", channelID, at)
	return id, unlessNone(err)
}

// savePost stores a new post and updates its thread and channel, statement by statement as the real
// server does. counted is false for messages that do not count as unread, such as "joined".
func (st *store) savePost(ctx context.Context, p *post, counted bool) (err error) {
	defer st.timed("PostStore.Save", &err)()
	err = st.transact(ctx, func(tx *store) error {
		if err := postKind.insert(ctx, tx, p); err != nil {
			return err
		}
		if err := tx.hotRow(ctx); err != nil {
			return err
		}
		if p.RootID == "" {
			if p.Metadata == nil || p.Metadata.Priority == nil {
				return nil
			}
			return tx.savePriority(ctx, p, p.Metadata.Priority)
		}
		return tx.countReply(ctx, p)
	})
	if err != nil {
		return err
	}
	isRoot := p.RootID == ""
	err = st.run(
		ctx,
		`UPDATE channels SET lastpostat = GREATEST(?, lastpostat), totalmsgcount = totalmsgcount + ?,
		totalmsgcountroot = totalmsgcountroot + ? WHERE id = ?`,
		p.CreateAt,
		number(counted),
		number(counted && isRoot),
		p.ChannelID,
	)
	if err != nil || isRoot {
		return err
	}
	if err := st.run(ctx, "UPDATE posts SET updateat = ? WHERE id = ?", p.CreateAt, p.RootID); err != nil {
		return err
	}
	return st.row(ctx, []any{&p.ReplyCount}, repliesOf, p.RootID)
}

var (
	repliesOf    = "SELECT COUNT(id) FROM posts WHERE rootid = ? AND deleteat = 0"
	insertThread = insertInto("threads", "postid, channelid, replycount, lastreplyat, participants")
)

// hotRow is the fault of that name.
func (st *store) hotRow(ctx context.Context) error {
	if st.faults.hotRow == 0 {
		return nil
	}
	if err := st.run(ctx, upsert("systems", "name, value", "name", "value"), "HotRow", "x"); err != nil {
		return err
	}
	st.met.faultTime.WithLabelValues("hot-row").Add(st.faults.hotRow.Seconds())
	return sleep(ctx, st.faults.hotRow)
}

// countReply keeps the thread's row: its replies, the time of the last one and who took part.
func (st *store) countReply(ctx context.Context, p *post) error {
	var replies int64
	var people string
	err := st.row(ctx, []any{&replies, &people},
		"SELECT replycount, participants FROM threads WHERE postid = ?", p.RootID)
	if err == nil {
		list := textList(people)
		if !slices.Contains(list, p.UserID) {
			list = append(list, p.UserID)
		}
		return st.run(ctx,
			`UPDATE threads SET replycount = replycount + 1, lastreplyat = GREATEST(?, lastreplyat),
			participants = ? WHERE postid = ?`, p.CreateAt, jsonText(list), p.RootID)
	}
	if !noRow(err) {
		return err
	}
	list, err := st.strings(
		ctx,
		"SELECT DISTINCT userid FROM posts WHERE rootid = ? OR id = ?",
		p.RootID,
		p.RootID,
	)
	if err != nil {
		return err
	}
	if err := st.row(ctx, []any{&replies}, repliesOf, p.RootID); err != nil {
		return err
	}
	err = st.run(ctx, insertThread, p.RootID, p.ChannelID, replies, p.CreateAt, jsonText(list))
	if duplicate(err, "") {
		return errThreadExists
	}
	return err
}

// errThreadExists reports that another first reply made the thread's row at the same time. Neither
// counted the other, so the later one begins again, and finds the row.
var errThreadExists = errors.New("the thread's row was made meanwhile")

// editPost stores the new text of a post and keeps the old version as a deleted row, as the real
// server does.
func (st *store) editPost(ctx context.Context, old, p *post) (err error) {
	defer st.timed("PostStore.Update", &err)()
	gone := *old
	gone.ID = newID()
	gone.OriginalID = old.ID
	gone.DeleteAt = p.UpdateAt
	gone.UpdateAt = p.UpdateAt
	err = st.run(
		ctx,
		"UPDATE posts SET updateat = ?, editat = ?, message = ?, props = ?, hashtags = ?, ispinned = ? WHERE id = ?",
		p.UpdateAt,
		p.EditAt,
		p.Message,
		jsonText(p.Props),
		p.Hashtags,
		p.IsPinned,
		p.ID,
	)
	if err != nil {
		return err
	}
	if err := st.run(ctx, "UPDATE channels SET lastpostat = GREATEST(?, lastpostat) WHERE id = ?", p.UpdateAt, p.ChannelID); err != nil {
		return err
	}
	return postKind.insert(ctx, st, &gone)
}

// deletePost marks a post and its replies as deleted.
func (st *store) deletePost(ctx context.Context, p *post, at int64, by string) error {
	return st.method(ctx, "PostStore.Delete", func(tx *store) error {
		props := map[string]any{}
		maps.Copy(props, p.Props)
		props["deleteBy"] = by
		if err := tx.run(ctx, "UPDATE posts SET deleteat = ?, updateat = ?, props = ? WHERE id = ?", at, at, jsonText(props), p.ID); err != nil {
			return err
		}
		if p.RootID == "" {
			if err := tx.run(ctx, "UPDATE posts SET deleteat = ?, updateat = ? WHERE rootid = ? AND deleteat = 0", at, at, p.ID); err != nil {
				return err
			}
			return tx.run(ctx, "DELETE FROM threads WHERE postid = ?", p.ID)
		}
		return tx.run(
			ctx,
			"UPDATE threads SET replycount = replycount - 1 WHERE postid = ?",
			p.RootID,
		)
	})
}
