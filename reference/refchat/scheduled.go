package refchat

import (
	"context"
	"time"
)

// scheduledPost is a draft that the server will post by itself.
type scheduledPost struct {
	draft
	ID          string `json:"id"`
	ScheduledAt int64  `json:"scheduled_at"`
	ProcessedAt int64  `json:"processed_at"`
	ErrorCode   string `json:"error_code"`
}

var scheduledKind = define(kind[scheduledPost]{
	table: "scheduledposts", alias: "p",
	columns: "id, createat, updateat, userid, channelid, rootid, message, props, fileids, " +
		"priority, scheduledat, processedat, errorcode",
})

var (
	scheduledByID = scheduledKind.query("ScheduledPostStore.Get", "WHERE p.id = ?")
	// scheduledOf selects a user's scheduled posts in the channels of a team, or of no team.
	scheduledOf = scheduledKind.query("ScheduledPostStore.GetScheduledPostsForUser",
		`JOIN channels c ON c.id = p.channelid WHERE p.userid = ? AND c.teamid = ?
		ORDER BY p.scheduledat, p.createat`)
	updateScheduled = command{"ScheduledPostStore.UpdatedScheduledPost",
		"UPDATE scheduledposts SET updateat = ?, message = ?, props = ?, fileids = ?, priority = ?, scheduledat = ?, processedat = ?, errorcode = ? WHERE id = ?"}
	dropScheduled = command{"ScheduledPostStore.PermanentlyDeleteScheduledPosts",
		"DELETE FROM scheduledposts WHERE id = ?"}
	// claimScheduled marks a due post as being sent, unless another server was faster.
	claimScheduled = command{"ScheduledPostStore.UpdatedScheduledPost",
		"UPDATE scheduledposts SET processedat = ? WHERE id = ? AND processedat = 0"}
)

func (st *store) updateScheduled(ctx context.Context, p *scheduledPost) error {
	return updateScheduled.run(
		ctx,
		st,
		p.UpdateAt,
		p.Message,
		jsonText(p.Props),
		jsonText(p.FileIDs),
		jsonText(p.Priority),
		p.ScheduledAt,
		p.ProcessedAt,
		p.ErrorCode,
		p.ID,
	)
}

// check refuses a post that could not be posted at its time.
func (p *scheduledPost) check() error {
	switch {
	case p.Message == "" && len(p.FileIDs) == 0:
		return badRequest("model.scheduled_post.is_valid.empty_post.app_error",
			"Cannot schedule an empty post.")
	case p.ScheduledAt < millis():
		return badRequest("model.scheduled_post.is_valid.scheduled_at.app_error",
			"Invalid scheduled at time.")
	}
	return p.draft.check()
}

// tellScheduled notifies a user's clients of a scheduled post, except the one on this connection
// ("" for none).
func (s *Server) tellScheduled(name string, p *scheduledPost, connection string) {
	s.publish(name, broadcast{
		UserID:    p.UserID,
		ChannelID: p.ChannelID,
		OmitConn:  connection,
	}, "scheduledPost", jsonText(p))
}

func (q *request) createScheduledPost(p *scheduledPost) error {
	if err := q.mustRead(p.ChannelID); err != nil {
		return err
	}
	now := millis()
	p.ID = newID()
	p.UserID = q.sess.UserID
	p.CreateAt = now
	p.UpdateAt = now
	p.DeleteAt = 0
	p.ProcessedAt = 0
	p.ErrorCode = ""
	fill(&p.Props)
	if err := p.check(); err != nil {
		return err
	}
	if c, err := q.channel(q, p.ChannelID); err != nil {
		return err
	} else if c.DeleteAt != 0 {
		return badRequest("app.save_scheduled_post.channel_deleted.app_error",
			"Cannot schedule a post in an archived channel.")
	}
	if err := scheduledKind.save(q, q.st, "ScheduledPostStore.CreateScheduledPost", p); err != nil {
		return errStore("save_scheduled_post.save", err)
	}
	q.tellScheduled("scheduled_post_created", p, q.connection())
	return q.created(p)
}

// ownScheduled returns the caller's scheduled post that the path names.
func (q *request) ownScheduled(verb string) (*scheduledPost, error) {
	id, err := q.idParam("scheduled_post_id")
	if err != nil {
		return nil, err
	}
	p, err := scheduledByID.one(q, q.st, id)
	if err != nil {
		return nil, errFind("scheduled_post.get", err, missing(
			"app."+verb+"_scheduled_post.existing_scheduled_post.not_exist",
			"Scheduled post does not exist.",
		))
	}
	if p.UserID != q.sess.UserID {
		return nil, forbidden(
			"app."+verb+"_scheduled_post."+verb+"_permission.error",
			"You do not have permission to "+verb+" this resource.",
		)
	}
	return p, nil
}

func (q *request) updateScheduledPost(in *scheduledPost) error {
	if in.ID != q.param("scheduled_post_id") {
		return errURL("scheduled_post_id")
	}
	p, err := q.ownScheduled("update")
	if err != nil {
		return err
	}
	p.Message = in.Message
	p.FileIDs = in.FileIDs
	p.ScheduledAt = in.ScheduledAt
	p.UpdateAt = millis()
	p.ProcessedAt = 0
	p.ErrorCode = ""
	if in.Priority != nil {
		p.Priority = in.Priority
	}
	if err := q.mustRead(p.ChannelID); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	if err := q.st.updateScheduled(q, p); err != nil {
		return errStore("update_scheduled_post.update", err)
	}
	q.tellScheduled("scheduled_post_updated", p, q.connection())
	return q.created(p)
}

func (q *request) deleteScheduledPost() error {
	p, err := q.ownScheduled("delete")
	if err != nil {
		return err
	}
	if err := dropScheduled.run(q, q.st, p.ID); err != nil {
		return errStore("delete_scheduled_post.delete", err)
	}
	q.tellScheduled("scheduled_post_deleted", p, q.connection())
	return q.created(p)
}

func (q *request) getScheduledPosts() error {
	teams := map[string]string{q.teamID: q.teamID}
	if q.query("includeDirectChannels") == "true" {
		teams["directChannels"] = ""
	}
	out := map[string][]*scheduledPost{}
	for name, id := range teams {
		var err error
		if out[name], err = scheduledOf.list(q, q.st, q.sess.UserID, id); err != nil {
			return errStore("get_scheduled_posts", err)
		}
		for _, p := range out[name] {
			if err := q.withFiles(&p.draft); err != nil {
				return err
			}
		}
	}
	return q.reply(out)
}

const sendScheduledEvery = 30 * time.Second

// sendDue posts up to a hundred scheduled posts whose time has come; of several servers, one posts
// each. A post that cannot be posted stays, with an error code.
func (s *Server) sendDue(ctx context.Context, at time.Time) error {
	now := at.UnixMilli()
	due, err := scheduledKind.rows(
		ctx,
		s.st,
		"WHERE p.processedat = 0 AND p.scheduledat <= ? ORDER BY p.scheduledat LIMIT 100",
		now,
	)
	if err != nil {
		return err
	}
	for _, p := range due {
		if ok, err := claimScheduled.changes(ctx, s.st, now, p.ID); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := s.sendOne(ctx, p); err != nil {
			p.ErrorCode, p.ProcessedAt = "unable_to_send", now
			if err := s.st.updateScheduled(ctx, p); err != nil {
				return err
			}
			s.tellScheduled("scheduled_post_updated", p, "")
			continue
		}
		if err := dropScheduled.run(ctx, s.st, p.ID); err != nil {
			return err
		}
		s.tellScheduled("scheduled_post_deleted", p, "")
	}
	return nil
}

func (s *Server) sendOne(ctx context.Context, p *scheduledPost) error {
	c, err := s.channel(ctx, p.ChannelID)
	if err != nil {
		return err
	}
	if err := s.mustReadChannel(ctx, &session{UserID: p.UserID}, p.ChannelID); err != nil {
		return err
	}
	_, err = s.storePost(ctx, &post{
		UserID:    p.UserID,
		ChannelID: p.ChannelID,
		RootID:    p.RootID,
		Message:   p.Message,
		Props:     p.Props,
		FileIDs:   p.FileIDs,
	}, c, false)
	return err
}
