package refchat

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Quirks of single releases of the real server, for [Config].Quirks. Which releases have them is not derived from
// Config.Version: the limits of the ranges are not known.
const (
	// QuirkDirectMembersOnly refuses the posts of direct and group channels to everyone who is not a
	// member, administrators included, with status 403. Seen on 9.11; 5.37 and later releases answer.
	QuirkDirectMembersOnly = "direct-members-only"
	// QuirkStatsCountBots counts bots in GET /users/stats, while the report on users leaves them out. Seen on 9.11
	// and 10.5.
	QuirkStatsCountBots = "stats-count-bots"
)

var quirks = []string{QuirkDirectMembersOnly, QuirkStatsCountBots}

// checkQuirks returns an error for a name that is not a quirk.
func checkQuirks(names []string) error {
	for _, q := range names {
		if !slices.Contains(quirks, q) {
			return fmt.Errorf("quirk %q: want one of %s", q, strings.Join(quirks, ", "))
		}
	}
	return nil
}

func (s *Server) has(quirk string) bool { return slices.Contains(s.cfg.Quirks, quirk) }

// mayReadPosts refuses an administrator who is not a member of a direct or group channel, where the release does
// so. mustReadChannel checked all others.
func (s *Server) mayReadPosts(ctx context.Context, sess *session, channelID string) error {
	if !s.has(QuirkDirectMembersOnly) || !s.isAdmin(sess) {
		return nil
	}
	ch, err := s.channel(ctx, channelID)
	if err != nil {
		return err
	}
	if ch.Type != directChannel && ch.Type != groupChannel {
		return nil
	}
	in, err := s.rolesOf(ctx, sess.UserID)
	if err != nil {
		return err
	}
	if _, member := in[channelID]; !member {
		return errPermission()
	}
	return nil
}
