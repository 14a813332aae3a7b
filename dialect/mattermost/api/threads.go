package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

var (
	opGetThreads     = newOp("get_threads")
	opThreadTotals   = newOp("thread_totals")
	opReadThread     = newOp("read_thread")
	opFollowThread   = newOp("follow_thread")
	opUnfollowThread = newOp("unfollow_thread")
	opReadAllThreads = newOp("read_all_threads")
)

// A ThreadSeen is a followed thread as its follower sees it.
type ThreadSeen struct {
	ID, ChannelID                 ID    // of the root and of its channel
	CreateAt                      int64 // of the root, server time, Unix ms
	LastReply, Viewed             int64 // server time, Unix ms
	Replies, Unread, UnreadNaming int64 // all, those not read, and those of these that name the user
}

func readThread(v []byte) (t ThreadSeen, err error) {
	err = eachField(v, func(k, v []byte) (err error) {
		switch string(k) {
		case "id":
			t.ID, err = idOf(text(v))
		case "last_reply_at":
			t.LastReply = number(v)
		case "last_viewed_at":
			t.Viewed = number(v)
		case "reply_count":
			t.Replies = number(v)
		case "unread_replies":
			t.Unread = number(v)
		case "unread_mentions":
			t.UnreadNaming = number(v)
		case "post":
			if v[0] != '{' {
				return nil
			}
			var root Seen
			err = root.read(v, new([]byte))
			t.ChannelID, t.CreateAt = root.ChannelID, root.CreateAt
		}
		return err
	})
	if err == nil && t.ID.None() {
		err = fmt.Errorf("%w: no thread", ErrEffect)
	}
	return t, err
}

func threadsPath(userID, teamID string) string {
	return "/users/" + url.PathEscape(userID) + "/teams/" + url.PathEscape(teamID) + "/threads"
}

// Threads lists the threads that the user follows, the last replied to first: those before a thread if that is not
// empty, those with unread replies alone if unread.
func (c *Client) Threads(ctx context.Context, userID, teamID, before string, perPage int, unread bool) (list []ThreadSeen, err error) {
	// Servers before 6.0 know the size of a page by its older name.
	n := strconv.Itoa(perPage)
	path := threadsPath(userID, teamID) + "?per_page=" + n + "&pageSize=" + n + "&threadsOnly=true&extended=true"
	if before != "" {
		path += "&before=" + url.QueryEscape(before)
	}
	if unread {
		path += "&unread=true"
	}
	err = c.get(ctx, opGetThreads, path, func(resp *wire.Response) error {
		found := false
		err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "threads" {
				return nil
			}
			found = true
			return eachIn(v, func(v []byte) error {
				t, err := readThread(v)
				list = append(list, t)
				return err
			})
		})
		if err == nil && !found {
			err = fmt.Errorf("%w: no threads", ErrEffect)
		}
		return err
	})
	return list, err
}

// ThreadTotals returns how many threads the user follows, and how many of them have unread replies.
func (c *Client) ThreadTotals(ctx context.Context, userID, teamID string) (all, unread int64, err error) {
	err = c.get(ctx, opThreadTotals, threadsPath(userID, teamID)+"?totalsOnly=true", func(resp *wire.Response) error {
		all, unread = -1, -1
		err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "total":
				all = amount(v)
			case "total_unread_threads":
				unread = amount(v)
			}
			return nil
		})
		if err == nil && (all < 0 || unread < 0) {
			err = fmt.Errorf("%w: no totals", ErrEffect)
		}
		return err
	})
	return all, unread, err
}

// FollowedThread returns a thread that the user follows.
func (c *Client) FollowedThread(ctx context.Context, userID, teamID, threadID string) (t ThreadSeen, err error) {
	err = c.get(ctx, opGetThreads, threadsPath(userID, teamID)+"/"+url.PathEscape(threadID), func(resp *wire.Response) error {
		err := threadIn(&t)(resp)
		if err == nil && t.ID != ParseID(threadID) {
			err = fmt.Errorf("%w: another thread", ErrEffect)
		}
		return err
	})
	return t, err
}

func threadIn(t *ThreadSeen) func(*wire.Response) error {
	return func(resp *wire.Response) (err error) {
		*t, err = readThread(resp.Body)
		return err
	}
}

// ReadThread reports that the user has read a thread until a moment in server time, in Unix milliseconds; the user
// then follows it.
func (c *Client) ReadThread(ctx context.Context, userID, teamID, threadID string, until int64) (t ThreadSeen, err error) {
	path := threadsPath(userID, teamID) + "/" + url.PathEscape(threadID) + "/read/" + millis(until)
	err = c.call(ctx, opReadThread, &wire.Request{Method: "PUT", Path: root + path}, func(resp *wire.Response) error {
		err := threadIn(&t)(resp)
		if err == nil && (t.ID != ParseID(threadID) || t.Viewed != until) {
			err = fmt.Errorf("%w: another thread, or read until another time", ErrEffect)
		}
		return err
	}, 200)
	return t, err
}

// FollowThread lets the user follow the thread of a root post.
func (c *Client) FollowThread(ctx context.Context, userID, teamID, threadID string) error {
	return c.call(ctx, opFollowThread, &wire.Request{Method: "PUT", Path: root + threadsPath(userID, teamID) + "/" + url.PathEscape(threadID) + "/following"}, done, 200)
}

// UnfollowThread lets the user not follow a thread any more.
func (c *Client) UnfollowThread(ctx context.Context, userID, teamID, threadID string) error {
	return c.remove(ctx, opUnfollowThread, threadsPath(userID, teamID)+"/"+url.PathEscape(threadID)+"/following", done, 200)
}

// ReadAllThreads reports that the user has read all threads of a team.
func (c *Client) ReadAllThreads(ctx context.Context, userID, teamID string) error {
	return c.call(ctx, opReadAllThreads, &wire.Request{Method: "PUT", Path: root + threadsPath(userID, teamID) + "/read"}, done, 200)
}

// ThreadPage reads a post and one page of its replies, oldest first, after one that was read before (last, if its id
// is not none), and reports whether there are more; before is the number of pages read so far. A server before 6.0
// sends the whole thread.
func (c *Client) ThreadPage(ctx context.Context, rootID string, before int, last Seen, perPage int) (posts []Seen, more bool, err error) {
	path := "/posts/" + url.PathEscape(rootID) + "/thread?direction=down&perPage=" + strconv.Itoa(perPage)
	if !last.ID.None() {
		path += "&fromPost=" + last.ID.String() + "&fromCreateAt=" + millis(last.CreateAt)
	}
	err = c.get(ctx, opGetThread, path, func(resp *wire.Response) (err error) {
		if posts, err = readPosts(resp.Body); err != nil {
			return err
		}
		for i := range posts {
			if root := ParseID(rootID); posts[i].ID != root && posts[i].RootID != root {
				return fmt.Errorf("%w: a post of another thread", ErrEffect)
			}
		}
		if err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) == "has_next" {
				more = string(v) == "true"
			}
			return nil
		}); err != nil {
			return err
		}
		return ends(before, more)
	})
	return posts, more, err
}
