package refchat

import (
	"unicode/utf8"
)

// draft is a message that a user has begun, one per channel or thread.
type draft struct {
	CreateAt  int64          `json:"create_at"`
	UpdateAt  int64          `json:"update_at"`
	DeleteAt  int64          `json:"delete_at"`
	UserID    string         `json:"user_id"`
	ChannelID string         `json:"channel_id"`
	RootID    string         `json:"root_id"`
	Message   string         `json:"message"`
	Props     map[string]any `json:"props"`
	FileIDs   []string       `json:"file_ids,omitempty"`
	Metadata  *postMetadata  `json:"metadata,omitempty"`
	Priority  map[string]any `json:"priority,omitempty"`
}

var draftKind = define(kind[draft]{
	table: "drafts", alias: "d",
	columns: "createat, updateat, deleteat, userid, channelid, rootid, message, props, " +
		"fileids, priority",
})

var (
	draftOf = draftKind.query("DraftStore.Get",
		"WHERE d.userid = ? AND d.channelid = ? AND d.rootid = ? AND d.deleteat = 0")
	// draftsOf selects a user's drafts in the channels of a team and of no team, the latest first.
	draftsOf = draftKind.query(
		"DraftStore.GetDraftsForUser",
		`JOIN channels c ON c.id = d.channelid JOIN channelmembers m ON m.channelid = d.channelid AND m.userid = d.userid
		WHERE d.userid = ? AND d.deleteat = 0 AND (c.teamid = ? OR c.teamid = '') ORDER BY d.updateat DESC`,
	)
	saveDraft = command{"DraftStore.Upsert",
		draftKind.upsert("userid, channelid, rootid",
			"updateat, deleteat, message, props, fileids, priority")}
	dropDraft = command{"DraftStore.Delete",
		"DELETE FROM drafts WHERE userid = ? AND channelid = ? AND rootid = ?"}
)

// check refuses a draft that is too long or contains an invalid identifier.
func (d *draft) check() error {
	switch {
	case !validID(d.ChannelID):
		return badRequest("model.draft.is_valid.channel_id.app_error", "Invalid channel id.")
	case d.RootID != "" && !validID(d.RootID):
		return badRequest("model.draft.is_valid.root_id.app_error", "Invalid root id.")
	case utf8.RuneCountInString(d.Message) > maxMessage:
		return badRequest("model.draft.is_valid.message_length.app_error", "The draft is too long.")
	case len(jsonText(d.FileIDs)) > 300:
		return badRequest("model.draft.is_valid.file_ids.app_error", "Invalid file ids.")
	case len(jsonText(d.Props)) > 8000 || len(jsonText(d.Priority)) > 8000:
		return badRequest("model.draft.is_valid.props.app_error", "Invalid props.")
	}
	return nil
}

// withFiles fills in the files of a draft that its author uploaded and no post has taken.
func (q *request) withFiles(d *draft) error {
	d.Metadata = &postMetadata{}
	if len(d.FileIDs) == 0 {
		return nil
	}
	list, err := filesByID.list(q, q.st, d.FileIDs)
	if err != nil {
		return errStore("file_info.get", err)
	}
	for _, f := range list {
		if f.PostID == "" && f.CreatorID == d.UserID {
			d.Metadata.Files = append(d.Metadata.Files, f)
		}
	}
	return nil
}

func (q *request) upsertDraft(d *draft) error {
	d.UserID = q.sess.UserID
	d.DeleteAt = 0
	if err := q.mustRead(d.ChannelID); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	c, err := q.channel(q, d.ChannelID)
	if err != nil {
		return errBody("draft.channel_id")
	}
	if c.DeleteAt != 0 {
		return badRequest("api.draft.create_draft.can_not_draft_to_deleted.error",
			"Can not save draft to deleted channel.")
	}
	if d.Message == "" { // emptied: there is no draft any more
		if err := dropDraft.run(q, q.st, d.UserID, d.ChannelID, d.RootID); err != nil {
			return errStore("draft.save", err)
		}
		return q.created(nil)
	}
	now := millis()
	if d.CreateAt == 0 {
		d.CreateAt = now
	}
	d.UpdateAt = now
	fill(&d.Props)
	if err := saveDraft.run(q, q.st, draftKind.content(d)...); err != nil {
		return errStore("draft.save", err)
	}
	if err := q.withFiles(d); err != nil {
		return err
	}
	q.publishDraft("draft_created", d)
	return q.created(d)
}

func (q *request) getDrafts() error {
	list, err := draftsOf.list(q, q.st, q.userID, q.teamID)
	if err != nil {
		return errStore("draft.get_drafts", err)
	}
	for _, d := range list {
		if err := q.withFiles(d); err != nil {
			return err
		}
	}
	return q.reply(list)
}

// deleteDraft also succeeds where there is none: the wanted state is reached, as on the real
// server.
func (q *request) deleteDraft() error {
	d, err := draftOf.one(q, q.st, q.userID, q.id, q.param("thread_id"))
	if noRow(err) {
		return q.ok()
	}
	if err != nil {
		return errStore("draft.get", err)
	}
	if err := dropDraft.run(q, q.st, d.UserID, d.ChannelID, d.RootID); err != nil {
		return errStore("draft.delete", err)
	}
	q.publishDraft("draft_deleted", d)
	return q.ok()
}

// publishDraft tells the person's other connections of a draft.
func (q *request) publishDraft(event string, d *draft) {
	to := broadcast{UserID: d.UserID, ChannelID: d.ChannelID, OmitConn: q.connection()}
	q.publish(event, to, "draft", jsonText(d))
}
