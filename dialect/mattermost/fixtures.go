package mattermost

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/dialect/mattermost/api"
)

// fixtures are the objects that the actions of a mix need beyond accounts and the team's channels,
// as far as they were provided.
type fixtures struct {
	directs int // persons that have their direct and group channels
	second  int // members of the second team
	open    int // channels to join
	threads int // persons that follow a thread
}

const (
	openChannels = 20 // without members, for persons to join
	groupOf      = 3
	namedAtOnce  = 20 // persons that one reply mentions
)

// provideFixtures provides the objects that the actions of the mix need: another team, channels to
// join, direct and group channels.
func (s *setup) provideFixtures(b *Person) error {
	ids := b.present()
	if b.mix.has("switch_team") && len(b.set.existing) == 0 && b.fixtures.second < len(ids) {
		name := b.set.team + "-2"
		team, err := s.team(name)
		if err != nil {
			return fmt.Errorf("team %s: %w", name, err)
		}
		if err := s.joinTeam(team, ids); err != nil {
			return err
		}
		b.fixtures.second = len(ids)
	}
	if b.mix.has("join_channel") && len(b.set.existing) == 0 && b.fixtures.open == 0 {
		if _, err := s.makeChannels(b.Team, b.set.team+"-open", openChannels); err != nil {
			return err
		}
		b.fixtures.open = openChannels
	}
	if err := s.threads(b); err != nil {
		if !answered(err) {
			return err
		}
		// This is a fault of the server, and does not prevent a run.
		s.log("%v: persons will have no thread to read at first", err)
	}
	if b.set.direct == 0 || b.fixtures.directs >= len(ids) ||
		!b.mix.has("open_direct_or_group_channel") && !b.mix.has("search_group_channels") {
		return nil
	}
	return s.directs(b, ids)
}

// directs opens direct channels between each person and the next ones by number, and group channels
// of three. The server answers with the channel that is there if there is one.
func (s *setup) directs(b *Person, ids []string) error {
	n := len(ids)
	var channels [][]string
	for rank := range n {
		// Half of the channels are opened by the person itself, half by those before it: each has
		// about as many as the setting.
		for d := 1; d <= (b.set.direct+1)/2; d++ {
			if other := (rank + d) % n; other != rank &&
				(rank >= b.fixtures.directs || other >= b.fixtures.directs || rank+d >= n) {
				channels = append(channels, []string{ids[rank], ids[other]})
			}
		}
	}
	pairs := len(channels)
	for from := b.fixtures.directs / groupOf * groupOf; n >= groupOf && from < n; from += groupOf {
		if from+groupOf > n { // the last ones make up a group with those before
			from = n - groupOf
		}
		channels = append(channels, ids[from:from+groupOf])
		if from+groupOf == n {
			break
		}
	}
	have, err := s.haveDirects(b, ids)
	if err != nil {
		return err
	}
	if !have {
		s.log("opening %d direct and %d group channels", pairs, len(channels)-pairs)
		err = each(s, channels, func(ctx context.Context, c *api.Client, users []string) error {
			if _, err := c.Open(ctx, users); err != nil {
				return fmt.Errorf("opening a direct or group channel: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.fixtures.directs = n
	return nil
}

// haveDirects reports whether the first and the last person have their direct and group channels.
// The others were made between these.
func (s *setup) haveDirects(b *Person, ids []string) (bool, error) {
	for _, id := range []string{ids[0], ids[len(ids)-1]} {
		var chs []api.Channel
		if err := s.with(func(c *api.Client) (err error) {
			chs, err = c.TeamChannels(s, id, b.Team, false)
			return err
		}); err != nil {
			return false, fmt.Errorf("looking for direct channels: %w", err)
		}
		has := func(kind string) bool {
			return slices.ContainsFunc(chs, func(ch api.Channel) bool { return ch.Type == kind })
		}
		if len(ids) > 1 && !has("D") || len(ids) >= groupOf && !has("G") {
			return false, nil
		}
	}
	return true, nil
}

// threads makes every person follow a thread, because it is mentioned there: on a new server there
// would be none to read. Channels with posts are left as they are.
func (s *setup) threads(b *Person) error {
	if b.lacks(hasThreads) != "" || len(b.set.existing) > 0 ||
		!b.mix.has("view_thread") && !b.mix.has("update_thread_read") {
		return nil
	}
	names := make([][]string, len(b.Channels))
	for rank := b.fixtures.threads; rank < len(b.IDs); rank++ {
		if b.newcomer(rank) {
			continue
		}
		k := b.channelsOf(rank)[0]
		names[k] = append(names[k], "@"+b.name(rank))
	}
	again := b.fixtures.threads > 0
	err := s.parallel(len(b.Channels), func(ctx context.Context, c *api.Client, k int) error {
		if len(names[k]) == 0 {
			return nil
		}
		ch := b.Channels[k]
		posts, err := c.Posts(ctx, ch, seenPosts)
		if err != nil {
			return fmt.Errorf("looking into a channel: %w", err)
		}
		root := ""
		for _, p := range posts {
			if p.Flags&api.PostSystem == 0 {
				if !again {
					return nil
				}
				if root = p.RootID.String(); root == "" {
					root = p.ID.String()
				}
				break
			}
		}
		if root == "" {
			p, err := c.Post(ctx, api.Draft{ChannelID: ch, Message: "Who is here?"})
			if err != nil {
				return fmt.Errorf("beginning a thread: %w", err)
			}
			root = p.ID
		}
		for some := range slices.Chunk(names[k], namedAtOnce) {
			if _, err := c.Post(ctx, api.Draft{ChannelID: ch, RootID: root,
				Message: strings.Join(some, " ")}); err != nil {
				return fmt.Errorf("mentioning persons in a thread: %w", err)
			}
		}
		return nil
	})
	if err == nil {
		b.fixtures.threads = len(b.IDs)
	}
	return err
}
