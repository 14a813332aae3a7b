package api

import (
	"context"
	"net/url"
)

var (
	opGetThreads     = newOp("get_threads", "GET /users/{}/teams/{}/threads")
	opThreadTotals   = newOp("thread_totals", "GET /users/{}/teams/{}/threads?totalsOnly=true")
	opReadThread     = newOp("read_thread", "PUT /users/{}/teams/{}/threads/{}/read/{}")
	opFollowThread   = newOp("follow_thread", "PUT /users/{}/teams/{}/threads/{}/following")
	opUnfollowThread = newOp("unfollow_thread", "DELETE /users/{}/teams/{}/threads/{}/following")
	opReadAllThreads = newOp("read_all_threads", "PUT /users/{}/teams/{}/threads/read")
)

// A ThreadSeen is a followed thread as its follower sees it.
type ThreadSeen struct {
	ID, ChannelID     ID    // of the root and of its channel
	CreateAt          int64 // of the root, server time, Unix ms
	LastReply, Viewed int64 // server time, Unix ms
	// all, those not read, and those of these that name the user
	Replies, Unread, UnreadNaming int64
}

func readThread(b []byte) (t ThreadSeen, err error) {
	var post []byte
	err = fields(b, "id", &t.ID, "last_reply_at", &t.LastReply, "last_viewed_at", &t.Viewed,
		"reply_count", &t.Replies, "unread_replies", &t.Unread, "unread_mentions", &t.UnreadNaming,
		"post", &post)
	if err == nil && len(post) > 0 && post[0] == '{' {
		var root Seen
		err = root.read(post, new([]byte))
		t.ChannelID = root.ChannelID
		t.CreateAt = root.CreateAt
	}
	return t, require(err, !t.ID.None(), "no thread")
}

var threads = orNone(listOf(readThread))

// Threads lists the threads that the user follows, the last replied to first. It begins behind the
// thread before, unless that is empty; with unread, it leaves out threads without unread replies.
func (c *Client) Threads(
	ctx context.Context, userID, teamID, before string, perPage int, unread bool,
) ([]ThreadSeen, error) {
	// Servers before 6.0 know the size of a page by its older name.
	n := decimal(perPage)
	query := "?per_page=" + n + "&pageSize=" + n + "&threadsOnly=true&extended=true"
	if before != "" {
		query += "&before=" + url.QueryEscape(before)
	}
	if unread {
		query += "&unread=true"
	}
	return get(
		ctx,
		c,
		opGetThreads,
		member("threads", "no threads", threads),
		userID,
		teamID,
		query,
	)
}

// ThreadTotals reads how many threads the user follows, and how many of them have unread replies.
func (c *Client) ThreadTotals(ctx context.Context, userID, teamID string) error {
	return c.do(ctx, opThreadTotals, nil, func(b []byte) error {
		all := int64(-1)
		unread := int64(-1)
		err := fields(b, "total", amountTo(&all), "total_unread_threads", amountTo(&unread))
		return require(err, all >= 0 && unread >= 0, "no totals")
	}, userID, teamID)
}

// FollowedThread returns a thread that the user follows.
func (c *Client) FollowedThread(
	ctx context.Context, userID, teamID, threadID string,
) (ThreadSeen, error) {
	return get(ctx, c, opGetThreads, holding(readThread, "another thread", func(t ThreadSeen) bool {
		return t.ID == ParseID(threadID)
	}), userID, teamID, "/"+url.PathEscape(threadID))
}

// ReadThread reports that the user has read a thread until a moment in server time, in Unix
// milliseconds; the user then follows it.
func (c *Client) ReadThread(
	ctx context.Context, userID, teamID, threadID string, until int64,
) (ThreadSeen, error) {
	const another = "another thread, or read until another time"
	return get(ctx, c, opReadThread, holding(readThread, another, func(t ThreadSeen) bool {
		return t.ID == ParseID(threadID) && t.Viewed == until
	}), userID, teamID, threadID, millis(until))
}

// FollowThread makes the user follow the thread of a root post.
func (c *Client) FollowThread(ctx context.Context, userID, teamID, threadID string) error {
	return c.do(ctx, opFollowThread, nil, done, userID, teamID, threadID)
}

// UnfollowThread makes the user follow a thread no longer.
func (c *Client) UnfollowThread(ctx context.Context, userID, teamID, threadID string) error {
	return c.do(ctx, opUnfollowThread, nil, done, userID, teamID, threadID)
}

// ReadAllThreads reports that the user has read all threads of a team.
func (c *Client) ReadAllThreads(ctx context.Context, userID, teamID string) error {
	return c.do(ctx, opReadAllThreads, nil, done, userID, teamID)
}

// ThreadPage reads a post and one page of its replies, oldest first, after one that was read before
// (last, if its id is not none), and reports whether there are more; before is the number of pages
// read so far. A server before 6.0 sends the whole thread.
func (c *Client) ThreadPage(
	ctx context.Context, rootID string, before int, last Seen, perPage int,
) (posts []Seen, more bool, err error) {
	query := "?direction=down&perPage=" + decimal(perPage)
	if !last.ID.None() {
		query += "&fromPost=" + last.ID.String() + "&fromCreateAt=" + millis(last.CreateAt)
	}
	err = c.do(ctx, opGetThread, nil, func(b []byte) (err error) {
		if posts, err = readPosts(b); err != nil {
			return err
		}
		for i := range posts {
			if root := ParseID(rootID); posts[i].ID != root && posts[i].RootID != root {
				return noEffect("a post of another thread")
			}
		}
		err = fields(b, "has_next", &more)
		return ends(err, before, more)
	}, rootID, query)
	return posts, more, err
}
