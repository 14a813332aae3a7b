package refchat

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// incomingHook is an address at which a program posts without a session.
type incomingHook struct {
	ID            string `json:"id"`
	CreateAt      int64  `json:"create_at"`
	UpdateAt      int64  `json:"update_at"`
	DeleteAt      int64  `json:"delete_at"`
	UserID        string `json:"user_id"` // whose posts they are
	ChannelID     string `json:"channel_id"`
	TeamID        string `json:"team_id"`
	DisplayName   string `json:"display_name"`
	Description   string `json:"description"`
	Username      string `json:"username" db:"-"`
	IconURL       string `json:"icon_url" db:"-"`
	ChannelLocked bool   `json:"channel_locked"`
}

var incomingHookKind = define(kind[incomingHook]{
	table: "incomingwebhooks",
	columns: "id, createat, updateat, deleteat, userid, channelid, teamid, displayname, " +
		"description, channellocked",
})

var (
	incomingHookByID = incomingHookKind.query("WebhookStore.GetIncoming",
		"WHERE id = ? AND deleteat = 0")
	incomingHooksOfTeam = incomingHookKind.query("WebhookStore.GetIncomingByTeam",
		"WHERE teamid = ? AND deleteat = 0 ORDER BY createat, id LIMIT ? OFFSET ?")
)

func (q *request) createIncomingHook(in *incomingHook) error {
	c, err := q.channel(q, in.ChannelID)
	if err != nil {
		return err
	}
	if err := q.mustManageTeam(c.TeamID); err != nil {
		return err
	}
	if len(in.DisplayName) > 64 {
		return badRequest("model.incoming_hook.display_name.app_error", "Invalid title.")
	}
	now := millis()
	h := &incomingHook{
		ID: newID(), CreateAt: now, UpdateAt: now, UserID: q.sess.UserID, ChannelID: c.ID,
		TeamID: c.TeamID, DisplayName: in.DisplayName, Description: clip(in.Description, 500),
		ChannelLocked: in.ChannelLocked,
	}
	if err := incomingHookKind.save(q, q.st, "WebhookStore.SaveIncoming", h); err != nil {
		return errStore("webhooks.save_incoming", err)
	}
	return q.created(h)
}

func (q *request) getIncomingHooks() error {
	team := q.query("team_id")
	if !validID(team) {
		return errURL("team_id")
	}
	if err := q.mustManageTeam(team); err != nil {
		return err
	}
	return replyList(q, incomingHooksOfTeam, "webhooks.get_incoming", q.paged(team)...)
}

// hookPayload is the request of a webhook.
type hookPayload struct {
	Text    string         `json:"text"`
	Channel string         `json:"channel"` // a name in the hook's team; "" for the hook's own
	Props   map[string]any `json:"props"`
}

// fireIncomingHook posts as the user who has made the hook.
func (q *request) fireIncomingHook(in *hookPayload) error {
	if in.Text == "" {
		return badRequest("web.incoming_webhook.text.app_error", "No text specified.")
	}
	h, err := incomingHookByID.one(q, q.st, q.param("hook_id"))
	if err != nil {
		return errFind("webhooks.get_incoming", err,
			badRequest("web.incoming_webhook.invalid.app_error", "Invalid webhook."))
	}
	c, err := q.channelOfHook(h, in.Channel)
	if err != nil {
		return err
	}
	props := map[string]any{}
	for k, v := range in.Props {
		if !strings.HasPrefix(k, "override_") {
			props[k] = v
		}
	}
	props["from_webhook"] = "true"
	props["webhook_display_name"] = h.DisplayName
	p := &post{UserID: h.UserID, ChannelID: c.ID, Message: in.Text, Props: props}
	if err := q.postFor(p, c); err != nil {
		return err
	}
	return q.write(http.StatusOK, "text/plain", []byte("ok"))
}

// channelOfHook returns the channel that a payload names, or the hook's own. A closed channel takes
// posts of its members' hooks alone.
func (q *request) channelOfHook(h *incomingHook, name string) (c *channel, err error) {
	if name = strings.TrimPrefix(name, "#"); name == "" {
		c, err = q.channel(q, h.ChannelID)
	} else {
		c, err = channelByName.one(q, q.st, name, h.TeamID)
		err = errFind("channel.get_by_name", err, missing("web.incoming_webhook.channel.app_error",
			"Couldn't find the channel."))
	}
	if err != nil {
		return nil, err
	}
	if h.ChannelLocked && c.ID != h.ChannelID {
		return nil, forbidden("web.incoming_webhook.channel_locked.app_error",
			"This webhook is not permitted to post to the requested channel.")
	}
	if c.Type != openChannel {
		mine, err := q.channelsOfUser(q, h.UserID)
		if err != nil {
			return nil, err
		}
		if !mine[c.ID] {
			return nil, forbidden("web.incoming_webhook.permissions.app_error",
				"Inappropriate channel permissions.")
		}
	}
	return c, nil
}

// postFor stores a post that the server makes for a user. One that is too long is refused: the real
// server would split a webhook's.
func (q *request) postFor(p *post, c *channel) error {
	if c.DeleteAt != 0 {
		return badRequest("api.post.create_post.can_not_post_to_deleted.error",
			"Can not post to deleted channel.")
	}
	if utf8.RuneCountInString(p.Message) > maxMessage {
		return badRequest("model.post.is_valid.msg.app_error", "Invalid message.")
	}
	_, err := q.storePost(q, p, c, true)
	return err
}

// commandArgs are the request to carry a slash command out.
type commandArgs struct {
	Command   string `json:"command"`
	ChannelID string `json:"channel_id"`
	RootID    string `json:"root_id"`
}

// commandResponse is what a command has answered, and where it is shown.
type commandResponse struct {
	ResponseType string `json:"response_type"` // in_channel, or ephemeral
	Text         string `json:"text"`
	Type         string `json:"type"` // of the post
	TriggerID    string `json:"trigger_id"`
}

// builtinCommands are the slash commands that this server has, by their triggers. Others than the
// server's own cannot be made.
var builtinCommands = map[string]func(message string) commandResponse{
	"me": func(message string) commandResponse {
		return commandResponse{ResponseType: "in_channel", Type: "me", Text: "*" + message + "*"}
	},
	"shrug": func(message string) commandResponse {
		return commandResponse{
			ResponseType: "in_channel",
			Text:         strings.TrimLeft(message+` ¯\\\_(ツ)\_/¯`, " "),
		}
	},
	"code": func(message string) commandResponse {
		if message == "" {
			return commandResponse{
				ResponseType: "ephemeral",
				Text:         "A message must be provided with the /code command.",
			}
		}
		return commandResponse{ResponseType: "in_channel",
			Text: "    " + strings.ReplaceAll(message, "\n", "\n    ")}
	},
}

func (q *request) executeCommand(in *commandArgs) error {
	if len(in.Command) <= 1 || in.Command[0] != '/' || !validID(in.ChannelID) {
		return badRequest("api.command.execute_command.start.app_error",
			"Command must start with a slash.")
	}
	if err := q.mustRead(in.ChannelID); err != nil {
		return err
	}
	c, err := q.channel(q, in.ChannelID)
	if err != nil {
		return err
	}
	trigger, message := in.Command[1:], ""
	if i := strings.IndexFunc(trigger, unicode.IsSpace); i >= 0 {
		trigger, message = trigger[:i], trigger[i+1:]
	}
	run := builtinCommands[strings.ToLower(trigger)]
	if run == nil {
		return missing("api.command.execute_command.not_found.app_error",
			"Command with a trigger of '"+trigger+"' not found.")
	}
	r := run(message)
	r.TriggerID = newID()
	p := &post{UserID: q.sess.UserID, ChannelID: c.ID, RootID: in.RootID, Message: r.Text,
		Type: r.Type}
	if r.ResponseType == "in_channel" {
		err = q.postFor(p, c)
	} else {
		q.ephemeral(q.sess.UserID, p, r.Text)
	}
	return q.answer(r, err)
}
