package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"plimsoll/load/wire"
)

var (
	opUpsertDraft     = newOp("upsert_draft")
	opDeleteDraft     = newOp("delete_draft")
	opGetDrafts       = newOp("get_drafts")
	opSchedulePost    = newOp("schedule_post")
	opUpdateScheduled = newOp("update_scheduled_post")
	opDeleteScheduled = newOp("delete_scheduled_post")
	opGetScheduled    = newOp("get_scheduled_posts")
)

// appendTo appends the draft as the members of an object that is open still.
func (d *Draft) appendTo(b []byte) []byte {
	b = object(b, "channel_id", d.ChannelID, "root_id", d.RootID)
	b = append(b[:len(b)-1], `,"message":`...)
	b = appendString(b, d.Message)
	if len(d.FileIDs) > 0 {
		b = append(b, `,"file_ids":`...)
		b = list(b, d.FileIDs)
	}
	return b
}

// readDraft reads a draft back.
func readDraft(v []byte) (d Draft, err error) {
	err = eachField(v, func(k, v []byte) error {
		switch string(k) {
		case "channel_id":
			d.ChannelID = string(text(v))
		case "root_id":
			d.RootID = string(text(v))
		case "message":
			d.Message = string(text(v))
		case "file_ids":
			if v[0] == '[' {
				return eachElement(v, func(v []byte) error { d.FileIDs = append(d.FileIDs, string(text(v))); return nil })
			}
		}
		return nil
	})
	return d, err
}

// kept reports whether the server has kept the draft d as it was meant.
func (d *Draft) kept(got *Draft) error {
	if got.ChannelID != d.ChannelID || got.RootID != d.RootID || got.Message != d.Message || len(got.FileIDs) != len(d.FileIDs) {
		return fmt.Errorf("%w: another draft", ErrEffect)
	}
	return nil
}

// UpsertDraft saves the user's draft in a channel or thread. The message must not be empty: that deletes the draft.
func (c *Client) UpsertDraft(ctx context.Context, d Draft) error {
	return c.send(ctx, opUpsertDraft, "/drafts", func(b []byte) []byte { return append(d.appendTo(b), '}') }, func(resp *wire.Response) error {
		got, err := readDraft(resp.Body)
		if err != nil {
			return err
		}
		return d.kept(&got)
	}, 201)
}

// DeleteDraft forgets the user's draft in a channel, or in a thread if rootID is not empty. It succeeds too where
// there is none: the web app requests it without knowing, and the releases whose source was read answer 200.
func (c *Client) DeleteDraft(ctx context.Context, userID, channelID, rootID string) error {
	path := "/users/" + url.PathEscape(userID) + "/channels/" + url.PathEscape(channelID) + "/drafts"
	if rootID != "" {
		path += "/" + url.PathEscape(rootID)
	}
	return c.remove(ctx, opDeleteDraft, path, done, 200)
}

// Drafts lists the user's drafts in a team's channels and in direct and group channels.
func (c *Client) Drafts(ctx context.Context, userID, teamID string) (drafts []Draft, err error) {
	path := "/users/" + url.PathEscape(userID) + "/teams/" + url.PathEscape(teamID) + "/drafts"
	err = c.get(ctx, opGetDrafts, path, func(resp *wire.Response) error {
		return eachIn(resp.Body, func(v []byte) error {
			d, err := readDraft(v)
			if err == nil && d.ChannelID == "" {
				err = fmt.Errorf("%w: a draft without channel", ErrEffect)
			}
			drafts = append(drafts, d)
			return err
		})
	})
	return drafts, err
}

// A Scheduled is a draft that the server will post at a time.
type Scheduled struct {
	Draft
	ID string
	At int64 // Unix ms, server time
}

func readScheduled(v []byte) (s Scheduled, err error) {
	if s.Draft, err = readDraft(v); err != nil {
		return s, err
	}
	err = eachField(v, func(k, v []byte) error {
		switch string(k) {
		case "id":
			s.ID = string(text(v))
		case "scheduled_at":
			s.At = number(v)
		}
		return nil
	})
	return s, err
}

// schedule makes or changes a scheduled post and requires the answer to show it.
func (c *Client) schedule(ctx context.Context, method string, o op, path, userID string, s Scheduled) (got Scheduled, err error) {
	err = c.sendAs(ctx, method, o, path, func(b []byte) []byte {
		b = append(s.appendTo(b), `,"scheduled_at":`...)
		b = strconv.AppendInt(b, s.At, 10)
		b = append(b, `,"user_id":`...)
		b = appendString(b, userID)
		if s.ID != "" {
			b = append(b, `,"id":`...)
			b = appendString(b, s.ID)
		}
		return append(b, '}')
	}, func(resp *wire.Response) (err error) {
		if got, err = readScheduled(resp.Body); err != nil {
			return err
		}
		if got.ID == "" || s.ID != "" && got.ID != s.ID || got.At != s.At {
			return fmt.Errorf("%w: another scheduled post", ErrEffect)
		}
		return s.kept(&got.Draft)
	}, 200, 201) // the reference has 200, the servers answer 201
	return got, err
}

// Schedule has the server post a draft at a time in the future, Unix ms.
func (c *Client) Schedule(ctx context.Context, userID string, d Draft, at int64) (Scheduled, error) {
	return c.schedule(ctx, "POST", opSchedulePost, "/posts/schedule", userID, Scheduled{Draft: d, At: at})
}

// Reschedule changes a scheduled post's message, files and time.
func (c *Client) Reschedule(ctx context.Context, userID string, s Scheduled) error {
	_, err := c.schedule(ctx, "PUT", opUpdateScheduled, "/posts/schedule/"+url.PathEscape(s.ID), userID, s)
	return err
}

// Unschedule deletes a scheduled post.
func (c *Client) Unschedule(ctx context.Context, id string) error {
	got := ""
	return c.remove(ctx, opDeleteScheduled, "/posts/schedule/"+url.PathEscape(id), func(resp *wire.Response) error {
		if err := idIn("id", &got)(resp); err != nil {
			return err
		}
		if got != id {
			return fmt.Errorf("%w: another scheduled post", ErrEffect)
		}
		return nil
	}, 200, 201)
}

// ScheduledPosts lists the user's scheduled posts in a team's channels and in direct and group channels.
func (c *Client) ScheduledPosts(ctx context.Context, teamID string) (posts []Scheduled, err error) {
	err = c.get(ctx, opGetScheduled, "/posts/scheduled/team/"+url.PathEscape(teamID)+"?includeDirectChannels=true", func(resp *wire.Response) error {
		return eachField(resp.Body, func(_, v []byte) error {
			return eachIn(v, func(v []byte) error {
				s, err := readScheduled(v)
				if err == nil && (s.ID == "" || s.ChannelID == "") {
					err = fmt.Errorf("%w: a scheduled post without id", ErrEffect)
				}
				posts = append(posts, s)
				return err
			})
		})
	})
	return posts, err
}
