package refchat

import (
	"context"
	"regexp"
)

var emojiForm = regexp.MustCompile(`^[a-zA-Z0-9+_-]{1,64}$`)

var reactionKind = define(kind[reaction]{
	table: "reactions", columns: "userid, postid, emojiname, createat, updateat, deleteat",
	then: func(x *reaction) { x.RemoteID = new(string) },
})

var (
	reactionsOf = reactionKind.query("ReactionStore.GetForPost",
		"WHERE postid = ANY(?) AND deleteat = 0 ORDER BY createat")
	storeReaction = reactionKind.upsert("postid, userid, emojiname", "updateat, deleteat")
)

func (st *store) saveReaction(ctx context.Context, x *reaction) error {
	return st.method(ctx, "ReactionStore.Save", func(tx *store) error {
		if err := tx.run(ctx, storeReaction, reactionKind.content(x)...); err != nil {
			return err
		}
		return tx.run(ctx, "UPDATE posts SET hasreactions = ?, updateat = ? WHERE id = ?", true,
			x.UpdateAt, x.PostID)
	})
}

func (st *store) deleteReaction(ctx context.Context, x *reaction) error {
	return st.method(ctx, "ReactionStore.Delete", func(tx *store) error {
		err := tx.run(
			ctx,
			"UPDATE reactions SET deleteat = ?, updateat = ? WHERE postid = ? AND userid = ? AND emojiname = ?",
			x.UpdateAt,
			x.UpdateAt,
			x.PostID,
			x.UserID,
			x.EmojiName,
		)
		if err != nil {
			return err
		}
		var n int
		if err := tx.row(ctx, []any{&n}, "SELECT COUNT(*) FROM reactions WHERE postid = ? AND deleteat = 0", x.PostID); err != nil {
			return err
		}
		return tx.run(ctx, "UPDATE posts SET hasreactions = ?, updateat = ? WHERE id = ?", n > 0,
			x.UpdateAt, x.PostID)
	})
}

func (q *request) saveReaction(x *reaction) error {
	if !validID(x.UserID) || !validID(x.PostID) || x.EmojiName == "" || len(x.EmojiName) > 64 {
		return badRequest("api.reaction.save_reaction.invalid.app_error", "Reaction is not valid.")
	}
	if x.UserID != q.sess.UserID {
		return forbidden("api.reaction.save_reaction.user_id.app_error",
			"You cannot save reaction for the other user.")
	}
	p, err := postByID.one(q, q.st, x.PostID)
	if err != nil {
		return errFind("post.get", err, errNoPost)
	}
	if err := q.mustRead(p.ChannelID); err != nil {
		return err
	}
	if !emojiForm.MatchString(x.EmojiName) {
		return badRequest("model.reaction.is_valid.emoji_name.app_error", "Invalid emoji name.")
	}
	now := millis()
	x = &reaction{
		UserID:    x.UserID,
		PostID:    x.PostID,
		EmojiName: x.EmojiName,
		CreateAt:  now,
		UpdateAt:  now,
		RemoteID:  new(string),
	}
	if err := q.st.saveReaction(q, x); err != nil {
		return errStore("reaction.save", err)
	}
	q.publish("reaction_added", broadcast{ChannelID: p.ChannelID}, "reaction", jsonText(x))
	return q.reply(x)
}

func (q *request) deleteReaction() error {
	p := q.post
	x := &reaction{
		UserID:    q.userID,
		PostID:    p.ID,
		EmojiName: q.param("emoji_name"),
		UpdateAt:  millis(),
		RemoteID:  new(string),
	}
	if !emojiForm.MatchString(x.EmojiName) {
		return errURL("emoji_name")
	}
	if err := q.st.deleteReaction(q, x); err != nil {
		return errStore("reaction.delete", err)
	}
	q.publish("reaction_removed", broadcast{ChannelID: p.ChannelID}, "reaction", jsonText(x))
	return q.ok()
}

func (q *request) getReactions() error {
	return replyList(q, reactionsOf, "reaction.get", []string{q.post.ID})
}
