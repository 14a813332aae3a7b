package mattermost

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"plimsoll/wire"
)

// A Draft is a post to be made.
type Draft struct {
	ChannelID string
	Message   string
	RootID    string // not empty: a reply to that post, which must not be a reply itself
	FileIDs   []string
}

// A Posted is a post that the server has accepted.
type Posted struct {
	ID   string
	Sent time.Time // when its request was sent: where its delivery begins
}

// Post makes a post, or a reply, which is recorded under a name of its own.
func (c *Client) Post(ctx context.Context, d Draft) (p Posted, err error) {
	o := opPost
	if d.RootID != "" {
		o = opReply
	}
	channel := ""
	err = c.send(ctx, o, "/posts", func(b []byte) []byte {
		b = object(b, "channel_id", d.ChannelID, "root_id", d.RootID)
		b = append(b[:len(b)-1], `,"message":`...)
		b = appendString(b, d.Message)
		if len(d.FileIDs) > 0 {
			b = append(b, `,"file_ids":`...)
			b = list(b, d.FileIDs)
		}
		return append(b, '}')
	}, func(resp *wire.Response) error {
		files := 0
		if err := eachField(resp.Body, func(k, v []byte) error {
			switch string(k) {
			case "id":
				p.ID = string(text(v))
			case "channel_id":
				channel = string(text(v))
			case "file_ids":
				if v[0] == '[' {
					return eachElement(v, func([]byte) error { files++; return nil })
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if p.ID == "" || channel != d.ChannelID || files != len(d.FileIDs) {
			return fmt.Errorf("%w: no such post", errEffect)
		}
		p.Sent = resp.Sent
		return nil
	}, 201)
	return p, err
}

// boundary separates the parts of an upload. File names and contents of this package cannot contain it.
const boundary = "plimsoll-9b7f1c2d4e6a8053"

// Upload stores one file for a post to come and returns its id. The name must not contain quotes or line ends, the contents not the
// boundary of the form.
func (c *Client) Upload(ctx context.Context, channelID, name, contentType string, data []byte) (id string, err error) {
	buf := bodies.Get().(*[]byte)
	b := append((*buf)[:0], "--"+boundary+"\r\nContent-Disposition: form-data; name=\"files\"; filename=\""...)
	b = append(b, name...)
	b = append(b, "\"\r\nContent-Type: "...)
	b = append(b, contentType...)
	b = append(b, "\r\n\r\n"...)
	b = append(b, data...)
	b = append(b, "\r\n--"+boundary+"--\r\n"...)
	err = c.call(ctx, opUpload, &wire.Request{
		Method: "POST", Path: api + "/files?channel_id=" + url.QueryEscape(channelID), Body: b,
		ContentType: "multipart/form-data; boundary=" + boundary,
	}, func(resp *wire.Response) error {
		var ids []string
		err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "file_infos" || v[0] != '[' {
				return nil
			}
			return eachElement(v, func(v []byte) error {
				var one string
				size := int64(-1)
				if err := eachField(v, func(k, v []byte) error {
					switch string(k) {
					case "id":
						one = string(text(v))
					case "size":
						size = number(v)
					}
					return nil
				}); err != nil {
					return err
				}
				if one == "" || size != int64(len(data)) {
					return fmt.Errorf("%w: a file of %d bytes, want %d", errEffect, size, len(data))
				}
				ids = append(ids, one)
				return nil
			})
		})
		if err == nil && len(ids) != 1 {
			err = fmt.Errorf("%w: %d files, want 1", errEffect, len(ids))
		}
		if err == nil {
			id = ids[0]
		}
		return err
	}, 201)
	*buf = b
	if cap(b) <= 64<<10 {
		bodies.Put(buf)
	}
	return id, err
}

// A Seen is a post as a user's client remembers it.
type Seen struct {
	ID, RootID, UserID string
}

// Posts reads the newest posts of a channel, newest first.
func (c *Client) Posts(ctx context.Context, channelID string, perPage int) ([]Seen, error) {
	return c.posts(ctx, opGetPosts, "/channels/"+url.PathEscape(channelID)+"/posts?page=0&per_page="+strconv.Itoa(perPage))
}

// PostsSince reads the posts that changed after a moment in server time, in Unix milliseconds.
func (c *Client) PostsSince(ctx context.Context, channelID string, since int64) ([]Seen, error) {
	return c.posts(ctx, opGetPosts, "/channels/"+url.PathEscape(channelID)+"/posts?since="+millis(since))
}

// PostsBefore reads the posts that come before one, newest first.
func (c *Client) PostsBefore(ctx context.Context, channelID, postID string, perPage int) ([]Seen, error) {
	return c.posts(ctx, opGetPostsBefore, "/channels/"+url.PathEscape(channelID)+"/posts?before="+url.QueryEscape(postID)+"&page=0&per_page="+strconv.Itoa(perPage))
}

// PostsAroundUnread reads the posts around the first one that the user has not seen.
func (c *Client) PostsAroundUnread(ctx context.Context, userID, channelID string, before, after int) ([]Seen, error) {
	return c.posts(ctx, opGetPostsUnread, fmt.Sprintf("/users/%s/channels/%s/posts/unread?limit_before=%d&limit_after=%d",
		url.PathEscape(userID), url.PathEscape(channelID), before, after))
}

// Thread reads a post and its replies.
func (c *Client) Thread(ctx context.Context, postID string) ([]Seen, error) {
	return c.posts(ctx, opGetThread, "/posts/"+url.PathEscape(postID)+"/thread")
}

// posts reads a list of posts in the order that the server gives. A list whose order names a post that is not in it is an error.
func (c *Client) posts(ctx context.Context, o op, path string) (seen []Seen, err error) {
	err = c.get(ctx, o, path, func(resp *wire.Response) (err error) {
		seen, err = readPosts(resp.Body)
		return err
	})
	return seen, err
}

func readPosts(body []byte) ([]Seen, error) {
	var order, byID []byte
	if err := eachField(body, func(k, v []byte) error {
		switch string(k) {
		case "order":
			order = v
		case "posts":
			byID = v
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if order == nil {
		return nil, fmt.Errorf("%w: no order", errEffect)
	}
	var seen []Seen
	at := map[string]int{}
	if string(order) != "null" {
		if err := eachElement(order, func(v []byte) error {
			id := string(text(v))
			at[id] = len(seen)
			seen = append(seen, Seen{ID: id})
			return nil
		}); err != nil {
			return nil, err
		}
	}
	missing := len(at)
	if len(byID) > 0 && byID[0] == '{' {
		if err := eachField(byID, func(k, v []byte) error {
			i, ok := at[string(k)]
			if !ok { // roots of replies that lie further back
				return nil
			}
			missing--
			return eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "root_id":
					seen[i].RootID = string(text(v))
				case "user_id":
					seen[i].UserID = string(text(v))
				}
				return nil
			})
		}); err != nil {
			return nil, err
		}
	}
	if missing != 0 {
		return nil, fmt.Errorf("%w: %d posts of the order are missing", errEffect, missing)
	}
	return seen, nil
}
