package refchat

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
)

var postKind = define(kind[post]{
	table: "posts", alias: "p",
	columns: "id, createat, updateat, editat, deleteat, ispinned, userid, channelid, rootid, parentid, " +
		"originalid, message, type, props, hashtags, fileids, hasreactions",
	fields: func(p *post) []any {
		return []any{&p.ID, &p.CreateAt, &p.UpdateAt, &p.EditAt, &p.DeleteAt, &p.IsPinned, &p.UserID, &p.ChannelID,
			&p.RootID, &p.ParentID, &p.OriginalID, &p.Message, &p.Type, encoded[map[string]any]{&p.Props, textAny},
			&p.Hashtags, encoded[[]string]{&p.FileIDs, textList}, &p.HasReactions}
	},
})

// replyCount counts the replies of each post's thread as the real server does, by a subquery per row; a long thread is
// thus read in quadratic time.
const replyCount = `(SELECT COUNT(r.id) FROM posts r WHERE r.rootid = (CASE WHEN p.rootid = '' THEN p.id ELSE p.rootid END) AND r.deleteat = 0)`

func (st *store) selectPosts(ctx context.Context, counted bool, clause string, args ...any) ([]*post, error) {
	count := replyCount
	if !counted {
		count = "0"
	}
	return collect(ctx, st, nil, func(p *post) []any { return append(postKind.fields(p), &p.ReplyCount) }, nil,
		"SELECT "+postKind.selected+", "+count+" FROM posts p "+clause, args...)
}

func (st *store) postByID(ctx context.Context, id string) (p *post, err error) {
	defer st.timed("PostStore.GetSingle", &err)()
	return first(st.selectPosts(ctx, true, "WHERE p.id = ? AND p.deleteat = 0", id))
}

// thread returns the root and the replies of a thread, oldest first.
func (st *store) thread(ctx context.Context, rootID string) (list []*post, err error) {
	defer st.timed("PostStore.Get", &err)()
	return st.selectPosts(ctx, true, "WHERE (p.id = ? OR p.rootid = ?) AND p.deleteat = 0 ORDER BY p.createat, p.id", rootID, rootID)
}

// postPage lists a channel's posts, newest first. Their replies are not counted, a habit of the real server.
func (st *store) postPage(ctx context.Context, channelID string, page, per int, as *threadView) (list []*post, err error) {
	defer st.timed("PostStore.GetPosts", &err)()
	if as != nil {
		return st.selectRoots(ctx, as, "p.channelid = ? AND p.deleteat = 0 AND p.rootid = '' ORDER BY p.createat DESC LIMIT ? OFFSET ?", channelID, per, page*per)
	}
	return st.selectPosts(ctx, false, "WHERE p.channelid = ? AND p.deleteat = 0 ORDER BY p.createat DESC LIMIT ? OFFSET ?", channelID, per, page*per)
}

func (st *store) postsSince(ctx context.Context, channelID string, since int64, as *threadView) (list []*post, err error) {
	defer st.timed("PostStore.GetPostsSince", &err)()
	if as != nil {
		return st.selectRoots(ctx, as, "p.channelid = ? AND p.updateat > ? AND p.rootid = '' ORDER BY p.createat DESC LIMIT 1000", channelID, since)
	}
	return st.selectPosts(ctx, true, "WHERE p.channelid = ? AND p.updateat > ? ORDER BY p.createat DESC LIMIT 1000", channelID, since)
}

// postsBeside returns a page of the posts before or after one, newest first.
func (st *store) postsBeside(ctx context.Context, channelID, id string, before bool, page, per int, as *threadView) (list []*post, err error) {
	method, cmp, dir := "PostStore.GetPostsAfter", ">", "ASC"
	if before {
		method, cmp, dir = "PostStore.GetPostsBefore", "<", "DESC"
	}
	defer st.timed(method, &err)()
	clause := " AND p.createat " + cmp + " (SELECT b.createat FROM posts b WHERE b.id = ?) ORDER BY p.createat " + dir + " LIMIT ? OFFSET ?"
	if as != nil {
		list, err = st.selectRoots(ctx, as, "p.channelid = ? AND p.deleteat = 0 AND p.rootid = ''"+clause, channelID, id, per, page*per)
	} else {
		list, err = st.selectPosts(ctx, true, "WHERE p.channelid = ? AND p.deleteat = 0"+clause, channelID, id, per, page*per)
	}
	if !before {
		slices.Reverse(list)
	}
	return list, err
}

// threadsOf returns the whole threads of the given roots.
func (st *store) threadsOf(ctx context.Context, roots []string, counted bool) (list []*post, err error) {
	defer st.timed("PostStore.GetParents", &err)()
	a, args := st.anyOf("p.id", roots)
	b, more := st.anyOf("p.rootid", roots)
	return st.selectPosts(ctx, counted, "WHERE ("+a+" OR "+b+") AND p.deleteat = 0", append(args, more...)...)
}

// neighbor returns the id of the post next to a time in a channel, or "".
func (st *store) neighbor(ctx context.Context, channelID string, at int64, before bool, as *threadView) (id string, err error) {
	method, cmp, dir := "PostStore.GetPostIdAfterTime", ">", "ASC"
	if before {
		method, cmp, dir = "PostStore.GetPostIdBeforeTime", "<", "DESC"
	}
	defer st.timed(method, &err)()
	roots := ""
	if as != nil {
		roots = " AND rootid = ''"
	}
	err = st.row(ctx, nil, []any{&id}, "SELECT id FROM posts WHERE channelid = ? AND deleteat = 0"+roots+" AND createat "+cmp+" ? ORDER BY createat "+dir+" LIMIT 1", channelID, at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// savePost stores a new post and updates its thread and channel, statement by statement as the real server does.
// counted is false for messages that do not count as unread, such as "joined".
func (st *store) savePost(ctx context.Context, p *post, counted bool) (err error) {
	defer st.timed("PostStore.Save", &err)()
	err = st.transact(ctx, func(tx *sql.Tx) error {
		if err := postKind.insert(ctx, st, tx, p); err != nil {
			return err
		}
		if err := st.hotRow(ctx, tx); err != nil {
			return err
		}
		if p.RootID == "" {
			if p.Metadata == nil || p.Metadata.Priority == nil {
				return nil
			}
			return st.savePriority(ctx, tx, p, p.Metadata.Priority)
		}
		return st.countReply(ctx, tx, p)
	})
	if err != nil {
		return err
	}
	n, root := 0, 0
	if counted {
		n = 1
		if p.RootID == "" {
			root = 1
		}
	}
	if err := st.run(ctx, nil, "UPDATE channels SET lastpostat = GREATEST(?, lastpostat), totalmsgcount = totalmsgcount + ?, totalmsgcountroot = totalmsgcountroot + ? WHERE id = ?",
		p.CreateAt, n, root, p.ChannelID); err != nil {
		return err
	}
	if p.RootID == "" {
		return nil
	}
	if err := st.run(ctx, nil, "UPDATE posts SET updateat = ? WHERE id = ?", p.CreateAt, p.RootID); err != nil {
		return err
	}
	return st.row(ctx, nil, []any{&p.ReplyCount}, "SELECT COUNT(id) FROM posts WHERE rootid = ? AND deleteat = 0", p.RootID)
}

// hotRow is the fault of that name.
func (st *store) hotRow(ctx context.Context, tx *sql.Tx) error {
	if st.faults.hotRow == 0 {
		return nil
	}
	if err := st.run(ctx, tx, st.upsert("systems", "name, value", "name", "value"), "HotRow", "x"); err != nil {
		return err
	}
	st.met.faultTime.WithLabelValues("hot-row").Add(st.faults.hotRow.Seconds())
	return sleep(ctx, st.faults.hotRow)
}

// countReply keeps the thread's row: its replies, the time of the last one and who took part.
func (st *store) countReply(ctx context.Context, tx *sql.Tx, p *post) error {
	var replies int64
	var people string
	err := st.row(ctx, tx, []any{&replies, &people}, "SELECT replycount, participants FROM threads WHERE postid = ?", p.RootID)
	if err == nil {
		list := textList(people)
		if !slices.Contains(list, p.UserID) {
			list = append(list, p.UserID)
		}
		return st.run(ctx, tx, "UPDATE threads SET replycount = replycount + 1, lastreplyat = GREATEST(?, lastreplyat), participants = ? WHERE postid = ?", p.CreateAt, jsonText(list), p.RootID)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	list, err := st.strings(ctx, tx, "SELECT DISTINCT userid FROM posts WHERE rootid = ? OR id = ?", p.RootID, p.RootID)
	if err != nil {
		return err
	}
	if err := st.row(ctx, tx, []any{&replies}, "SELECT COUNT(id) FROM posts WHERE rootid = ? AND deleteat = 0", p.RootID); err != nil {
		return err
	}
	_, err = st.exec(ctx, tx, "INSERT INTO threads (postid, channelid, replycount, lastreplyat, participants) VALUES (?,?,?,?,?)",
		p.RootID, p.ChannelID, replies, p.CreateAt, jsonText(list))
	if duplicate(err, "") {
		return errThreadExists
	}
	return err
}

// errThreadExists reports that another first reply made the thread's row at the same time. Neither counted the other,
// so the later one begins again, and finds the row.
var errThreadExists = errors.New("the thread's row was made meanwhile")

// follow makes a user follow a thread; mentioned counts an unread mention, author sets the thread as viewed.
func (st *store) follow(ctx context.Context, rootID, userID string, mentioned, author bool) error {
	now := millis()
	return st.method(ctx, "ThreadStore.MaintainMembership", func(tx *sql.Tx) error {
		var following bool
		err := st.row(ctx, tx, []any{&following}, "SELECT following FROM threadmemberships WHERE postid = ? AND userid = ?", rootID, userID)
		n := 0
		if mentioned {
			n = 1
		}
		viewed := int64(0)
		if author {
			viewed = now
		}
		switch {
		case err == nil && following && !mentioned && !author:
			return nil
		case err == nil:
			_, err = st.exec(ctx, tx, "UPDATE threadmemberships SET following = ?, lastviewed = GREATEST(lastviewed, ?), lastupdated = ?, unreadmentions = unreadmentions + ? WHERE postid = ? AND userid = ?",
				true, viewed, now, n, rootID, userID)
		case errors.Is(err, sql.ErrNoRows):
			_, err = st.exec(ctx, tx, st.upsert("threadmemberships", "postid, userid, following, lastviewed, lastupdated, unreadmentions", "postid, userid", "following, lastupdated"),
				rootID, userID, true, viewed, now, n)
		}
		return err
	})
}

// followed reports whether a user unfollowed a thread on purpose.
func (st *store) unfollowed(ctx context.Context, rootID, userID string) (no bool, err error) {
	defer st.timed("ThreadStore.GetMembershipForUser", &err)()
	var following bool
	err = st.row(ctx, nil, []any{&following}, "SELECT following FROM threadmemberships WHERE postid = ? AND userid = ?", rootID, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return !following, err
}

// editPost stores the new text of a post and keeps the old version as a deleted row, as the real server does.
func (st *store) editPost(ctx context.Context, old, p *post) (err error) {
	defer st.timed("PostStore.Update", &err)()
	gone := *old
	gone.ID, gone.OriginalID, gone.DeleteAt, gone.UpdateAt = newID(), old.ID, p.UpdateAt, p.UpdateAt
	if err := st.run(ctx, nil, "UPDATE posts SET updateat = ?, editat = ?, message = ?, props = ?, hashtags = ?, ispinned = ? WHERE id = ?",
		p.UpdateAt, p.EditAt, p.Message, jsonText(p.Props), p.Hashtags, p.IsPinned, p.ID); err != nil {
		return err
	}
	if err := st.run(ctx, nil, "UPDATE channels SET lastpostat = GREATEST(?, lastpostat) WHERE id = ?", p.UpdateAt, p.ChannelID); err != nil {
		return err
	}
	return postKind.insert(ctx, st, nil, &gone)
}

// deletePost marks a post and its replies as deleted.
func (st *store) deletePost(ctx context.Context, p *post, at int64, by string) error {
	return st.method(ctx, "PostStore.Delete", func(tx *sql.Tx) error {
		props := map[string]any{}
		maps.Copy(props, p.Props)
		props["deleteBy"] = by
		if err := st.run(ctx, tx, "UPDATE posts SET deleteat = ?, updateat = ?, props = ? WHERE id = ?", at, at, jsonText(props), p.ID); err != nil {
			return err
		}
		if p.RootID == "" {
			if err := st.run(ctx, tx, "UPDATE posts SET deleteat = ?, updateat = ? WHERE rootid = ? AND deleteat = 0", at, at, p.ID); err != nil {
				return err
			}
			return st.run(ctx, tx, "DELETE FROM threads WHERE postid = ?", p.ID)
		}
		return st.run(ctx, tx, "UPDATE threads SET replycount = replycount - 1 WHERE postid = ?", p.RootID)
	})
}
