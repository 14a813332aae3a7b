package api

import (
	"context"
	"strconv"
	"time"
)

var (
	opEditPost   = newOp("edit_post", "PUT /posts/{}/patch")
	opDeletePost = newOp("delete_post", "DELETE /posts/{}")
	opGetPost    = newOp("get_post", "GET /posts/{}")
	opReminder   = newOp("set_reminder", "POST /users/{}/posts/{}/reminder")
	opAck        = newOp("acknowledge_post", "POST /users/{}/posts/{}/ack")
)

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
		return fields(v, "priority", &level, "requested_ack", &p.WantsAck, "persistent_notifications", &p.Persistent)
	})
	p.Urgent = level == "urgent"
	return p, err
}

// EditPost changes the text of one of the user's posts.
func (c *Client) EditPost(ctx context.Context, postID, message string) error {
	return c.do(ctx, opEditPost, object(c.body(), "message", message), func(b []byte) error {
		id, got := "", ""
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
		id, at := "", int64(0)
		err := fields(b, "post_id", &id, "acknowledged_at", &at)
		return require(err, id == postID && at > 0, "not acknowledged")
	}, userID, postID)
}

// PostPriority reads the priority of a post, and the users that have acknowledged it.
func (c *Client) PostPriority(ctx context.Context, postID string) (p Priority, acks []string, err error) {
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
