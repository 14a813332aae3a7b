package refchat

import (
	"fmt"
	"slices"
	"strings"
)

// Quirks are differences between releases of the real server in the same operation, for
// [Config].Quirks. A release that is known to have one has it by its version; where a range ends is
// often unknown, so each can be asked for.
const (
	// QuirkDirectMembersOnly refuses the posts of direct and group channels to everyone who is not
	// a member, administrators included, with status 403. Seen on 9.11; 5.37 and 10.5 answer.
	QuirkDirectMembersOnly = "direct-members-only"
	// QuirkStatsCountBots counts bots in GET /users/stats, while the report on users leaves them
	// out. Seen on 9.11 and 10.5, and in the source of 5.26 to 5.36 (app/user.go,
	// GetTotalUsersStats).
	QuirkStatsCountBots = "stats-count-bots"
	// QuirkHideTimes hides when others have looked at a channel: last_viewed_at and last_update_at
	// of memberships are -1 for all but the member. Since 10.12, 10.11.4 and 10.5.12
	// (mattermost/mattermost#33835, CVE-2025-55074); seen up to 11.6.
	QuirkHideTimes = "hide-member-times"
	// QuirkOmitTimes leaves these two fields out instead. In the source after 11.6
	// (model/channel_member.go); the release is not known.
	QuirkOmitTimes = "omit-member-times"
)

var quirks = []string{QuirkDirectMembersOnly, QuirkStatsCountBots, QuirkHideTimes, QuirkOmitTimes}

// quirksOf returns the quirks that a release is known to have.
func quirksOf(r release) (list []string) {
	if r == (release{9, 11}) {
		list = append(list, QuirkDirectMembersOnly)
	}
	if r.major == 5 || r == (release{9, 11}) || r == (release{10, 5}) {
		list = append(list, QuirkStatsCountBots)
	}
	if r.atLeast(release{10, 12}) {
		list = append(list, QuirkHideTimes)
	}
	return list
}

// checkQuirks returns an error for a name that is not a quirk.
func checkQuirks(names []string) error {
	for _, q := range names {
		if !slices.Contains(quirks, q) {
			return fmt.Errorf("quirk %q: want one of %s", q, strings.Join(quirks, ", "))
		}
	}
	return nil
}

func (s *Server) has(quirk string) bool { return slices.Contains(s.quirks, quirk) }

// A memberTime is a moment of a membership in Unix milliseconds, or what stands there for others.
type memberTime int64

const (
	hiddenTime  memberTime = -1
	omittedTime memberTime = -2 // not in the answer
)

// IsZero reports whether the field is left out of an answer; a moment of 0 is not.
func (t memberTime) IsZero() bool { return t == omittedTime }

// shown hides from the caller when other members have looked, where the release does so.
func (s *Server) shown(sess *session, list ...*channelMember) {
	var t memberTime
	switch {
	case s.has(QuirkOmitTimes):
		t = omittedTime
	case s.has(QuirkHideTimes):
		t = hiddenTime
	default:
		return
	}
	for _, m := range list {
		if m.UserID != sess.UserID {
			m.LastViewedAt, m.LastUpdateAt = t, t
		}
	}
}

// mayReadPosts refuses an administrator who is not a member of a direct or group channel, where the
// release does so. mustRead checked all others.
func (q *request) mayReadPosts(channelID string) error {
	if !q.has(QuirkDirectMembersOnly) || !q.sess.isAdmin() {
		return nil
	}
	ch, err := q.channel(q, channelID)
	if err != nil {
		return err
	}
	if ch.Type != directChannel && ch.Type != groupChannel {
		return nil
	}
	member := &session{UserID: q.sess.UserID} // with no rights of an administrator
	return q.mustReadChannel(q, member, channelID)
}
