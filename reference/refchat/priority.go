package refchat

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"
)

// postPriority is the priority that an author gives a root post.
type postPriority struct {
	PostID                  string `json:"-"`
	ChannelID               string `json:"-"`
	Priority                string `json:"priority"`
	RequestedAck            bool   `json:"requested_ack"`
	PersistentNotifications bool   `json:"persistent_notifications,omitempty"`
}

// acknowledgement records that a user has taken note of a post.
type acknowledgement struct {
	UserID         string `json:"user_id"`
	PostID         string `json:"post_id"`
	AcknowledgedAt int64  `json:"acknowledged_at"`
}

const (
	mostPersistent   = 5 // users that a post may keep notifying
	persistentEvery  = 5 * time.Minute
	mostPersistently = 6 // times
)

// priorities reports whether posts have priorities.
func (s *Server) priorities() bool { return s.client.values["PostPriority"] == "true" }

// checkPriority refuses the same as the real server: a priority of a reply, and a post that goes on
// notifying without urgency or without a user to notify.
func (q *request) checkPriority(p *post) error {
	if p.Metadata == nil || p.Metadata.Priority == nil {
		return nil
	}
	if !q.priorities() {
		p.Metadata.Priority = nil
		return nil
	}
	bad := func(id, message string) error {
		return badRequest("api.post.post_priority."+id+".request_error", message)
	}
	x := p.Metadata.Priority
	if x.RequestedAck || x.PersistentNotifications {
		if err := q.mustHold(professional, http.StatusNotImplemented, "license_error.feature_unavailable"); err != nil {
			return err
		}
	}
	switch {
	case p.RootID != "":
		return bad(
			"priority_post_only_allowed_for_root_post",
			"Only root posts may have a priority.",
		)
	case !slices.Contains([]string{"", "important", "urgent"}, x.Priority):
		return errBody("priority")
	case !x.PersistentNotifications:
		return nil
	case x.Priority != "urgent":
		return bad("urgent_persistent_notification_post",
			"Only urgent posts may have persistent notifications.")
	}
	a, err := q.audienceOf(q, p.ChannelID)
	if err != nil {
		return errStore("channel.audience", err)
	}
	if n := len(a.mentioned(p.Message, p.UserID)); n == 0 || n > mostPersistent {
		return bad("persistent_notification_validation_error",
			"A post with persistent notifications must mention one to five members of the channel.")
	}
	return nil
}

// savePriority stores a new post's priority, in its transaction.
func (st *store) savePriority(ctx context.Context, p *post, x *postPriority) error {
	x.PostID = p.ID
	x.ChannelID = p.ChannelID
	if err := priorityKind.insert(ctx, st, x); err != nil || !x.PersistentNotifications {
		return err
	}
	return st.run(ctx, insertPersistent, p.ID, p.CreateAt, p.CreateAt, 0, 0)
}

var (
	priorityKind = define(kind[postPriority]{
		table:   "postspriority",
		columns: "postid, channelid, priority, requestedack, persistentnotifications",
	})
	prioritiesOf = selects[postPriority](
		"PostPriorityStore.GetForPosts",
		"postid, priority, requestedack, persistentnotifications",
		"SELECT postid, priority, requestedack, persistentnotifications FROM postspriority WHERE postid = ANY(?)",
	)
	insertPersistent = insertInto("persistentnotifications",
		"postid, createat, lastsentat, deleteat, sentcount")

	acknowledgementKind = define(kind[acknowledgement]{
		table: "postacknowledgements", columns: "postid, userid, acknowledgedat",
	})
	acknowledgements = acknowledgementKind.query("PostAcknowledgementStore.GetForPosts",
		"WHERE acknowledgedat <> 0 AND postid = ANY(?) ORDER BY acknowledgedat")
	storeAcknowledgement = acknowledgementKind.upsert("postid, userid", "acknowledgedat")
)

// setAcknowledged stores an acknowledgement; the post counts as changed.
func (st *store) setAcknowledged(ctx context.Context, x *acknowledgement) error {
	return st.method(ctx, "PostAcknowledgementStore.Save", func(tx *store) error {
		if err := tx.run(ctx, storeAcknowledgement, acknowledgementKind.content(x)...); err != nil {
			return err
		}
		return tx.run(ctx, "UPDATE posts SET updateat = ? WHERE id = ?", x.AcknowledgedAt, x.PostID)
	})
}

func (q *request) acknowledge() error {
	x := &acknowledgement{UserID: q.userID, PostID: q.post.ID, AcknowledgedAt: millis()}
	if err := q.st.setAcknowledged(q, x); err != nil {
		return errStore("post.acknowledge", err)
	}
	q.publish(
		"post_acknowledgement_added",
		broadcast{ChannelID: q.post.ChannelID},
		"acknowledgement",
		jsonText(x),
	)
	return q.reply(x)
}

// reminder is a post of which to remind a user.
type reminder struct {
	PostID     string `json:"-"`
	UserID     string `json:"-"`
	TargetTime int64  `json:"target_time"` // Unix seconds
}

// setReminder stores when to remind the user of a post, and notifies the user alone.
func (q *request) setReminder(in *reminder) error {
	p := q.post
	if in.TargetTime < time.Now().Unix() {
		return errBody("target_time")
	}
	in.PostID = p.ID
	in.UserID = q.userID
	if err := q.st.setReminder(q, in); err != nil {
		return errStore("post.set_reminder", err)
	}
	author, err := authorOf.find(q, q.st, p.ID)
	if err != nil {
		return errStore("post.get_reminder_metadata", err)
	}
	where := "a post"
	if author != "" {
		where = "@" + author
	}
	at := time.Unix(in.TargetTime, 0).UTC().Format(time.RFC1123)
	q.ephemeral(q.userID, p, "You will be reminded about /pl/"+p.ID+" from "+where+" at "+at+".")
	return q.ok()
}

// ephemeral shows a user a message that is stored nowhere.
func (s *Server) ephemeral(userID string, p *post, message string) {
	now := millis()
	e := &post{
		ID:        newID(),
		CreateAt:  now,
		UpdateAt:  now,
		UserID:    userID,
		ChannelID: p.ChannelID,
		RootID:    cmp.Or(p.RootID, p.ID),
		Message:   message,
		Type:      "system_ephemeral",
		Props:     map[string]any{},
		Metadata:  &postMetadata{},
	}
	s.publish("ephemeral_message", broadcast{UserID: userID}, "post", jsonText(e))
}

var (
	reminderKind = define(kind[reminder]{
		table:   "postreminders",
		columns: "postid, userid, targettime",
	})
	storeReminder = reminderKind.upsert("postid, userid", "targettime")
	reminders     = selects[reminder]("", "postid, userid",
		"SELECT postid, userid FROM postreminders WHERE targettime <= ?")
	// authorOf names the author of a post, for a person to read.
	authorOf = selects[string]("PostStore.GetPostReminderMetadata", "",
		`SELECT u.username FROM posts p JOIN users u ON u.id = p.userid
		JOIN channels c ON c.id = p.channelid WHERE p.id = ?`)
)

func (st *store) setReminder(ctx context.Context, r *reminder) error {
	return st.method(ctx, "PostStore.SetPostReminder", func(tx *store) error {
		var n int
		if err := tx.row(ctx, []any{&n}, "SELECT COUNT(id) FROM posts WHERE id = ?", r.PostID); err != nil {
			return err
		}
		return tx.run(ctx, storeReminder, reminderKind.content(r)...)
	})
}

// remindOnce goes on notifying about posts and reminds users of theirs. Each server looks every
// minute; who deletes or updates the row first sends.
func (s *Server) remindOnce(ctx context.Context, now time.Time) error {
	due, err := s.st.dueReminders(ctx, now.Unix())
	if err != nil {
		return err
	}
	for _, r := range due {
		if p, err := postByID.one(ctx, s.st, r.PostID); err == nil {
			s.ephemeral(r.UserID, p, "Reminder of /pl/"+p.ID+".")
		} else if !noRow(err) {
			return err
		}
	}
	posts, err := s.st.duePersistent(ctx, now.UnixMilli())
	if err != nil {
		return err
	}
	for _, p := range posts {
		a, err := s.audienceOf(ctx, p.ChannelID)
		if err != nil {
			return err
		}
		for id := range a.mentioned(p.Message, p.UserID) {
			s.publish(
				"persistent_notification_triggered",
				broadcast{UserID: id},
				"post",
				jsonText(p),
			)
		}
	}
	return nil
}

// dueReminders returns and deletes the reminders whose time has come.
func (st *store) dueReminders(ctx context.Context, now int64) (list []*reminder, err error) {
	defer st.timed("PostStore.GetPostReminders", &err)()
	due, err := reminders.rows(ctx, st, now)
	if err != nil {
		return nil, err
	}
	for _, x := range due {
		ok, err := st.changes(
			ctx,
			"DELETE FROM postreminders WHERE postid = ? AND userid = ?",
			x.PostID,
			x.UserID,
		)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, x)
		}
	}
	return list, nil
}

// duePersistent returns the posts about which to notify again, and counts that. A post that was
// acknowledged by any user, replied to or deleted is left in peace.
func (st *store) duePersistent(ctx context.Context, now int64) (list []*post, err error) {
	defer st.timed("PostPersistentNotificationStore.Get", &err)()
	before := now - persistentEvery.Milliseconds()
	posts, err := postKind.rows(
		ctx,
		st,
		`JOIN persistentnotifications n ON n.postid = p.id WHERE p.deleteat = 0 AND n.deleteat = 0 AND n.lastsentat <= ? AND n.sentcount < ?
		AND NOT EXISTS (SELECT 1 FROM postacknowledgements a WHERE a.postid = p.id AND a.acknowledgedat <> 0)
		AND NOT EXISTS (SELECT 1 FROM posts r WHERE r.rootid = p.id AND r.deleteat = 0)`,
		before,
		mostPersistently,
	)
	if err != nil {
		return nil, err
	}
	for _, p := range posts {
		ok, err := st.changes(
			ctx,
			"UPDATE persistentnotifications SET lastsentat = ?, sentcount = sentcount + 1 WHERE postid = ? AND lastsentat <= ?",
			now,
			p.ID,
			before,
		)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, p)
		}
	}
	return list, nil
}
