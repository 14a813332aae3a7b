package api

import (
	"context"
	"net/url"
	"strconv"
)

var (
	opUpsertDraft = newOp("upsert_draft", "POST /drafts", created, notifies)
	opDeleteDraft = newOp("delete_draft", "DELETE /users/{}/channels/{}/drafts", notifies)
	opGetDrafts   = newOp("get_drafts", "GET /users/{}/teams/{}/drafts")
	// the reference has 200, the servers 201.
	opSchedulePost    = newOp("schedule_post", "POST /posts/schedule", mayCreate, notifies)
	opUpdateScheduled = newOp(
		"update_scheduled_post",
		"PUT /posts/schedule/{}",
		mayCreate,
		notifies,
	)
	opDeleteScheduled = newOp("delete_scheduled_post", "DELETE /posts/schedule/{}", mayCreate,
		notifies)
	opGetScheduled = newOp("get_scheduled_posts",
		"GET /posts/scheduled/team/{}?includeDirectChannels=true")
)

// appendTo appends the draft as the members of an object that is open still.
func (d *Draft) appendTo(b []byte) []byte {
	b = object(b, "channel_id", d.ChannelID, "root_id", d.RootID)
	b = appendString(append(b[:len(b)-1], `,"message":`...), d.Message)
	if len(d.FileIDs) > 0 {
		b = list(append(b, `,"file_ids":`...), d.FileIDs)
	}
	return b
}

// readDraft reads a draft back.
func readDraft(b []byte) (d Draft, err error) {
	err = fields(b, "channel_id", &d.ChannelID, "root_id", &d.RootID, "message", &d.Message,
		"file_ids", &d.FileIDs)
	return d, err
}

// kept reports whether the server has kept the draft d as it was meant.
func (d *Draft) kept(got Draft) bool {
	return got.ChannelID == d.ChannelID && got.RootID == d.RootID && got.Message == d.Message &&
		len(got.FileIDs) == len(d.FileIDs)
}

const anotherDraft = "another draft"

// UpsertDraft saves the user's draft in a channel or thread. The message must not be empty: that
// deletes the draft.
func (c *Client) UpsertDraft(ctx context.Context, d Draft) error {
	_, err := send(ctx, c, opUpsertDraft, append(d.appendTo(c.body()), '}'),
		holding(readDraft, anotherDraft, d.kept))
	return err
}

// DeleteDraft forgets the user's draft in a channel, or in a thread if rootID is not empty. It
// succeeds too where there is none: the web app requests it without knowing, and the releases whose
// source was read answer 200.
func (c *Client) DeleteDraft(ctx context.Context, userID, channelID, rootID string) error {
	if rootID != "" {
		rootID = "/" + url.PathEscape(rootID)
	}
	return c.do(ctx, opDeleteDraft, nil, done, userID, channelID, rootID)
}

// Drafts lists the user's drafts in a team's channels and in direct and group channels.
func (c *Client) Drafts(ctx context.Context, userID, teamID string) ([]Draft, error) {
	return get(ctx, c, opGetDrafts, drafts, userID, teamID)
}

var drafts = orNone(listOf(holding(readDraft, "a draft without channel", func(d Draft) bool {
	return d.ChannelID != ""
})))

// A Scheduled is a draft that the server will post at a time.
type Scheduled struct {
	Draft
	ID string
	At int64 // Unix ms, server time
}

func readScheduled(b []byte) (s Scheduled, err error) {
	if s.Draft, err = readDraft(b); err == nil {
		err = fields(b, "id", &s.ID, "scheduled_at", &s.At)
	}
	return s, err
}

// schedule makes or changes a scheduled post and requires the answer to show it.
func (c *Client) schedule(
	ctx context.Context, o op, userID string, s Scheduled, path ...string,
) (Scheduled, error) {
	b := strconv.AppendInt(append(s.appendTo(c.body()), `,"scheduled_at":`...), s.At, 10)
	b = appendString(append(b, `,"user_id":`...), userID)
	if s.ID != "" {
		b = appendString(append(b, `,"id":`...), s.ID)
	}
	return send(ctx, c, o, append(b, '}'), func(b []byte) (Scheduled, error) {
		got, err := readScheduled(b)
		same := got.ID != "" && (s.ID == "" || got.ID == s.ID) && got.At == s.At
		return got, require(
			require(err, same, "another scheduled post"),
			s.kept(got.Draft),
			anotherDraft,
		)
	}, path...)
}

// Schedule has the server post a draft at a future time, in Unix milliseconds.
func (c *Client) Schedule(
	ctx context.Context, userID string, d Draft, at int64,
) (Scheduled, error) {
	return c.schedule(ctx, opSchedulePost, userID, Scheduled{Draft: d, At: at})
}

// Reschedule changes a scheduled post's message, files and time.
func (c *Client) Reschedule(ctx context.Context, userID string, s Scheduled) error {
	_, err := c.schedule(ctx, opUpdateScheduled, userID, s, s.ID)
	return err
}

// Unschedule deletes a scheduled post.
func (c *Client) Unschedule(ctx context.Context, id string) error {
	_, err := get(ctx, c, opDeleteScheduled,
		holding(idIn("id"), "another scheduled post", func(got string) bool {
			return got == id
		}), id)
	return err
}

// ScheduledPosts lists the user's scheduled posts in a team's channels and in direct and group
// channels.
func (c *Client) ScheduledPosts(ctx context.Context, teamID string) ([]Scheduled, error) {
	return get(ctx, c, opGetScheduled, func(b []byte) (posts []Scheduled, err error) {
		err = eachField(b, func(_, v []byte) error {
			list, err := scheduled(v)
			posts = append(posts, list...)
			return err
		})
		return posts, err
	}, teamID)
}

var scheduled = orNone(listOf(holding(readScheduled, "a scheduled post without id",
	func(s Scheduled) bool {
		return s.ID != "" && s.ChannelID != ""
	})))
