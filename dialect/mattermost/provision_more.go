package mattermost

import (
	"context"
	"fmt"
	"slices"
)

// made is what a behavior has provided so far beyond accounts and the team's channels.
type made struct {
	directs int // persons that have their direct and group channels
	second  int // members of the second team
	open    int // channels to join
}

const (
	openChannels = 20 // without members, for those who join one
	groupOf      = 3
)

// more provides what the actions of the mix need: another team, channels to join, direct and group channels.
func (s *setup) more(b *Person) error {
	if b.mix.has("switch_team") && len(b.set.existing) == 0 && b.made.second < len(b.ids) {
		name := b.set.team + "-2"
		team, err := s.team(name)
		if err != nil {
			return fmt.Errorf("team %s: %w", name, err)
		}
		if err := s.joinTeam(team, b.ids); err != nil {
			return err
		}
		b.made.second = len(b.ids)
	}
	if b.mix.has("join_channel") && len(b.set.existing) == 0 && b.made.open == 0 {
		if _, err := s.makeChannels(b.team, b.set.team+"-open", openChannels); err != nil {
			return err
		}
		b.made.open = openChannels
	}
	if b.set.direct == 0 || b.made.directs >= len(b.ids) ||
		!b.mix.has("open_direct_or_group_channel") && !b.mix.has("search_group_channels") {
		return nil
	}
	return s.directs(b)
}

// directs opens direct channels between each person and the next ones by number, and group channels of three. The server answers with
// the channel that is there if there is one.
func (s *setup) directs(b *Person) error {
	n := len(b.ids)
	var pairs, groups [][]string
	for rank := range n {
		// Half of the channels are opened by the person itself, half by those before it: each has about as many as the setting says.
		for d := 1; d <= (b.set.direct+1)/2; d++ {
			if other := (rank + d) % n; other != rank && (rank >= b.made.directs || other >= b.made.directs || rank+d >= n) {
				pairs = append(pairs, []string{b.ids[rank], b.ids[other]})
			}
		}
	}
	for from := b.made.directs / groupOf * groupOf; n >= groupOf && from < n; from += groupOf {
		if from+groupOf > n { // the last ones make up a group with those before
			from = n - groupOf
		}
		groups = append(groups, b.ids[from:from+groupOf])
		if from+groupOf == n {
			break
		}
	}
	have, err := s.haveDirects(b)
	if err != nil {
		return err
	}
	if !have {
		s.log("opening %d direct and %d group channels", len(pairs), len(groups))
		err = s.parallel(len(pairs)+len(groups), func(ctx context.Context, c *Client, k int) (err error) {
			if k < len(pairs) {
				_, err = c.CreateDirect(ctx, pairs[k][0], pairs[k][1])
			} else {
				_, err = c.CreateGroup(ctx, groups[k-len(pairs)])
			}
			if err != nil {
				return fmt.Errorf("opening a direct or group channel: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.made.directs = n
	return nil
}

// haveDirects reports whether the first and the last person have their direct and group channels: those between are made in between.
func (s *setup) haveDirects(b *Person) (bool, error) {
	for _, id := range []string{b.ids[0], b.ids[len(b.ids)-1]} {
		var chs []Channel
		if err := s.with(func(c *Client) (err error) {
			chs, err = c.TeamChannels(s.ctx, id, b.team, false)
			return err
		}); err != nil {
			return false, fmt.Errorf("looking for direct channels: %w", err)
		}
		direct := slices.ContainsFunc(chs, func(ch Channel) bool { return ch.Type == "D" })
		group := len(b.ids) < groupOf || slices.ContainsFunc(chs, func(ch Channel) bool { return ch.Type == "G" })
		if !direct && len(b.ids) > 1 || !group {
			return false, nil
		}
	}
	return true, nil
}
