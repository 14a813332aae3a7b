package api

import (
	"bytes"
)

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

// read reads the needed fields of a post. Of posts in events (pending is not nil), which thousands
// of users receive, fields that cost memory stay unread; they have the author's identifier.
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
	for end < len(v) && (v[end] >= 'a' && v[end] <= 'z' || v[end] >= '0' && v[end] <= '9' ||
		v[end] == '.' || v[end] == '-' || v[end] == '_') {
		end++
	}
	switch name := string(bytes.TrimRight(v[i+1:end], ".")); name {
	case "all", "channel", "here":
		return ""
	default:
		return name
	}
}
