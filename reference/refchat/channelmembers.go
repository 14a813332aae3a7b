package refchat

import (
	"context"
)

// membersChanged notifies caches and connections that users joined or left a channel.
func (s *Server) membersChanged(channelID, userID string, joined bool) {
	s.invalidate(dropRoles, userID)
	s.invalidate(dropAudience, channelID)
	s.hub.join(busMessage{User: userID, Channel: channelID, Left: !joined})
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
	} else if !noRow(err) {
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
func (q *request) addChannelMember(in *newMembers) error {
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
	c, err := q.channel(q, id)
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
			err = q.mustBeInTeam(c.TeamID)
		} else {
			err = q.mustRead(id)
		}
		if err != nil {
			return err
		}
		u, err := q.user(q, userID)
		if err != nil {
			return err
		}
		teams, err := q.teamsOfUser(q, u.ID)
		if err != nil {
			return err
		}
		if _, ok := teams[c.TeamID]; !ok {
			return errNoTeamMember
		}
		kind := "system_join_channel"
		if u.ID != q.sess.UserID {
			kind = "system_add_to_channel"
		}
		m, err := q.joinChannel(q, c, u, q.sess.UserID, false, kind)
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

func (q *request) removeChannelMember() error {
	id, userID := q.channelID, q.id
	c, err := q.channel(q, id)
	if err != nil {
		return err
	}
	if c.Type == directChannel || c.Type == groupChannel || c.Name == defaultChannels[0].name {
		return badRequest("api.channel.remove_channel_member.type.app_error",
			"Can not remove user from this channel type.")
	}
	u, err := q.user(q, userID)
	if err != nil {
		return err
	}
	if err := dropMember.run(q, q.st, id, userID); err != nil {
		return errStore("channel.remove_member", err)
	}
	q.publish(
		"user_removed",
		broadcast{ChannelID: id},
		"remover_id",
		q.sess.UserID,
		"user_id",
		userID,
	)
	q.publish(
		"user_removed",
		broadcast{UserID: userID},
		"channel_id",
		id,
		"remover_id",
		q.sess.UserID,
	)
	q.membersChanged(id, userID, false)
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
	_, err = q.publishPost(q, p, c, u, false)
	q.warn("posting a leave message", err)
	return q.ok()
}

// replyMembers answers with memberships as the caller sees them.
func (q *request) replyMembers(find *query[channelMember], args ...any) error {
	list, err := find.list(q, q.st, args...)
	q.shown(q.sess, list...)
	return q.answer(list, errStore("channel.get_members", err))
}

func (q *request) getChannelMember() error {
	m, err := memberOf.one(q, q.st, q.channelID, q.id)
	if err != nil {
		return errFind("channel.get_member", err, errNoChannelMember)
	}
	q.shown(q.sess, m)
	return q.reply(m)
}
