package api

import (
	"context"
	"slices"
	"strconv"
	"time"

	"plimsoll/load/wire"
)

var (
	opPost           = newOp("post", "POST /posts", created)
	opReply          = newOp("reply", "POST /posts", created)
	opGetPosts       = newOp("get_posts", "GET /channels/{}/posts?")
	opGetPostsBefore = newOp(
		"get_posts_before",
		"GET /channels/{}/posts?before={}&page=0&per_page={}",
	)
	opGetPostsUnread = newOp("get_posts_unread",
		"GET /users/{}/channels/{}/posts/unread?limit_before={}&limit_after={}")
	opGetThread  = newOp("get_thread", "GET /posts/{}/thread", wholeList)
	opReact      = newOp("react", "POST /reactions", mayCreate)
	opReactions  = newOp("reactions", "GET /posts/{}/reactions", setup)
	opEditPost   = newOp("edit_post", "PUT /posts/{}/patch")
	opDeletePost = newOp("delete_post", "DELETE /posts/{}")
	opGetPost    = newOp("get_post", "GET /posts/{}")
	opReminder   = newOp("set_reminder", "POST /users/{}/posts/{}/reminder")
	opAck        = newOp("acknowledge_post", "POST /users/{}/posts/{}/ack")
)

// A Draft is a post to be made.
type Draft struct {
	ChannelID string
	Message   string
	RootID    string // not empty: a reply to that post, which must not be a reply itself
	FileIDs   []string
	Priority  Priority // of a root post; drafts do not keep it here
	// Pending is the client's own identifier of a post, see [PendingID]; empty for none. Drafts
	// have none.
	Pending string
}

// PendingID is the identifier that a client gives a post before the server has given it one: the
// user, and a moment in Unix milliseconds. The server repeats it in its answer and in the post's
// event. Two posts of a user must not have the same: the server takes the second one for the first
// sent again.
func PendingID(userID string, millis int64) string {
	b := make([]byte, 0, len(ID{})+1+13)
	return string(strconv.AppendInt(append(append(b, userID...), ':'), millis, 10))
}

// A Posted is a post that the server has accepted.
type Posted struct {
	ID       string
	CreateAt int64     // server time, Unix ms
	Sent     time.Time // when its request was sent: where its delivery begins
	Acked    time.Time // when the answer was read
}

// Post makes a post or a reply; replies have an op of their own. With an error, only Sent and Acked
// are set: the begin and the end of the request.
func (c *Client) Post(ctx context.Context, d Draft) (p Posted, err error) {
	o := opPost
	if d.RootID != "" {
		o = opReply
	}
	b := d.appendTo(c.body())
	if d.Priority != (Priority{}) {
		b = d.Priority.appendTo(append(b, ','))
	}
	if d.Pending != "" {
		b = appendString(append(b, `,"pending_post_id":`...), d.Pending)
	}
	err = c.call(ctx, o, &wire.Request{Body: append(b, '}')}, func(resp *wire.Response) error {
		channel := ""
		root := ""
		files := 0
		priority := Priority{}
		err := eachField(resp.Body, func(k, v []byte) (err error) {
			switch string(k) {
			case "id":
				p.ID, err = idText(v)
			case "create_at":
				p.CreateAt = amount(v)
			case "channel_id":
				channel = string(text(v))
			case "root_id":
				root = string(text(v))
			case "metadata":
				if d.Priority != (Priority{}) {
					priority, err = readPriority(v)
				}
			case "file_ids":
				if v[0] == '[' {
					return eachElement(v, func([]byte) error {
						files++
						return nil
					})
				}
			}
			return err
		})
		right := p.ID != "" && p.CreateAt > 0 && channel == d.ChannelID && root == d.RootID &&
			files == len(d.FileIDs) && priority == d.Priority
		return require(err, right, "no such post")
	})
	if err != nil {
		p = Posted{}
	}
	p.Sent = c.sent
	p.Acked = c.done
	return p, err
}

// Posts reads the newest posts of a channel, newest first.
func (c *Client) Posts(ctx context.Context, channelID string, perPage int) ([]Seen, error) {
	return c.posts(ctx, opGetPosts, channelID, channelID, "page=0&per_page=", decimal(perPage))
}

// PostsSince reads the posts that changed after a moment in server time, in Unix milliseconds.
func (c *Client) PostsSince(ctx context.Context, channelID string, since int64) ([]Seen, error) {
	return c.posts(ctx, opGetPosts, channelID, channelID, "since=", millis(since), c.roots())
}

// PostsBefore reads the posts that come before one, newest first.
func (c *Client) PostsBefore(
	ctx context.Context, channelID, postID string, perPage int,
) ([]Seen, error) {
	return c.posts(ctx, opGetPostsBefore, channelID, channelID, postID, decimal(perPage), c.roots())
}

// PostsAroundUnread reads the posts around the first one that the user has not seen.
func (c *Client) PostsAroundUnread(
	ctx context.Context, userID, channelID string, before, after int,
) ([]Seen, error) {
	return c.posts(ctx, opGetPostsUnread, channelID, userID, channelID, decimal(before),
		decimal(after), c.roots())
}

// roots requests lists of root posts, if the client collapses threads.
func (c *Client) roots() string {
	if c.Collapse {
		return "&collapsedThreads=true"
	}
	return ""
}

// Thread reads a post and its replies.
func (c *Client) Thread(ctx context.Context, postID string) ([]Seen, error) {
	id := ParseID(postID)
	return get(ctx, c, opGetThread,
		holding(readPosts, "the post is not in its thread", func(posts []Seen) bool {
			return slices.ContainsFunc(posts, func(p Seen) bool { return p.ID == id })
		}), postID)
}

// posts reads a list of posts of a channel in the order that the server gives. A list whose order
// names a post that is not in it is an error.
func (c *Client) posts(
	ctx context.Context, o op, channelID string, values ...string,
) ([]Seen, error) {
	id := ParseID(channelID)
	return get(ctx, c, o, holding(readPosts, "a post of another channel", func(posts []Seen) bool {
		return !slices.ContainsFunc(posts, func(p Seen) bool { return p.ChannelID != id })
	}), values...)
}

// Reactions reads who reacted to a post: the user of each reaction.
func (c *Client) Reactions(ctx context.Context, postID string) (users []string, err error) {
	return get(ctx, c, opReactions, orNone(listOf(func(b []byte) (user string, err error) {
		emoji := ""
		err = fields(b, "user_id", &user, "emoji_name", &emoji)
		if err = require(err, emoji != "", "a reaction without emoji"); err == nil {
			err = shows(b, "post_id", postID, "user_id", "")
		}
		return user, err
	})), postID)
}

// React adds the user's reaction, an emoji's name without colons, to a post.
func (c *Client) React(ctx context.Context, userID, postID, emoji string) error {
	b := object(c.body(), "user_id", userID, "post_id", postID, "emoji_name", emoji)
	return c.do(ctx, opReact, b, shown("post_id", postID, "user_id", userID, "emoji_name", emoji))
}

// A Priority holds an author's requests with a root post. The zero value is none.
type Priority struct {
	Urgent     bool
	WantsAck   bool // readers are asked for an acknowledgement
	Persistent bool // mentioned users are notified again and again; needs Urgent
}

// appendTo appends the priority as the metadata of a post.
func (p Priority) appendTo(b []byte) []byte {
	level := ""
	if p.Urgent {
		level = "urgent"
	}
	b = append(b, `"metadata":{"priority":{"priority":"`...)
	b = append(b, level...)
	b = append(b, `","requested_ack":`...)
	b = strconv.AppendBool(b, p.WantsAck)
	b = append(b, `,"persistent_notifications":`...)
	b = strconv.AppendBool(b, p.Persistent)
	return append(b, "}}"...)
}

// readPriority finds the priority in a post's metadata.
func readPriority(metadata []byte) (p Priority, err error) {
	if metadata[0] != '{' {
		return p, nil
	}
	level := ""
	err = inside(metadata, "priority", func(v []byte) error {
		return fields(
			v,
			"priority",
			&level,
			"requested_ack",
			&p.WantsAck,
			"persistent_notifications",
			&p.Persistent,
		)
	})
	p.Urgent = level == "urgent"
	return p, err
}

// EditPost changes the text of one of the user's posts.
func (c *Client) EditPost(ctx context.Context, postID, message string) error {
	return c.do(ctx, opEditPost, object(c.body(), "message", message), func(b []byte) error {
		id := ""
		got := ""
		err := fields(b, "id", &id, "message", &got)
		return require(err, id == postID && got == message, "another text")
	}, postID)
}

// DeletePost deletes one of the user's posts, with its replies.
func (c *Client) DeletePost(ctx context.Context, postID string) error {
	return c.do(ctx, opDeletePost, nil, done, postID)
}

// PostText reads one post and returns its text.
func (c *Client) PostText(ctx context.Context, postID string) (message string, err error) {
	return get(ctx, c, opGetPost, func(b []byte) (message string, err error) {
		id := ""
		err = fields(b, "id", &id, "message", &message)
		return message, require(err, id == postID, "another post")
	}, postID)
}

// Remind asks the server to remind the user of a post at a time, to the second.
func (c *Client) Remind(ctx context.Context, userID, postID string, at time.Time) error {
	b := strconv.AppendInt(append(c.body(), `{"target_time":`...), at.Unix(), 10)
	return c.do(ctx, opReminder, append(b, '}'), done, userID, postID)
}

// Acknowledge reports that the user has read a post.
func (c *Client) Acknowledge(ctx context.Context, userID, postID string) error {
	return c.do(ctx, opAck, nil, func(b []byte) error {
		id := ""
		at := int64(0)
		err := fields(b, "post_id", &id, "acknowledged_at", &at)
		return require(err, id == postID && at > 0, "not acknowledged")
	}, userID, postID)
}

// PostPriority reads the priority of a post, and the users that have acknowledged it.
func (c *Client) PostPriority(
	ctx context.Context, postID string,
) (p Priority, acks []string, err error) {
	err = c.do(ctx, opGetPost, nil, func(b []byte) error {
		if err := shows(b, "id", postID); err != nil {
			return err
		}
		return inside(b, "metadata", func(v []byte) (err error) {
			var list []byte
			if p, err = readPriority(v); err == nil {
				err = fields(v, "acknowledgements", &list)
			}
			if err == nil && list != nil {
				acks, err = ackers(list)
			}
			return err
		})
	}, postID)
	return p, acks, err
}

var ackers = orNone(listOf(func(b []byte) (user string, err error) {
	err = fields(b, "user_id", &user)
	return user, require(err, user != "", "an acknowledgment of nobody")
}))
