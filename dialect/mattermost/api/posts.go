package api

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"plimsoll/load/wire"
)

var (
	opPost           = newOp("post", "POST /posts", created)
	opReply          = newOp("reply", "POST /posts", created)
	opUpload         = newOp("upload", "POST /files", created)
	opGetPosts       = newOp("get_posts", "GET /channels/{}/posts?")
	opGetPostsBefore = newOp("get_posts_before", "GET /channels/{}/posts?before={}&page=0&per_page={}")
	opGetPostsUnread = newOp("get_posts_unread", "GET /users/{}/channels/{}/posts/unread?limit_before={}&limit_after={}")
	opGetThread      = newOp("get_thread", "GET /posts/{}/thread", wholeList)
)

// A Draft is a post to be made.
type Draft struct {
	ChannelID string
	Message   string
	RootID    string // not empty: a reply to that post, which must not be a reply itself
	FileIDs   []string
	Priority  Priority // of a root post; drafts do not keep it here
	// Pending is the client's own identifier of a post, see [PendingID]; empty for none. Drafts have none.
	Pending string
}

// PendingID is the identifier that a client gives a post before the server has given it one: the user, and a moment
// in Unix milliseconds. The server repeats it in its answer and in the post's event. Two posts of a user must not have
// the same: the server takes the second one for the first sent again.
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

// Post makes a post, or a reply, which is recorded under a name of its own. With an error, Sent and Acked are those of
// the request and its end, and the rest is empty.
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
		channel, root, files, priority := "", "", 0, Priority{}
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
					return eachElement(v, func([]byte) error { files++; return nil })
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
	p.Sent, p.Acked = c.sent, c.done
	return p, err
}

// FormBoundary separates the parts of an upload. File names and contents must not contain it.
const FormBoundary = "plimsoll-9b7f1c2d4e6a8053"

// Upload stores one file for a post to come and returns its id. The name must not contain quotes or line ends, the
// contents not the boundary of the form.
func (c *Client) Upload(ctx context.Context, channelID, name, contentType string, data []byte) (id string, err error) {
	return c.upload(ctx, "?channel_id="+url.QueryEscape(channelID), name, contentType, data)
}

func (c *Client) upload(ctx context.Context, query, name, contentType string, data []byte) (id string, err error) {
	b := append(c.body(), "--"+FormBoundary+"\r\nContent-Disposition: form-data; name=\"files\"; filename=\""...)
	b = append(b, name...)
	b = append(b, "\"\r\nContent-Type: "...)
	b = append(b, contentType...)
	b = append(b, "\r\n\r\n"...)
	b = append(b, data...)
	b = append(b, "\r\n--"+FormBoundary+"--\r\n"...)
	req := wire.Request{Body: b, ContentType: "multipart/form-data; boundary=" + FormBoundary}
	err = c.call(ctx, opUpload, &req, func(resp *wire.Response) error {
		n := 0
		err := eachField(resp.Body, func(k, v []byte) error {
			if string(k) != "file_infos" || v[0] != '[' {
				return nil
			}
			return eachElement(v, func(v []byte) error {
				size := int64(-1)
				n, id = n+1, ""
				err := fields(v, "id", idTo(&id), "size", &size)
				if err == nil && (id == "" || size != int64(len(data))) {
					err = noEffect("a file of %d bytes, want %d", size, len(data))
				}
				return err
			})
		})
		if err == nil && n != 1 {
			err = noEffect("%d files, want 1", n)
		}
		return err
	}, query)
	if err != nil {
		id = ""
	}
	return id, err
}

// PostFlags are further traits of a post.
type PostFlags uint8

// The traits.
const (
	PostHasReplies PostFlags = 1 << iota
	PostWantsAck             // an acknowledgement was requested
	PostHasImage             // a file with a thumbnail
	PostHasFiles
	PostSystem // "X joined the channel" and its like
	PostOfRun  // a simulated user wrote it in this run
)

// A Seen is a post as a user's client reads it.
type Seen struct {
	ID, RootID, UserID, ChannelID ID
	CreateAt                      int64 // server time, Unix ms
	Deleted                       bool
	Flags                         PostFlags
	Images                        []Image // of posts that were read, not of events
	Mention                       string  // the first user name that the message mentions, or ""
}

// Image is a file of a post.
type Image struct {
	ID      ID
	Preview bool // the server made a smaller picture of it
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
func (c *Client) PostsBefore(ctx context.Context, channelID, postID string, perPage int) ([]Seen, error) {
	return c.posts(ctx, opGetPostsBefore, channelID, channelID, postID, decimal(perPage), c.roots())
}

// PostsAroundUnread reads the posts around the first one that the user has not seen.
func (c *Client) PostsAroundUnread(ctx context.Context, userID, channelID string, before, after int) ([]Seen, error) {
	return c.posts(ctx, opGetPostsUnread, channelID, userID, channelID, decimal(before), decimal(after), c.roots())
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
	return get(ctx, c, opGetThread, func(b []byte) ([]Seen, error) {
		posts, err := readPosts(b)
		id := ParseID(postID)
		here := slices.ContainsFunc(posts, func(p Seen) bool { return p.ID == id })
		return posts, require(err, here, "the post is not in its thread")
	}, postID)
}

// posts reads a list of posts of a channel in the order that the server gives. A list whose order names a post that is
// not in it is an error.
func (c *Client) posts(ctx context.Context, o op, channelID string, values ...string) ([]Seen, error) {
	return get(ctx, c, o, func(b []byte) ([]Seen, error) {
		posts, err := readPosts(b)
		for i, id := 0, ParseID(channelID); i < len(posts); i++ {
			err = require(err, posts[i].ChannelID == id, "a post of another channel")
		}
		return posts, err
	}, values...)
}

func readPosts(body []byte) ([]Seen, error) {
	var order, byID []byte
	err := fields(body, "order", &order, "posts", &byID)
	if err = require(err, order != nil, "no order"); err != nil {
		return nil, err
	}
	var seen []Seen
	at := map[ID]int{}
	if err := eachIn(order, func(v []byte) error {
		id, err := idOf(text(v))
		if _, twice := at[id]; !twice { // as 5.37 lists the root of a thread
			at[id] = len(seen)
			seen = append(seen, Seen{ID: id})
		}
		return err
	}); err != nil {
		return nil, err
	}
	missing := len(at)
	if len(byID) > 0 && byID[0] == '{' {
		if err := eachField(byID, func(k, v []byte) error {
			id, err := idOf(k)
			i, ok := at[id]
			if !ok { // roots of replies that lie further back
				return err
			}
			missing--
			seen[i].ID = ID{}
			if err := seen[i].read(v, nil); err != nil {
				return err
			}
			if seen[i].ID != id {
				return noEffect("a post under the identifier of another")
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if missing != 0 {
		return nil, noEffect("%d posts of the order are missing", missing)
	}
	return seen, nil
}

// mostPending bounds the identifiers of authors that are read from events, in bytes; ours have 40.
const mostPending = 64

// read reads the needed fields of a post. Of posts in events (pending is not nil), which thousands of users receive,
// fields that cost memory stay unread; they have the author's identifier.
func (p *Seen) read(body []byte, pending *[]byte) error {
	whole := pending == nil
	return eachField(body, func(k, v []byte) (err error) {
		switch string(k) {
		case "id":
			p.ID, err = idOf(text(v))
		case "root_id":
			p.RootID, err = idOf(text(v))
		case "user_id":
			p.UserID, err = idOf(text(v))
		case "channel_id":
			p.ChannelID, err = idOf(text(v))
		case "create_at":
			p.CreateAt = number(v)
		case "delete_at":
			p.Deleted = number(v) > 0
		case "reply_count":
			if number(v) > 0 {
				p.Flags |= PostHasReplies
			}
		case "type":
			if len(v) > 2 {
				p.Flags |= PostSystem
			}
		case "message":
			if whole {
				p.Mention = mentioned(v)
			}
		case "pending_post_id":
			if !whole && len(v) <= mostPending+2 {
				*pending = text(v)
			}
		case "metadata":
			err = p.readMetadata(v, whole)
		}
		return err
	})
}

// readMetadata takes the files, and whether an acknowledgement is requested.
func (p *Seen) readMetadata(v []byte, whole bool) error {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	return eachField(v, func(k, v []byte) error {
		switch {
		case string(k) == "files" && v[0] == '[':
			return eachElement(v, func(v []byte) error {
				p.Flags |= PostHasFiles
				var f Image
				picture := false
				err := eachField(v, func(k, v []byte) (err error) {
					switch string(k) {
					case "id":
						f.ID, err = idOf(text(v))
					case "mime_type":
						picture = string(v) == `"image/png"` || string(v) == `"image/jpeg"`
					case "has_preview_image":
						f.Preview = string(v) == "true"
					}
					return err
				})
				if picture && err == nil {
					p.Flags |= PostHasImage
					if whole {
						p.Images = append(p.Images, f)
					}
				}
				return err
			})
		case string(k) == "priority" && v[0] == '{':
			return eachField(v, func(k, v []byte) error {
				if string(k) == "requested_ack" && string(v) == "true" {
					p.Flags |= PostWantsAck
				}
				return nil
			})
		}
		return nil
	})
}

// mentioned returns the first user name that a message, as it stands in JSON, mentions.
func mentioned(v []byte) string {
	i := bytes.IndexByte(v, '@')
	if i < 1 || v[i-1] != ' ' && v[i-1] != '"' {
		return ""
	}
	end := i + 1
	for end < len(v) && (v[end] >= 'a' && v[end] <= 'z' || v[end] >= '0' && v[end] <= '9' || v[end] == '.' || v[end] == '-' || v[end] == '_') {
		end++
	}
	switch name := string(bytes.TrimRight(v[i+1:end], ".")); name {
	case "all", "channel", "here":
		return ""
	default:
		return name
	}
}
