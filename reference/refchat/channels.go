package refchat

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
)

func (s *Server) channel(ctx context.Context, id string) (*channel, error) {
	c, err := s.channels.through(id, func() (*channel, error) {
		return channelByID.one(fromMaster(ctx), s.st, id)
	})
	return c, errFind("channel.get", err, errNoChannel)
}

// channelsOfUser returns the channels that a user is in; the map is shared and not to be changed.
func (s *Server) channelsOfUser(ctx context.Context, userID string) (map[string]bool, error) {
	m, err := s.inChannels.through(userID, func() (map[string]bool, error) {
		list, err := channelRoles.list(fromMaster(ctx), s.st, userID)
		m := make(map[string]bool, len(list))
		for _, r := range list {
			m[r.ChannelID] = true
		}
		return m, err
	})
	return m, errStore("channel.get_members", err)
}

// mustReadChannel allows members of a channel and administrators: to read, post, react, upload and
// type.
func (s *Server) mustReadChannel(ctx context.Context, sess *session, channelID string) error {
	if sess.isAdmin() {
		return nil
	}
	m, err := s.channelsOfUser(ctx, sess.UserID)
	if err == nil && !m[channelID] {
		err = errPermission
	}
	return err
}

// mustRead is mustReadChannel for the caller.
func (q *request) mustRead(channelID string) error {
	return q.mustReadChannel(q, q.sess, channelID)
}

func (q *request) createChannel(c *channel) error {
	switch {
	case c.Type != openChannel && c.Type != privateChannel:
		return badRequest("api.channel.create_channel.direct_channel.app_error",
			"Must use createDirectChannel API service for direct message channel creation.")
	case !validID(c.TeamID):
		return errBody("team_id")
	case len(c.Name) < 2 || !slugForm.MatchString(c.Name) || strings.Contains(c.Name, "__"):
		return badRequest("model.channel.is_valid.2_or_more.app_error",
			"Name must be 2 or more lowercase alphanumeric characters.")
	case len(c.DisplayName) > 64:
		return badRequest("model.channel.is_valid.display_name.app_error", "Invalid display name.")
	}
	if err := q.mustBeInTeam(c.TeamID); err != nil {
		return err
	}
	c = &channel{TeamID: c.TeamID, Type: c.Type, DisplayName: c.DisplayName, Name: c.Name,
		Header: clip(c.Header, 1024), Purpose: clip(c.Purpose, 250), CreatorID: q.sess.UserID}
	m := newMember(c, q.sess.UserID, true)
	err := q.st.insertChannel(q, c, []*channelMember{m})
	if duplicate(err, "") {
		return badRequest("store.sql_channel.save_channel.exists.app_error",
			"A channel with that name already exists on the same team.")
	}
	if err != nil {
		return errStore("channel.save", err)
	}
	q.membersChanged(c.ID, q.sess.UserID, true)
	q.publish(
		"channel_created",
		broadcast{UserID: q.sess.UserID},
		"channel_id",
		c.ID,
		"team_id",
		c.TeamID,
	)
	return q.created(c)
}

func (q *request) createDirectChannel(ids []string) error {
	if len(ids) != 2 || !validID(ids[0]) || !validID(ids[1]) {
		return errBody("user_ids")
	}
	if !slices.Contains(ids, q.sess.UserID) && !q.sess.isAdmin() {
		return errPermission
	}
	c := &channel{Type: directChannel, Name: directName(ids[0], ids[1]), CreatorID: q.sess.UserID}
	other := ids[0]
	if other == q.sess.UserID {
		other = ids[1]
	}
	slices.Sort(ids)
	return q.createPersonal(c, slices.Compact(ids), "direct_added", "creator_id", q.sess.UserID,
		"teammate_id", other)
}

// directName is the name of the direct channel of two users.
func directName(a, b string) string { return min(a, b) + "__" + max(a, b) }

func (q *request) createGroupChannel(ids []string) error {
	if err := validIDs(ids, "user_id"); err != nil {
		return err
	}
	ids = append(ids, q.sess.UserID)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) < 3 || len(ids) > 8 {
		return badRequest("api.channel.create_group.bad_size.app_error",
			"Group message channels must contain at least 3 and no more than 8 users.")
	}
	var names []string
	for _, id := range ids {
		u, err := q.user(q, id)
		if err != nil {
			return badRequest("api.channel.create_group.bad_user.app_error",
				"One of the provided users does not exist.")
		}
		names = append(names, u.Username)
	}
	slices.Sort(names)
	sum := sha1.Sum([]byte(strings.Join(ids, "")))
	c := &channel{Type: groupChannel, Name: hex.EncodeToString(sum[:]), CreatorID: q.sess.UserID}
	c.DisplayName = clip(strings.Join(names, ", "), 64)
	return q.createPersonal(c, ids, "group_added", "teammate_ids", jsonText(ids))
}

// createPersonal makes a direct or group channel, of which an event notifies its members, or finds
// the one that these users have already.
func (q *request) createPersonal(c *channel, ids []string, event string, fields ...any) error {
	var members []*channelMember
	for _, id := range ids {
		if _, err := q.user(q, id); err != nil {
			return badRequest(
				"api.channel.create_direct_channel.invalid_user.app_error",
				"Invalid user ID.",
			)
		}
		members = append(members, newMember(c, id, false))
	}
	old, err := channelByName.one(q, q.st, c.Name, "")
	if noRow(err) {
		if err = q.st.insertChannel(q, c, members); duplicate(err, "") {
			old, err = channelByName.one(q, q.st, c.Name, "")
		}
	}
	if err != nil {
		return errStore("channel.save", err)
	}
	if old != nil {
		return q.created(old)
	}
	for _, id := range ids {
		q.membersChanged(c.ID, id, true)
	}
	q.publish(event, broadcast{ChannelID: c.ID}, fields...)
	return q.created(c)
}

func (q *request) getChannel() error {
	c, err := q.channel(q, q.id)
	if err != nil {
		return err
	}
	return q.replyChannel(c)
}

// replyChannel answers with a channel to users who may know of it: its members, and for open
// channels the team.
func (q *request) replyChannel(c *channel) (err error) {
	if c.Type == openChannel {
		err = q.mustBeInTeam(c.TeamID)
	} else {
		err = q.mustRead(c.ID)
	}
	return q.answer(c, err)
}

func (q *request) getChannelByName() error {
	c, err := channelByName.one(q, q.st, q.param("channel_name"), q.id)
	if err != nil {
		return errFind("channel.get_by_name", err,
			missing("app.channel.get_by_name.missing.app_error", "Channel does not exist."))
	}
	return q.replyChannel(c)
}

func (q *request) getChannelsForTeamForUser() error {
	find := channelsOf[q.query("include_deleted") == "true"]
	return replyList(q, find, "channel.get_channels", q.userID, q.teamID)
}

// getChannelsForUser lists a user's channels in all teams, a server of 6.2 or later.
func (q *request) getChannelsForUser() error {
	find := allChannelsOf[q.query("include_deleted") == "true"]
	return replyList(q, find, "channel.get_channels", q.userID)
}

// mustReadChannelOfPath is mustReadChannel for the channel of the path.
func (q *request) mustReadChannelOfPath() (err error) {
	if q.channelID, err = q.idParam("channel_id"); err != nil {
		return err
	}
	return q.mustRead(q.channelID)
}

func (q *request) getChannelStats() error {
	x, err := q.st.stats(q, q.channelID)
	return q.answer(x, errStore("channel.stats", err))
}
