package mattermost

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/dialect/mattermost/api"
)

const (
	namesPerRequest = 100
	joinsPerRequest = 20
	pageSize        = 200
)

// place finds or creates the team and the channels.
func (s *setup) place() (team string, channels []string, err error) {
	if len(s.set.existing) == 0 {
		if team, err = s.team(s.set.team); err != nil {
			return "", nil, fmt.Errorf("team %s: %w", s.set.team, err)
		}
		channels, err = s.makeChannels(team, s.set.team, s.set.channels)
		return team, channels, err
	}
	err = s.with(func(c *api.Client) error {
		for _, ch := range s.set.existing {
			in, err := c.Channel(s, ch)
			if err != nil {
				err = fmt.Errorf("channel %s: %w", ch, err)
				if s.member && (missing(err) || refused(err)) {
					err = s.absent(err)
				}
				return err
			}
			if team != "" && in.TeamID != team {
				return errors.New(
					"the channels of setting channel belong to several teams; name those of one",
				)
			}
			team = in.TeamID
		}
		return nil
	})
	return team, s.set.existing, err
}

// provide finds an object or, as an administrator, makes it. Another process may be faster.
func (s *setup) provide(find, create func() (id string, err error)) (id string, err error) {
	id, err = find()
	if s.member && (missing(err) || refused(err)) {
		return "", s.absent(err)
	}
	if !s.member && missing(err) {
		if id, err = create(); exists(err) {
			id, err = find()
		}
	}
	return id, err
}

// team finds or creates a team.
func (s *setup) team(name string) (id string, err error) {
	err = s.with(func(c *api.Client) error {
		created := false
		id, err = s.provide(func() (string, error) { return c.TeamByName(s, name) },
			func() (string, error) {
				created = true
				return c.CreateTeam(s, name)
			})
		if err != nil || created || s.member {
			return err
		}
		// It was there: who makes channels in it, and so becomes their member, must be in the team.
		if _, err = c.TeamMember(s, id, s.admin); missing(err) {
			err = c.AddTeamMembers(s, id, []string{s.admin})
		}
		return err
	})
	return id, err
}

// makeChannels finds or creates open channels named PREFIX-000, PREFIX-001, ...
func (s *setup) makeChannels(team, prefix string, n int) ([]string, error) {
	channels := make([]string, n)
	err := s.parallel(n, func(ctx context.Context, c *api.Client, i int) (err error) {
		name := channelName(prefix, i)
		channels[i], err = s.provide(func() (string, error) {
			return c.ChannelByName(ctx, team, name)
		},
			func() (string, error) {
				ch, err := c.MakeChannel(ctx, team, name, "O")
				return ch.ID, err
			})
		if err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
		return nil
	})
	return channels, err
}

// channelName returns the name of a channel of our making.
func channelName(prefix string, i int) string { return fmt.Sprintf("%s-%03d", prefix, i) }

// makeUsers finds or creates users by name and returns their ids, in the order of the names.
func (s *setup) makeUsers(names []string, password string) ([]string, error) {
	ids := make([]string, len(names))
	batches := (len(names) + namesPerRequest - 1) / namesPerRequest
	err := s.parallel(batches, func(ctx context.Context, c *api.Client, k int) error {
		from := k * namesPerRequest
		some := names[from:min(from+namesPerRequest, len(names))]
		found, err := c.UsersByName(ctx, some)
		if err != nil {
			return fmt.Errorf("looking for users: %w", err)
		}
		byName := map[string]string{}
		for _, p := range found {
			byName[p.Username] = p.ID
		}
		for i, name := range some {
			ids[from+i] = byName[name]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lack := without(ids)
	if len(lack) > 0 {
		s.log("creating %d users", len(lack))
	}
	err = each(s, lack, func(ctx context.Context, c *api.Client, i int) error {
		p, err := c.CreateUser(ctx, names[i], mailOf(names[i]), password)
		if err != nil {
			return fmt.Errorf("creating user %s: %w", names[i], err)
		}
		ids[i] = p.ID
		return nil
	})
	return ids, err
}

// without returns the indices of the texts that are empty.
func without(list []string) (empty []int) {
	for i, v := range list {
		if v == "" {
			empty = append(empty, i)
		}
	}
	return empty
}

// logIn opens a session of an account that is there. One of our making whose password is another,
// because it is of a run with another secret, gets this password.
func (s *setup) logIn(ctx context.Context, c *api.Client, name, password string) error {
	_, err := c.Login(ctx, name, password)
	if !unauthorized(err) {
		return err
	}
	c.SetToken(s.token)
	found, failed := c.UsersByName(ctx, []string{name})
	if failed != nil || len(found) != 1 || found[0].Email != mailOf(name) {
		return err
	}
	if failed = c.SetPassword(ctx, found[0].ID, password); failed != nil {
		return errors.Join(err, failed)
	}
	_, err = c.Login(ctx, name, password)
	return err
}

// mailOf is the e-mail address of an account of our making. Nobody else has one of that domain.
func mailOf(name string) string { return name + "@example.com" }

// lacking returns the users that are not in a paged list, and keeps no others of it.
func lacking(users []string, list func(page int) ([]string, error)) ([]string, error) {
	lack := make(map[string]bool, len(users))
	for _, id := range users {
		lack[id] = true
	}
	first := ""
	for page := 0; ; page++ {
		ids, err := list(page)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			delete(lack, id)
		}
		// The last page, all names found, or a server that ignores the page number.
		if len(ids) < pageSize || len(lack) == 0 || page > 0 && ids[0] == first {
			have := func(id string) bool { return !lack[id] }
			return slices.DeleteFunc(slices.Clone(users), have), nil
		}
		if page == 0 {
			first = ids[0]
		}
	}
}

// join makes users members of a team and of channels: want returns the indices of the channels of
// the i-th user.
func (s *setup) join(team string, users, channels []string, want func(i int) []int) error {
	if err := s.joinTeam(team, users); err != nil {
		return err
	}
	of := make([][]string, len(channels))
	for i, id := range users {
		for _, k := range want(i) {
			of[k] = append(of[k], id)
		}
	}
	return s.joinChannels(channels, of)
}

// joinTeam makes users members of the team.
func (s *setup) joinTeam(team string, users []string) error {
	var lack []string
	err := s.with(func(c *api.Client) (err error) {
		lack, err = lacking(users, func(page int) ([]string, error) {
			return c.TeamMembers(s, team, page, pageSize)
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("members of team %s: %w", s.set.team, err)
	}
	batches := slices.Collect(slices.Chunk(lack, joinsPerRequest))
	return each(s, batches, func(ctx context.Context, c *api.Client, users []string) error {
		if err := c.AddTeamMembers(ctx, team, users); err != nil {
			return fmt.Errorf("adding users to team %s: %w", s.set.team, err)
		}
		return nil
	})
}

// joinChannels makes users members of channels: want[i] are the users of channels[i].
func (s *setup) joinChannels(channels []string, want [][]string) error {
	type batch struct {
		channel string
		users   []string
	}
	lists := make([][]string, len(channels))
	err := s.parallel(len(channels), func(ctx context.Context, c *api.Client, i int) (err error) {
		lists[i], err = lacking(want[i], func(page int) ([]string, error) {
			return c.ChannelMembers(ctx, channels[i], page, pageSize)
		})
		if err != nil {
			return fmt.Errorf("members of channel %s: %w", channels[i], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var batches []batch
	for i, lack := range lists {
		for users := range slices.Chunk(lack, joinsPerRequest) {
			batches = append(batches, batch{channels[i], users})
		}
	}
	return each(s, batches, func(ctx context.Context, c *api.Client, b batch) error {
		for len(b.users) > 0 {
			n, err := c.JoinChannelAll(ctx, b.channel, b.users)
			if err != nil {
				return fmt.Errorf("adding users to channel %s: %w", b.channel, err)
			}
			b.users = b.users[n:]
		}
		return nil
	})
}

// bot finds or creates the bot and returns its id and a token.
func (s *setup) bot() (id, token string, err error) {
	err = s.with(func(c *api.Client) error {
		found, err := c.UsersByName(s, []string{s.set.bot})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if id, err = c.CreateBot(s, s.set.bot); err != nil {
				return err
			}
		} else if id = found[0].ID; !found[0].Bot {
			return errors.New("there is a user of that name who is not a bot; name another with the setting bot")
		}
		token, err = c.CreateToken(s, id)
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("bot %s: %w", s.set.bot, err)
	}
	return id, token, nil
}

// attributeName is the custom profile attribute that is used or created.
const attributeName = "load_test"

// attribute finds or creates the custom profile attribute and returns its id; "" if it is missing,
// and so is an administrator to create it.
func (s *setup) attribute() (id string, err error) {
	err = s.with(func(c *api.Client) error {
		fields, err := c.AttributeFields(s)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if f.Name == attributeName {
				id = f.ID
				return nil
			}
		}
		if s.member {
			return nil
		}
		f, err := c.CreateAttributeField(s, attributeName)
		id = f.ID
		return err
	})
	return id, err
}
