package refchat

import (
	"context"
	"database/sql"
	"errors"
)

// membersChanged notifies caches and connections that users joined or left a channel.
func (s *Server) membersChanged(channelID, userID string, joined bool) {
	s.invalidate(dropRoles, userID)
	s.invalidate(dropAudience, channelID)
	s.hub.joinChannel(userID, channelID, joined)
}

// joinChannel makes a user a member and posts a message of the given system type, in the name of
// who did it. Joining again changes nothing.
func (s *Server) joinChannel(
	ctx context.Context,
	c *channel,
	u *user,
	by string,
	admin bool,
	kind string,
) (*channelMember, error) {
	if m, err := memberOf.one(ctx, s.st, c.ID, u.ID); err == nil {
		return m, nil
	} else if !errors.Is(err, sql.ErrNoRows) {
		return nil, errStore("channel.get_member", err)
	}
	m := newMember(c, u.ID, admin)
	err := memberKind.save(ctx, s.st, "ChannelStore.SaveMember", m)
	if duplicate(err, "") {
		// joined twice at the same time
		if m, err := memberOf.one(ctx, s.st, c.ID, u.ID); err == nil {
			return m, nil
		}
	}
	if err != nil {
		return nil, errStore("channel.save_member", err)
	}
	s.membersChanged(c.ID, u.ID, true)
	s.publish("user_added", broadcast{ChannelID: c.ID}, "team_id", c.TeamID, "user_id", u.ID)
	p := &post{
		ChannelID: c.ID,
		UserID:    u.ID,
		Type:      kind,
		Message:   u.Username + " joined the channel.",
		Props:     map[string]any{"username": u.Username},
	}
	switch kind {
	case "system_join_team":
		p.Message = u.Username + " joined the team."
	case "system_add_to_channel":
		p.UserID, p.Message = by, u.Username+" added to the channel."
		p.Props["addedUserId"], p.Props["addedUsername"] = u.ID, u.Username
	}
	_, err = s.publishPost(ctx, p, c, u, false)
	s.warn("posting a join message", err)
	return m, nil
}

// newMembers are users to add to a channel.
type newMembers struct {
	UserID  string   `json:"user_id"`
	UserIDs []string `json:"user_ids"`
}

// addChannelMember adds one user, or with user_ids many.
func (s *Server) addChannelMember(q *request, in *newMembers) error {
	id := q.id
	ids := in.UserIDs
	if len(ids) == 0 {
		ids = []string{in.UserID}
	}
	if len(ids) > 1000 {
		return errBody("user_ids")
	}
	if err := validIDs(ids, "user_id"); err != nil {
		return err
	}
	ctx := q.ctx()
	c, err := s.channel(ctx, id)
	if err != nil {
		return err
	}
	if c.Type == directChannel || c.Type == groupChannel {
		return badRequest("api.channel.add_user_to_channel.type.app_error",
			"Can not add user to this channel type.")
	}
	members := make([]*channelMember, 0, len(ids))
	for _, userID := range ids {
		if c.Type == openChannel && userID == q.sess.UserID {
			err = s.mustBeInTeam(ctx, q.sess, c.TeamID)
		} else {
			err = s.mustReadChannel(ctx, q.sess, id)
		}
		if err != nil {
			return err
		}
		u, err := s.user(ctx, userID)
		if err != nil {
			return err
		}
		teams, err := s.teamsOfUser(ctx, u.ID)
		if err != nil {
			return err
		}
		if _, ok := teams[c.TeamID]; !ok {
			return missing("app.team.get_member.missing.app_error",
				"No team member found for that user ID and team ID.")
		}
		kind := "system_join_channel"
		if u.ID != q.sess.UserID {
			kind = "system_add_to_channel"
		}
		m, err := s.joinChannel(ctx, c, u, q.sess.UserID, false, kind)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	if len(members) == 1 && members[0].UserID == in.UserID {
		return q.created(members[0])
	}
	return q.created(members)
}

func (s *Server) removeChannelMember(q *request) error {
	id, userID, ctx := q.channelID, q.id, q.ctx()
	c, err := s.channel(ctx, id)
	if err != nil {
		return err
	}
	if c.Type == directChannel || c.Type == groupChannel || c.Name == defaultChannels[0].name {
		return badRequest("api.channel.remove_channel_member.type.app_error",
			"Can not remove user from this channel type.")
	}
	u, err := s.user(ctx, userID)
	if err != nil {
		return err
	}
	if err := dropMember.run(ctx, s.st, id, userID); err != nil {
		return errStore("channel.remove_member", err)
	}
	s.publish(
		"user_removed",
		broadcast{ChannelID: id},
		"remover_id",
		q.sess.UserID,
		"user_id",
		userID,
	)
	s.publish(
		"user_removed",
		broadcast{UserID: userID},
		"channel_id",
		id,
		"remover_id",
		q.sess.UserID,
	)
	s.membersChanged(id, userID, false)
	p := &post{
		ChannelID: id,
		UserID:    q.sess.UserID,
		Type:      "system_remove_from_channel",
		Message:   u.Username + " was removed from the channel.",
		Props:     map[string]any{"removedUserId": u.ID, "removedUsername": u.Username},
	}
	if userID == q.sess.UserID {
		p.Type = "system_leave_channel"
		p.Message = u.Username + " has left the channel."
		p.Props = map[string]any{"username": u.Username}
	}
	_, err = s.publishPost(ctx, p, c, u, false)
	s.warn("posting a leave message", err)
	return q.ok()
}

func (s *Server) getChannelMembersForUser(q *request) error {
	return s.replyMembers(q, membersOf, q.userID, q.teamID)
}

// replyMembers answers with memberships as the caller sees them.
func (s *Server) replyMembers(q *request, find *query[channelMember], args ...any) error {
	list, err := find.list(q.ctx(), s.st, args...)
	s.shown(q.sess, list...)
	return q.answer(list, errStore("channel.get_members", err))
}

// getAllChannelMembersForUser is one page of a user's memberships in all teams.
func (s *Server) getAllChannelMembersForUser(q *request) error {
	return s.replyMembers(q, allMembersOf, q.paged(q.userID)...)
}

func (s *Server) getChannelMembers(q *request) error {
	return s.replyMembers(q, memberPage, q.paged(q.channelID)...)
}

func (s *Server) getChannelMember(q *request) error {
	m, err := memberOf.one(q.ctx(), s.st, q.channelID, q.id)
	if err != nil {
		return errFind("channel.get_member", err,
			missing("app.channel.get_member.missing.app_error",
				"No channel member found for that user ID and channel ID."))
	}
	s.shown(q.sess, m)
	return q.reply(m)
}
