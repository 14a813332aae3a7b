package refchat

import (
	"context"
	"crypto/sha1"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// channelRole is what a member is in a channel.
type channelRole struct{ admin bool }

func (s *Server) channel(ctx context.Context, id string) (*channel, error) {
	c, err := s.channels.through(id, func() (*channel, error) { return s.st.channelByID(ctx, id) })
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoChannel()
	}
	if err != nil {
		return nil, errStore("channel.get", err)
	}
	return c, nil
}

// rolesOf returns a user's roles by channel; the map is shared and not to be changed.
func (s *Server) rolesOf(ctx context.Context, userID string) (map[string]channelRole, error) {
	m, err := s.roles.through(userID, func() (map[string]channelRole, error) { return s.st.channelRoles(ctx, userID) })
	if err != nil {
		return nil, errStore("channel.get_members", err)
	}
	return m, nil
}

// mustReadChannel allows members of a channel and administrators: to read, post, react, upload and type.
func (s *Server) mustReadChannel(ctx context.Context, sess *session, channelID string) error {
	if s.isAdmin(sess) {
		return nil
	}
	m, err := s.rolesOf(ctx, sess.UserID)
	if err != nil {
		return err
	}
	if _, ok := m[channelID]; !ok {
		return errPermission()
	}
	return nil
}

func (s *Server) createChannel(q *request) error {
	var c channel
	if err := q.decode(&c, "channel"); err != nil {
		return err
	}
	switch {
	case c.Type != openChannel && c.Type != privateChannel:
		return newError(http.StatusBadRequest, "api.channel.create_channel.direct_channel.app_error", "Must use createDirectChannel API service for direct message channel creation.")
	case !validID(c.TeamID):
		return errBody("team_id")
	case len(c.Name) < 2 || !slugForm.MatchString(c.Name) || strings.Contains(c.Name, "__"):
		return newError(http.StatusBadRequest, "model.channel.is_valid.2_or_more.app_error", "Name must be 2 or more lowercase alphanumeric characters.")
	case len(c.DisplayName) > 64:
		return newError(http.StatusBadRequest, "model.channel.is_valid.display_name.app_error", "Invalid display name.")
	}
	ctx := q.r.Context()
	if err := s.mustBeInTeam(ctx, q.sess, c.TeamID); err != nil {
		return err
	}
	c.Header, c.Purpose = clip(c.Header, 1024), clip(c.Purpose, 250)
	c.CreatorID, c.DeleteAt, c.TotalMsgCount, c.TotalMsgCountRoot = q.sess.UserID, 0, 0, 0
	c.SchemeID, c.Props, c.GroupConstrained, c.Shared, c.PolicyID = nil, nil, nil, nil, nil
	m := newMember(&c, q.sess.UserID, true)
	err := s.st.insertChannel(ctx, &c, []*channelMember{m})
	if duplicate(err, "") {
		return newError(http.StatusBadRequest, "store.sql_channel.save_channel.exists.app_error", "A channel with that name already exists on the same team.")
	}
	if err != nil {
		return errStore("channel.save", err)
	}
	s.membersChanged(c.ID, q.sess.UserID, true)
	s.hub.publish(newEvent("channel_created", broadcast{UserID: q.sess.UserID}, eventField{"channel_id", c.ID}, eventField{"team_id", c.TeamID}))
	return q.reply(http.StatusCreated, &c)
}

// membersChanged tells caches and connections that users came to or left a channel.
func (s *Server) membersChanged(channelID, userID string, joined bool) {
	s.invalidate(dropRoles, userID)
	s.invalidate(dropAudience, channelID)
	s.hub.joinChannel(userID, channelID, joined)
}

// joinChannel makes a user a member and posts a message of the given system type, in the name of who did it. Joining again changes nothing.
func (s *Server) joinChannel(ctx context.Context, c *channel, u *user, by string, admin bool, kind string) (*channelMember, error) {
	if m, err := s.st.member(ctx, c.ID, u.ID); err == nil {
		return m, nil
	} else if !errors.Is(err, sql.ErrNoRows) {
		return nil, errStore("channel.get_member", err)
	}
	m := newMember(c, u.ID, admin)
	err := s.st.insertMember(ctx, m)
	if duplicate(err, "") {
		if m, err := s.st.member(ctx, c.ID, u.ID); err == nil { // joined twice at the same time
			return m, nil
		}
	}
	if err != nil {
		return nil, errStore("channel.save_member", err)
	}
	s.membersChanged(c.ID, u.ID, true)
	s.hub.publish(newEvent("user_added", broadcast{ChannelID: c.ID}, eventField{"team_id", c.TeamID}, eventField{"user_id", u.ID}))
	p := &post{ChannelID: c.ID, UserID: u.ID, Type: kind, Message: u.Username + " joined the channel.", Props: map[string]any{"username": u.Username}}
	switch kind {
	case "system_join_team":
		p.Message = u.Username + " joined the team."
	case "system_add_to_channel":
		p.UserID, p.Message = by, u.Username+" added to the channel."
		p.Props["addedUserId"], p.Props["addedUsername"] = u.ID, u.Username
	}
	if _, err := s.publishPost(ctx, p, c, u, false); err != nil {
		s.log.Warn("posting a join message", "err", err)
	}
	return m, nil
}

// addChannelMember adds one user, or with user_ids many.
func (s *Server) addChannelMember(q *request) error {
	id, err := q.idParam("channel_id")
	if err != nil {
		return err
	}
	var in struct {
		UserID  string   `json:"user_id"`
		UserIDs []string `json:"user_ids"`
	}
	if err := q.decode(&in, "user_id"); err != nil {
		return err
	}
	ids := in.UserIDs
	if len(ids) == 0 {
		ids = []string{in.UserID}
	}
	if len(ids) > 1000 {
		return errBody("user_ids")
	}
	for _, id := range ids {
		if !validID(id) {
			return errBody("user_id")
		}
	}
	ctx := q.r.Context()
	c, err := s.channel(ctx, id)
	if err != nil {
		return err
	}
	if c.Type == directChannel || c.Type == groupChannel {
		return newError(http.StatusBadRequest, "api.channel.add_user_to_channel.type.app_error", "Can not add user to this channel type.")
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
			return newError(http.StatusNotFound, "app.team.get_member.missing.app_error", "No team member found for that user ID and team ID.")
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
		return q.reply(http.StatusCreated, members[0])
	}
	return q.reply(http.StatusCreated, members)
}

func (s *Server) removeChannelMember(q *request) error {
	id, userID, err := q.ids("channel_id", "user_id")
	if err != nil {
		return err
	}
	ctx := q.r.Context()
	if err := s.mustReadChannel(ctx, q.sess, id); err != nil {
		return err
	}
	c, err := s.channel(ctx, id)
	if err != nil {
		return err
	}
	if c.Type == directChannel || c.Type == groupChannel || c.Name == defaultChannels[0].name {
		return newError(http.StatusBadRequest, "api.channel.remove_channel_member.type.app_error", "Can not remove user from this channel type.")
	}
	u, err := s.user(ctx, userID)
	if err != nil {
		return err
	}
	if err := s.st.deleteMember(ctx, id, userID); err != nil {
		return errStore("channel.remove_member", err)
	}
	s.hub.publish(newEvent("user_removed", broadcast{ChannelID: id}, eventField{"remover_id", q.sess.UserID}, eventField{"user_id", userID}))
	s.hub.publish(newEvent("user_removed", broadcast{UserID: userID}, eventField{"channel_id", id}, eventField{"remover_id", q.sess.UserID}))
	s.membersChanged(id, userID, false)
	p := &post{ChannelID: id, UserID: q.sess.UserID, Type: "system_remove_from_channel", Message: u.Username + " was removed from the channel.",
		Props: map[string]any{"removedUserId": u.ID, "removedUsername": u.Username}}
	if userID == q.sess.UserID {
		p.Type, p.Message, p.Props = "system_leave_channel", u.Username+" has left the channel.", map[string]any{"username": u.Username}
	}
	if _, err := s.publishPost(ctx, p, c, u, false); err != nil {
		s.log.Warn("posting a leave message", "err", err)
	}
	return q.ok()
}

func (s *Server) createDirectChannel(q *request) error {
	var ids []string
	if err := q.decode(&ids, "user_ids"); err != nil || len(ids) != 2 || !validID(ids[0]) || !validID(ids[1]) {
		return errBody("user_ids")
	}
	if !slices.Contains(ids, q.sess.UserID) && !s.isAdmin(q.sess) {
		return errPermission()
	}
	c := &channel{Type: directChannel, Name: directName(ids[0], ids[1]), CreatorID: q.sess.UserID}
	other := ids[0]
	if other == q.sess.UserID {
		other = ids[1]
	}
	event := func(c *channel) *event {
		return newEvent("direct_added", broadcast{ChannelID: c.ID}, eventField{"creator_id", q.sess.UserID}, eventField{"teammate_id", other})
	}
	slices.Sort(ids)
	return s.createPersonal(q, c, slices.Compact(ids), event)
}

// directName is the name of the direct channel of two users.
func directName(a, b string) string { return min(a, b) + "__" + max(a, b) }

func (s *Server) createGroupChannel(q *request) error {
	var ids []string
	if err := q.decode(&ids, "user_ids"); err != nil || len(ids) == 0 {
		return errBody("user_ids")
	}
	for _, id := range ids {
		if !validID(id) {
			return errBody("user_id")
		}
	}
	ids = append(ids, q.sess.UserID)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) < 3 || len(ids) > 8 {
		return newError(http.StatusBadRequest, "api.channel.create_group.bad_size.app_error", "Group message channels must contain at least 3 and no more than 8 users.")
	}
	var names []string
	for _, id := range ids {
		u, err := s.user(q.r.Context(), id)
		if err != nil {
			return newError(http.StatusBadRequest, "api.channel.create_group.bad_user.app_error", "One of the provided users does not exist.")
		}
		names = append(names, u.Username)
	}
	slices.Sort(names)
	sum := sha1.Sum([]byte(strings.Join(ids, "")))
	c := &channel{Type: groupChannel, Name: hex.EncodeToString(sum[:]), DisplayName: clip(strings.Join(names, ", "), 64), CreatorID: q.sess.UserID}
	event := func(c *channel) *event {
		return newEvent("group_added", broadcast{ChannelID: c.ID}, eventField{"teammate_ids", jsonText(ids)})
	}
	return s.createPersonal(q, c, ids, event)
}

// createPersonal makes a direct or group channel, or finds the one that these users have already.
func (s *Server) createPersonal(q *request, c *channel, ids []string, added func(*channel) *event) error {
	ctx := q.r.Context()
	var members []*channelMember
	for _, id := range ids {
		if _, err := s.user(ctx, id); err != nil {
			return newError(http.StatusBadRequest, "api.channel.create_direct_channel.invalid_user.app_error", "Invalid user ID.")
		}
		members = append(members, newMember(c, id, false))
	}
	old, err := s.st.channelByName(ctx, "", c.Name)
	if errors.Is(err, sql.ErrNoRows) {
		if err = s.st.insertChannel(ctx, c, members); duplicate(err, "") {
			old, err = s.st.channelByName(ctx, "", c.Name)
		}
	}
	if err != nil {
		return errStore("channel.save", err)
	}
	if old != nil {
		return q.reply(http.StatusCreated, old)
	}
	for _, id := range ids {
		s.membersChanged(c.ID, id, true)
	}
	s.hub.publish(added(c))
	return q.reply(http.StatusCreated, c)
}

func (s *Server) getChannel(q *request) error {
	id, err := q.idParam("channel_id")
	if err != nil {
		return err
	}
	c, err := s.channel(q.r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.mustSeeChannel(q, c); err != nil {
		return err
	}
	return q.reply(http.StatusOK, c)
}

// mustSeeChannel allows what a channel's existence may be shown to: members, and for open channels the team.
func (s *Server) mustSeeChannel(q *request, c *channel) error {
	if c.Type == openChannel {
		return s.mustBeInTeam(q.r.Context(), q.sess, c.TeamID)
	}
	return s.mustReadChannel(q.r.Context(), q.sess, c.ID)
}

func (s *Server) getChannelByName(q *request) error {
	id := q.param("team_id")
	if name := q.param("team_name"); name != "" {
		t, err := s.st.teamByName(q.r.Context(), name)
		if errors.Is(err, sql.ErrNoRows) {
			return newError(http.StatusNotFound, "app.team.get_by_name.missing.app_error", "Unable to find the existing team.")
		}
		if err != nil {
			return errStore("team.get_by_name", err)
		}
		id = t.ID
	}
	if !validID(id) {
		return errURL("team_id")
	}
	c, err := s.st.channelByName(q.r.Context(), id, q.param("channel_name"))
	if errors.Is(err, sql.ErrNoRows) {
		return newError(http.StatusNotFound, "app.channel.get_by_name.missing.app_error", "Channel does not exist.")
	}
	if err != nil {
		return errStore("channel.get_by_name", err)
	}
	if err := s.mustSeeChannel(q, c); err != nil {
		return err
	}
	return q.reply(http.StatusOK, c)
}

func (s *Server) getPublicChannels(q *request) error {
	id, err := s.teamParam(q)
	if err != nil {
		return err
	}
	page, per := q.page()
	list, err := s.st.publicChannels(q.r.Context(), id, page, per)
	if err != nil {
		return errStore("channel.get_public", err)
	}
	return q.reply(http.StatusOK, list)
}

func (s *Server) getChannelsForTeamForUser(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	teamID, err := s.teamParam(q)
	if err != nil {
		return err
	}
	list, err := s.st.channelsOf(q.r.Context(), userID, teamID, q.r.URL.Query().Get("include_deleted") == "true")
	if err != nil {
		return errStore("channel.get_channels", err)
	}
	return q.reply(http.StatusOK, list)
}

func (s *Server) getChannelMembersForUser(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	teamID, err := s.teamParam(q)
	if err != nil {
		return err
	}
	list, err := s.st.membersOf(q.r.Context(), userID, teamID)
	if err != nil {
		return errStore("channel.get_members", err)
	}
	return q.reply(http.StatusOK, list)
}

// getChannelsForUser lists a user's channels in all teams, a server of 6.2 or later.
func (s *Server) getChannelsForUser(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	list, err := s.st.allChannelsOf(q.r.Context(), userID, q.r.URL.Query().Get("include_deleted") == "true")
	if err != nil {
		return errStore("channel.get_channels", err)
	}
	return q.reply(http.StatusOK, list)
}

// getAllChannelMembersForUser is one page of a user's memberships in all teams.
func (s *Server) getAllChannelMembersForUser(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	page, per := q.page()
	list, err := s.st.allMembersOf(q.r.Context(), userID, page, per)
	if err != nil {
		return errStore("channel.get_members", err)
	}
	return q.reply(http.StatusOK, list)
}

// channelParam returns the channel_id parameter if the caller may read the channel.
func (s *Server) channelParam(q *request) (string, error) {
	id, err := q.idParam("channel_id")
	if err != nil {
		return "", err
	}
	return id, s.mustReadChannel(q.r.Context(), q.sess, id)
}

func (s *Server) getChannelMembers(q *request) error {
	id, err := s.channelParam(q)
	if err != nil {
		return err
	}
	page, per := q.page()
	list, err := s.st.memberPage(q.r.Context(), id, page, per)
	if err != nil {
		return errStore("channel.get_members", err)
	}
	return q.reply(http.StatusOK, list)
}

func (s *Server) getChannelMember(q *request) error {
	id, err := s.channelParam(q)
	if err != nil {
		return err
	}
	userID, err := q.idParam("user_id")
	if err != nil {
		return err
	}
	m, err := s.st.member(q.r.Context(), id, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return newError(http.StatusNotFound, "app.channel.get_member.missing.app_error", "No channel member found for that user ID and channel ID.")
	}
	if err != nil {
		return errStore("channel.get_member", err)
	}
	return q.reply(http.StatusOK, m)
}

func (s *Server) getChannelStats(q *request) error {
	id, err := s.channelParam(q)
	if err != nil {
		return err
	}
	x, err := s.st.stats(q.r.Context(), id)
	if err != nil {
		return errStore("channel.stats", err)
	}
	return q.reply(http.StatusOK, x)
}

func (s *Server) getChannelUnread(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	id, err := s.channelParam(q)
	if err != nil {
		return err
	}
	x, err := s.st.unread(q.r.Context(), id, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return newError(http.StatusNotFound, "app.channel.get_unread.app_error", "Unable to get the channel unread messages.")
	}
	if err != nil {
		return errStore("channel.get_unread", err)
	}
	return q.reply(http.StatusOK, x)
}

func (s *Server) viewChannel(q *request) error {
	userID, err := s.own(q)
	if err != nil {
		return err
	}
	var in struct {
		ChannelID     string `json:"channel_id"`
		PrevChannelID string `json:"prev_channel_id"`
		Collapsed     bool   `json:"collapsed_threads_supported"`
	}
	if err := q.decode(&in, "channel_view"); err != nil {
		return err
	}
	if in.ChannelID != "" && !validID(in.ChannelID) {
		return errBody("channel_view.channel_id")
	}
	if in.PrevChannelID != "" && !validID(in.PrevChannelID) {
		return errBody("channel_view.prev_channel_id")
	}
	ctx := q.r.Context()
	s.setOnline(ctx, userID)
	var ids []string
	for _, id := range []string{in.ChannelID, in.PrevChannelID} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	times := map[string]int64{}
	if len(ids) > 0 {
		times, err = s.markViewed(ctx, ids, userID, in.Collapsed)
		if errors.Is(err, sql.ErrNoRows) {
			return newError(http.StatusBadRequest, "app.channel.update_last_viewed_at.app_error", "Unable to update the last viewed at time.")
		}
		if err != nil {
			return errStore("channel.update_last_viewed_at", err)
		}
	}
	s.touch(q.sess)
	return q.reply(http.StatusOK, map[string]any{"status": "OK", "last_viewed_at_times": times})
}

// markViewed is what both viewing and posting do: mark channels as read, tell the user's own connections. For a client that does not
// know collapsed threads, the channels' threads count as read, too.
func (s *Server) markViewed(ctx context.Context, ids []string, userID string, collapsed bool) (map[string]int64, error) {
	times, err := s.st.markViewed(ctx, ids, userID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s.hub.publish(newEvent("channel_viewed", broadcast{UserID: userID}, eventField{"channel_id", id}))
	}
	if collapsed && s.collapsed() {
		return times, nil
	}
	if err := s.st.viewThreads(ctx, ids, userID); err != nil {
		return nil, err
	}
	if s.collapsed() {
		now := millis()
		for _, id := range ids {
			s.hub.publish(newEvent("thread_read_changed", broadcast{UserID: userID, ChannelID: id}, eventField{"timestamp", now}))
		}
	}
	return times, nil
}
