package refchat

import (
	"context"
	"slices"
)

func (q *request) getChannelUnread() error {
	x, err := unreadIn.one(q, q.st, q.channelID, q.userID)
	if err != nil {
		return errFind("channel.get_unread", err, missing(
			"app.channel.get_unread.app_error",
			"Unable to get the channel unread messages.",
		))
	}
	x.ChannelID = q.channelID
	return q.reply(x)
}

// channelView names the channel that a client shows now, and the one before.
type channelView struct {
	ChannelID     string `json:"channel_id"`
	PrevChannelID string `json:"prev_channel_id"`
	Collapsed     bool   `json:"collapsed_threads_supported"`
}

func (q *request) viewChannel(in *channelView) error {
	if in.ChannelID != "" && !validID(in.ChannelID) {
		return errBody("channel_view.channel_id")
	}
	if in.PrevChannelID != "" && !validID(in.PrevChannelID) {
		return errBody("channel_view.prev_channel_id")
	}
	q.setOnline(q, q.userID)
	var ids []string
	for _, id := range []string{in.ChannelID, in.PrevChannelID} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	times := map[string]int64{}
	if len(ids) > 0 {
		var err error
		if times, err = q.markViewed(q, ids, q.userID, in.Collapsed); err != nil {
			return errFind("channel.update_last_viewed_at", err,
				badRequest("app.channel.update_last_viewed_at.app_error",
					"Unable to update the last viewed at time."))
		}
	}
	q.touch(q.sess)
	return q.reply(map[string]any{"status": "OK", "last_viewed_at_times": times})
}

// markViewed is the common part of viewing and posting: it marks channels as read and notifies the
// user's own connections. For a client without support for collapsed threads, the channels' threads
// count as read, too.
func (s *Server) markViewed(
	ctx context.Context,
	ids []string,
	userID string,
	collapsed bool,
) (map[string]int64, error) {
	times, err := s.st.markViewed(ctx, ids, userID)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s.publish("channel_viewed", broadcast{UserID: userID}, "channel_id", id)
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
			s.publish("thread_read_changed", broadcast{
				UserID:    userID,
				ChannelID: id,
			}, "timestamp", now)
		}
	}
	return times, nil
}
