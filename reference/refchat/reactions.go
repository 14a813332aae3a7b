package refchat

import (
	"context"
	"database/sql"
	"regexp"
)

var emojiForm = regexp.MustCompile(`^[a-zA-Z0-9+_-]{1,64}$`)

var reactionsOf = define(kind[reaction]{
	table: "reactions", columns: "userid, postid, emojiname, createat, updateat, deleteat",
	fields: func(x *reaction) []any {
		return []any{&x.UserID, &x.PostID, &x.EmojiName, &x.CreateAt, &x.UpdateAt, &x.DeleteAt}
	},
	then: func(x *reaction) { x.RemoteID = new(string) },
}).query("ReactionStore.GetForPost", "WHERE postid = ANY(?) AND deleteat = 0 ORDER BY createat")

func (st *store) saveReaction(ctx context.Context, x *reaction) error {
	return st.method(ctx, "ReactionStore.Save", func(tx *sql.Tx) error {
		if err := st.run(ctx, tx, upsert("reactions", "userid, postid, emojiname, createat, updateat, deleteat", "postid, userid, emojiname", "updateat, deleteat"),
			x.UserID, x.PostID, x.EmojiName, x.CreateAt, x.UpdateAt, 0); err != nil {
			return err
		}
		return st.run(ctx, tx, "UPDATE posts SET hasreactions = ?, updateat = ? WHERE id = ?", true, x.UpdateAt, x.PostID)
	})
}

func (st *store) deleteReaction(ctx context.Context, x *reaction) error {
	return st.method(ctx, "ReactionStore.Delete", func(tx *sql.Tx) error {
		if err := st.run(ctx, tx, "UPDATE reactions SET deleteat = ?, updateat = ? WHERE postid = ? AND userid = ? AND emojiname = ?",
			x.UpdateAt, x.UpdateAt, x.PostID, x.UserID, x.EmojiName); err != nil {
			return err
		}
		var n int
		if err := st.row(ctx, tx, []any{&n}, "SELECT COUNT(*) FROM reactions WHERE postid = ? AND deleteat = 0", x.PostID); err != nil {
			return err
		}
		return st.run(ctx, tx, "UPDATE posts SET hasreactions = ?, updateat = ? WHERE id = ?", n > 0, x.UpdateAt, x.PostID)
	})
}

func (s *Server) saveReaction(q *request) error {
	var x reaction
	if err := q.decode(&x, "reaction"); err != nil {
		return err
	}
	if !validID(x.UserID) || !validID(x.PostID) || x.EmojiName == "" || len(x.EmojiName) > 64 {
		return badRequest("api.reaction.save_reaction.invalid.app_error", "Reaction is not valid.")
	}
	if x.UserID != q.sess.UserID {
		return forbidden("api.reaction.save_reaction.user_id.app_error", "You cannot save reaction for the other user.")
	}
	ctx := q.ctx()
	p, err := postByID.one(ctx, s.st, x.PostID)
	if err != nil {
		return errFind("post.get", err, errNoPost)
	}
	if err := s.mustReadChannel(ctx, q.sess, p.ChannelID); err != nil {
		return err
	}
	if !emojiForm.MatchString(x.EmojiName) {
		return badRequest("model.reaction.is_valid.emoji_name.app_error", "Invalid emoji name.")
	}
	now := millis()
	x.CreateAt, x.UpdateAt, x.DeleteAt, x.RemoteID = now, now, 0, new(string)
	if err := s.st.saveReaction(ctx, &x); err != nil {
		return errStore("reaction.save", err)
	}
	s.publish("reaction_added", broadcast{ChannelID: p.ChannelID}, "reaction", jsonText(&x))
	return q.reply(&x)
}

func (s *Server) deleteReaction(q *request) error {
	p := q.post
	x := &reaction{UserID: q.userID, PostID: p.ID, EmojiName: q.param("emoji_name"), UpdateAt: millis(), RemoteID: new(string)}
	if !emojiForm.MatchString(x.EmojiName) {
		return errURL("emoji_name")
	}
	if err := s.st.deleteReaction(q.ctx(), x); err != nil {
		return errStore("reaction.delete", err)
	}
	s.publish("reaction_removed", broadcast{ChannelID: p.ChannelID}, "reaction", jsonText(x))
	return q.ok()
}

func (s *Server) getReactions(q *request) error {
	list, err := reactionsOf.list(q.ctx(), s.st, []string{q.post.ID})
	return q.answer(list, errStore("reaction.get", err))
}
