package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"plimsoll/load/wire"
)

var (
	opEditPost   = newOp("edit_post")
	opDeletePost = newOp("delete_post")
	opGetPost    = newOp("get_post")
	opReminder   = newOp("set_reminder")
	opAck        = newOp("acknowledge_post")
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
	if len(metadata) == 0 || metadata[0] != '{' {
		return p, nil
	}
	err = eachField(metadata, func(k, v []byte) error {
		if string(k) != "priority" || v[0] != '{' {
			return nil
		}
		return eachField(v, func(k, v []byte) error {
			switch string(k) {
			case "priority":
				p.Urgent = string(v) == `"urgent"`
			case "requested_ack":
				p.WantsAck = string(v) == "true"
			case "persistent_notifications":
				p.Persistent = string(v) == "true"
			}
			return nil
		})
	})
	return p, err
}

func postPath(postID string) string { return "/posts/" + url.PathEscape(postID) }

// EditPost changes the text of one of the user's posts.
func (c *Client) EditPost(ctx context.Context, postID, message string) error {
	return c.sendAs(ctx, "PUT", opEditPost, postPath(postID)+"/patch", func(b []byte) []byte { return object(b, "message", message) }, func(resp *wire.Response) error {
		id, got := "", ""
		if err := texts(resp.Body, []string{"id", "message"}, &id, &got); err != nil {
			return err
		}
		if id != postID || got != message {
			return fmt.Errorf("%w: another text", ErrEffect)
		}
		return nil
	}, 200)
}

// DeletePost deletes one of the user's posts, with its replies.
func (c *Client) DeletePost(ctx context.Context, postID string) error {
	return c.remove(ctx, opDeletePost, postPath(postID), done, 200)
}

// PostText reads one post and returns its text.
func (c *Client) PostText(ctx context.Context, postID string) (message string, err error) {
	id := ""
	err = c.get(ctx, opGetPost, postPath(postID), func(resp *wire.Response) error {
		if err := texts(resp.Body, []string{"id", "message"}, &id, &message); err != nil {
			return err
		}
		if id != postID {
			return fmt.Errorf("%w: another post", ErrEffect)
		}
		return nil
	})
	return message, err
}

// Remind asks the server to remind the user of a post at a time, to the second.
func (c *Client) Remind(ctx context.Context, userID, postID string, at time.Time) error {
	return c.send(ctx, opReminder, "/users/"+url.PathEscape(userID)+postPath(postID)+"/reminder", func(b []byte) []byte {
		b = append(b, `{"target_time":`...)
		b = strconv.AppendInt(b, at.Unix(), 10)
		return append(b, '}')
	}, done, 200)
}

// Acknowledge reports that the user has read a post.
func (c *Client) Acknowledge(ctx context.Context, userID, postID string) error {
	return c.call(ctx, opAck, &wire.Request{Method: "POST", Path: root + "/users/" + url.PathEscape(userID) + postPath(postID) + "/ack"}, func(resp *wire.Response) error {
		id, at := "", int64(0)
		if err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "post_id":
				id = string(text(v))
			case "acknowledged_at":
				at = number(v)
			}
			return nil
		}); err != nil {
			return err
		}
		if id != postID || at <= 0 {
			return fmt.Errorf("%w: not acknowledged", ErrEffect)
		}
		return nil
	}, 200)
}

// PostPriority reads the priority of a post, and the users that have acknowledged it.
func (c *Client) PostPriority(ctx context.Context, postID string) (p Priority, acks []string, err error) {
	err = c.get(ctx, opGetPost, postPath(postID), func(resp *wire.Response) error {
		if err := shows(resp.Body, "id", postID); err != nil {
			return err
		}
		return eachField(resp.Body, func(k, v []byte) (err error) {
			if string(k) != "metadata" || v[0] != '{' {
				return nil
			}
			if p, err = readPriority(v); err != nil {
				return err
			}
			return eachField(v, func(k, v []byte) error {
				if string(k) != "acknowledgements" {
					return nil
				}
				return eachIn(v, func(v []byte) error {
					user := ""
					err := texts(v, []string{"user_id"}, &user)
					if err == nil && user == "" {
						err = fmt.Errorf("%w: an acknowledgment of nobody", ErrEffect)
					}
					acks = append(acks, user)
					return err
				})
			})
		})
	})
	return p, acks, err
}
