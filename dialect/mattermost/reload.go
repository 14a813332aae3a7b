package mattermost

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// reload makes the requests of a client that starts, in the order and in the groups of the web app:
// the user and the presence of others, then the channels of the team, then the sidebar, then a
// channel.
func (a *act) reload() error {
	start := time.Now()
	var people []api.Profile
	var prefs []api.Preference
	var memberOf []string
	var roles string
	calls := []call{
		reading((*api.Client).ClientConfig),
		reading((*api.Client).ClientLicense),
		func(ctx context.Context, c *api.Client) error {
			me, err := c.Me(ctx)
			roles = me.Roles
			return err
		},
		func(ctx context.Context, c *api.Client) (err error) {
			people, err = c.Users(ctx, 0, 100, "")
			return err
		},
		keeping(&prefs, a.id, (*api.Client).Preferences),
		readingOf(50, (*api.Client).Teams),
		readingOf(a.id, (*api.Client).MyTeams),
		keeping(&memberOf, a.id, (*api.Client).MyTeamMembers),
	}
	if a.b.Config["PluginsEnabled"] == "true" {
		calls = append(calls, reading((*api.Client).Plugins))
	}
	if a.b.lacks(hasAttributes) == "" {
		calls = append(calls, reading((*api.Client).AttributeFields))
	}
	if err := a.together(calls...); err != nil {
		return err
	}
	a.know(people)
	a.takeTeams(memberOf)
	if _, err := a.c.Roles(a, strings.Fields(roles)); err != nil {
		return err
	}
	if err := a.groupsShown(prefs); err != nil {
		return err
	}
	if err := a.loadTeam(); err != nil {
		return err
	}
	if a.b.lacks(hasAllChannels) == "" {
		if err := a.together(readingOf(a.id, (*api.Client).MyChannels),
			func(ctx context.Context, c *api.Client) error { return allPages(ctx, c, a.id) },
		); err != nil {
			return err
		}
	}
	if err := a.direct(); err != nil {
		return err
	}
	if err := a.c.MyStatus(a, a.id); err != nil {
		return err
	}
	k, ok := a.otherPlace(a.inTeam)
	if !ok {
		return errors.New("mattermost: a user is in no channel of the team")
	}
	if err := a.hook(func(e *Extension) Step { return e.Login }); err != nil {
		return err
	}
	if err := a.enter(k); err != nil {
		return err
	}
	a.measured("page_load", start)
	return nil
}

// reading is a call whose answer the person does not keep.
func reading[T any](f func(*api.Client, context.Context) (T, error)) call {
	return func(ctx context.Context, c *api.Client) error {
		_, err := f(c, ctx)
		return err
	}
}

// readingOf is reading for a call about something.
func readingOf[V, T any](v V, f func(*api.Client, context.Context, V) (T, error)) call {
	return keeping(new(T), v, f)
}

// keeping is a call about something, and stores the answer.
func keeping[V, T any](to *T, v V, f func(*api.Client, context.Context, V) (T, error)) call {
	return func(ctx context.Context, c *api.Client) (err error) {
		*to, err = f(c, ctx, v)
		return err
	}
}

// allPages reads the person's memberships in all teams.
func allPages(ctx context.Context, c *api.Client, id string) error {
	for page := 0; ; page++ {
		if n, err := c.MyChannelMembers(ctx, id, page, pageSize); err != nil || n < pageSize {
			return err
		}
	}
}

// know remembers people whose profiles were read.
func (a *person) know(people []api.Profile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range people {
		a.profiles.add(a.b.dir.profile(api.ParseID(p.ID), p.Username))
	}
}

// getProfiles requests the profiles of these users and remembers them.
func (a *person) getProfiles(ctx context.Context, c *api.Client, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	people, err := c.ProfilesByID(ctx, ids)
	if err != nil {
		return err
	}
	a.know(people)
	return nil
}

// mostGroups bounds the group channels whose members are requested at the start.
const mostGroups = 20

// groupsShown requests the members of the group channels that the person's sidebar shows.
func (a *act) groupsShown(prefs []api.Preference) error {
	var calls []call
	found := make([][]api.Profile, mostGroups)
	for _, p := range prefs {
		if p.Category == "group_channel_show" && p.Value == "true" && len(calls) < mostGroups {
			i := len(calls)
			calls = append(calls, func(ctx context.Context, c *api.Client) (err error) {
				// any text
				found[i], err = c.Users(ctx, 0, 8, "&in_channel="+url.QueryEscape(p.Name))
				return err
			})
		}
	}
	err := a.together(calls...)
	for _, people := range found {
		a.know(people)
	}
	return err
}

// loadTeam requests the channels of the current team and the contents of its sidebar.
func (a *act) loadTeam() error {
	var chs []api.Channel
	calls := []call{
		func(ctx context.Context, c *api.Client) (err error) {
			chs, err = c.TeamChannels(ctx, a.id, a.team, true)
			return err
		},
		func(ctx context.Context, c *api.Client) error {
			_, err := c.TeamChannelMembers(ctx, a.id, a.team)
			return err
		},
		readingOf(a.id, (*api.Client).TeamsUnread),
		func(ctx context.Context, c *api.Client) error {
			_, err := c.Categories(ctx, a.id, a.team)
			return err
		},
		readingOf([]string{a.id}, (*api.Client).Statuses),
	}
	if a.b.lacks(hasScheduled) == "" {
		calls = append(calls, readingOf(a.team, (*api.Client).ScheduledPosts))
	}
	if a.b.lacks(hasThreads) == "" {
		calls = append(calls, func(ctx context.Context, c *api.Client) error {
			return c.ThreadTotals(ctx, a.id, a.team)
		})
	}
	if err := a.together(calls...); err != nil {
		return err
	}
	a.take(chs)
	return nil
}

// These bound what a person remembers of a hostile server, which may list 50,000 teams and channels
// for each of thousands of persons. They take a few hundred KiB, and no user of a real server is in
// as many.
const (
	mostTeams  = 500
	mostPlaces = 5000
)

// takeTeams remembers the person's teams.
func (a *person) takeTeams(ids []string) {
	slices.Sort(ids) // servers order them as they like
	a.teams = slices.Clone(ids[:min(len(ids), mostTeams)])
}

// take makes places of channels that were read, except archived ones. It ends where the person or
// the directory has no room.
func (a *person) take(chs []api.Channel) {
	for _, ch := range chs {
		if len(a.places) >= mostPlaces {
			return
		}
		if ch.Archived {
			continue
		}
		if known := a.b.dir.channel(ch); a.b.dir.known(known.id) != nil {
			a.place(known)
		}
	}
}

// direct requests the profiles and the presence of the other users of the person's direct channels.
func (a *act) direct() error {
	var ids []string
	for _, p := range a.places {
		if p.ch.kind == 'D' {
			if other := otherOf(p.ch.name, a.id); other != "" {
				ids = append(ids, other)
			}
		}
	}
	if err := a.getProfiles(a, a.c, ids); err != nil {
		return err
	}
	return a.getStatuses(ids)
}

// otherOf returns the other of the two users of a direct channel, whose name is both identifiers
// with two underscores between.
func otherOf(name, self string) string {
	x, y, ok := strings.Cut(name, "__")
	switch {
	case !ok || x == y:
		return ""
	case x == self:
		return y
	}
	return x
}

// getStatuses requests the presence of users and remembers that it is known.
func (a *act) getStatuses(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := a.c.Statuses(a, ids); err != nil {
		return err
	}
	for _, id := range ids {
		a.statuses.add(a.b.dir.user(api.ParseID(id)))
	}
	return nil
}

// meet requests the objects that the client lacks to show posts, in the order of the web app: their
// pictures, the presence, the profiles and the portraits of their authors, and the profiles of
// those they mention.
func (a *act) meet(posts []api.Seen) error {
	var pictures []call
	var unseen, unknown, names []string
	var faces, authors []uint32
	a.mu.Lock()
	for _, p := range posts {
		for _, f := range p.Images {
			pictures = append(pictures, func(ctx context.Context, c *api.Client) error {
				return c.Thumbnail(ctx, f.ID.String())
			})
			if f.Preview {
				pictures = append(pictures, func(ctx context.Context, c *api.Client) error {
					return c.Preview(ctx, f.ID.String())
				})
			}
		}
		if n, ok := a.b.dir.named(p.Mention); p.Mention != "" &&
			!(ok && (n == a.self || a.profiles.has(n))) && !slices.Contains(names, p.Mention) {
			names = append(names, p.Mention)
		}
		n := a.b.dir.user(p.UserID)
		if p.UserID.None() || n == a.self || slices.Contains(faces, n) {
			continue
		}
		// Messages of the system have a picture of their own.
		if p.Flags&api.PostSystem == 0 || a.b.set.images == imagesRevalidate {
			faces = append(faces, n)
		}
		if slices.Contains(authors, n) {
			continue
		}
		authors = append(authors, n)
		if !a.statuses.has(n) {
			unseen = append(unseen, p.UserID.String())
		}
		if !a.profiles.has(n) {
			unknown = append(unknown, p.UserID.String())
		}
	}
	a.mu.Unlock()
	if a.b.set.images == imagesOff {
		pictures = nil
	}
	if err := a.together(pictures...); err != nil {
		return err
	}
	if err := a.getStatuses(unseen); err != nil {
		return err
	}
	if err := a.getProfiles(a, a.c, unknown); err != nil {
		return err
	}
	if err := a.portraits(faces); err != nil {
		return err
	}
	if len(names) > 0 {
		people, err := a.c.UsersByName(a, names)
		if err != nil {
			return err
		}
		a.know(people)
	}
	return nil
}

// portraits requests the pictures of users that the person does not have. With the setting images
// revalidate it asks for the others, too, with their tags.
func (a *act) portraits(users []uint32) error {
	if a.b.set.images == imagesOff {
		return nil
	}
	var calls []call
	for _, n := range users {
		have := a.images.has(n)
		if have && a.b.set.images == imagesCache {
			continue
		}
		who := a.b.dir.account(n)
		tag := ""
		if have {
			tag = who.tag
		}
		calls = append(calls, func(ctx context.Context, c *api.Client) error {
			got, _, err := c.UserImage(ctx, who.id.String(), tag)
			if err == nil && got != "" && got != who.tag {
				a.b.dir.tag(n, got)
			}
			return err
		})
		a.images.add(n)
	}
	return a.together(calls...)
}
