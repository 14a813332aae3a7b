package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

var (
	opCreateWebhook = newOp("create_webhook", "POST /hooks/incoming", setup, created)
	opWebhooks      = newOp("webhooks", "GET /hooks/incoming?team_id={}&page={}&per_page={}", setup)
	opWebhook       = newOp("webhook", "POST /hooks/{}", beside)
	opCommand       = newOp("command", "POST /commands/execute")
	_               = newOp(WebhookPost, "")
	_               = newOp(CommandPost, "")
	_               = newOp(BotAnswer, "")
)

// The operations that end with an event at the user who began them, see [Client.Await]: a post by a
// webhook, one by a slash command, and the answer of a bot.
const (
	WebhookPost = "webhook_post"
	CommandPost = "command_post"
	BotAnswer   = "bot_answer"
)

// A Webhook is an address at which a program posts without a session: its ID is a secret.
type Webhook struct{ ID, Name, ChannelID string }

func webhook(b []byte) (h Webhook, err error) {
	err = fields(b, "id", idTo(&h.ID), "display_name", &h.Name, "channel_id", &h.ChannelID)
	return h, require(err, h.ID != "" && h.ChannelID != "", "no webhook")
}

// CreateWebhook makes an incoming webhook of a channel, whose posts are the caller's.
func (c *Client) CreateWebhook(ctx context.Context, channelID, name string) (Webhook, error) {
	b := object(c.body(), "channel_id", channelID, "display_name", name)
	h, err := send(ctx, c, opCreateWebhook, b, holding(webhook, "another webhook",
		func(h Webhook) bool { return h.ChannelID == channelID && h.Name == name }))
	c.Secrets.Add(h.ID)
	return h, err
}

// Webhooks returns one page of a team's incoming webhooks.
func (c *Client) Webhooks(
	ctx context.Context, teamID string, page, perPage int,
) ([]Webhook, error) {
	list, err := get(ctx, c, opWebhooks, orNone(listOf(webhook)), teamID, decimal(page),
		decimal(perPage))
	for _, h := range list {
		c.Secrets.Add(h.ID)
	}
	return list, err
}

// FireWebhook posts by a webhook, as a program without a session does, to a channel of the hook's
// team. The mark stands in the post's properties, and so in its event. It returns when the request
// was sent and when the answer was read: the answer does not name the post.
func (c *Client) FireWebhook(
	ctx context.Context, hookID, channelName, message, mark string,
) (sent, acked time.Time, err error) {
	token := c.Token
	c.Token = ""
	defer func() { c.Token = token }()
	b := object(c.body(), "channel", channelName, "text", message,
		"props", object(nil, "plimsoll", mark))
	err = c.do(ctx, opWebhook, b, func(b []byte) error {
		return require(nil, string(b) == "ok", "no ok")
	}, hookID)
	return c.sent, c.done, err
}

// RunCommand carries a slash command out that posts in the channel. It returns when the request was
// sent and when the answer was read: the answer does not name the post.
func (c *Client) RunCommand(
	ctx context.Context, teamID, channelID, command string,
) (sent, acked time.Time, err error) {
	b := object(c.body(), "command", command, "channel_id", channelID, "team_id", teamID)
	err = c.do(ctx, opCommand, b, shown("response_type", "in_channel", "text", ""))
	return c.sent, c.done, err
}

// An Echo is an event that was waited for: the post in it, and when its last byte arrived.
type Echo struct {
	ID ID
	At time.Time
}

// Await waits for an event, which may have come already, and records the operation of a name from
// the sending of the request that set it off until the event's arrival. Without one it fails when
// the time of an operation has passed since then.
func (c *Client) Await(
	ctx context.Context, rec Recorder, name string, sent time.Time, came <-chan Echo,
) (a Echo, err error) {
	o, ok := c.Table.op(name)
	if !ok {
		return a, undeclaredError(name)
	}
	rec.Begin(c.Table.names[o])
	timer := c.Clock.NewTimer()
	defer timer.Stop()
	timer.Reset(c.Clock.Of(sent) + c.Timeout)
	var e *OpError
	select {
	case a = <-came:
	case <-timer.C:
		a.At = time.Now()
		e = &OpError{Class: measure.Timeout, Err: errors.New("no event")}
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
	own := c.Recorder
	c.Recorder = rec
	defer func() { c.Recorder = own }()
	return a, c.finish(o, sent, sent, a.At, 0, e)
}

// Call makes a request beyond this package's own, under the name of one of the operations that its
// table was made with. The path begins at the server's address. A status of 200 to 299 and an
// answer that read accepts (nil: any) show its effect.
func (c *Client) Call(
	ctx context.Context, name, method, path string, body []byte, read func([]byte) error,
) error {
	o, ok := c.Table.op(name)
	if !ok || int(o) < len(ops) {
		return undeclaredError(name)
	}
	req := wire.Request{Method: method, Path: path, Body: body, Token: c.Token}
	if body != nil {
		req.ContentType = "application/json"
	}
	return c.once(ctx, o, &req, func(resp *wire.Response) error {
		if read == nil {
			return nil
		}
		return read(resp.Body)
	})
}

// LastCall returns when the last request was sent, and when its answer was read.
func (c *Client) LastCall() (sent, done time.Time) { return c.sent, c.done }

// undeclaredError is the error of an operation that a table was not made with.
type undeclaredError string

// Error names the operation.
func (u undeclaredError) Error() string { return "no operation " + string(u) + " was declared" }

// op returns the operation of a name.
func (t *Table) op(name string) (op, bool) {
	i := slices.IndexFunc(t.rows, func(r request) bool { return r.name == name })
	return op(i), i >= 0
}
