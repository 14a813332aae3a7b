package mattermost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const (
	provisionWorkers = 8                // requests at a time
	provisionTimeout = 60 * time.Second // of one request, if the plan's is shorter: a full server is not under test yet
	namesPerRequest  = 100
	joinsPerRequest  = 20
	pageSize         = 200
)

// setup is the state of one Provision.
type setup struct {
	ctx   context.Context // of one Provision, which this does not outlive
	env   *workload.Env
	set   settings
	token string // of the administrator, and
	admin string // its id
	// member is true if that is only a user of [workload.Env.Accounts], who makes nothing.
	member   bool
	table    *api.Table
	rec      api.Recorder
	call     time.Duration // of one request
	clock    *clock.Clock  // in whose time it counts; nil for real time
	patience *api.Patience // waits where a rate limit refuses a call; nil: the call fails
}

// setupRecorder records provisioning, in which every op is due when it is sent.
type setupRecorder struct {
	rec   *measure.Recorder
	epoch time.Time
}

// Begin implements Recorder: no phase has begun.
func (r setupRecorder) Begin(measure.Name) {}

// Done implements Recorder.
func (r setupRecorder) Done(n measure.Name, _, sent, done time.Time, class measure.Class, bytes int64) time.Duration {
	at := sent.Sub(r.epoch)
	r.rec.Record(n, &measure.Op{Intended: at, Due: at, Sent: at, Done: done.Sub(r.epoch), Class: class, Bytes: bytes})
	return at
}

func newSetup(ctx context.Context, env *workload.Env, set settings) *setup {
	reg := env.Registry
	if reg == nil {
		reg = measure.NewRegistry(1) // not recorded
	}
	return &setup{
		ctx: ctx, env: env, set: set, table: api.NewTable(reg, workload.Setup),
		rec: setupRecorder{reg.Recorder(0), time.Now()}, call: max(env.Timeout, provisionTimeout),
	}
}

func (s *setup) log(format string, args ...any) {
	if s.env.Log != nil {
		s.env.Log(format, args...)
	}
}

// patient makes the calls wait where a rate limit refuses them; heldUp ends it.
func (s *setup) patient() { s.patience = &api.Patience{Log: s.env.Log} }

// heldUp reports for how long a rate limit held the calls up, if one did.
func (s *setup) heldUp() {
	if held, refused := s.patience.Held(); refused > 0 {
		s.log("a rate limit held the preparation up for %.1f s: %d calls were refused, and repeated", held.Seconds(), refused)
	}
}

func (s *setup) client(token string) (*api.Client, error) {
	return api.NewClient(api.ClientConfig{
		URL: s.env.URL, HTTP2: s.env.HTTP2, Token: token, Timeout: s.call, Clock: s.clock, Recorder: s.rec, Table: s.table, Secrets: s.env.Secrets,
		Patience: s.patience,
	})
}

// with runs f with a client of the administrator.
func (s *setup) with(f func(c *api.Client) error) error {
	c, err := s.client(s.token)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// parallel calls f for 0 to n-1, a few at a time, each caller with its own client. It stops at the first error.
func (s *setup) parallel(n int, f func(ctx context.Context, c *api.Client, i int) error) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	var mu sync.Mutex
	next := 0
	take := func() int { mu.Lock(); defer mu.Unlock(); next++; return next - 1 }
	var wg sync.WaitGroup
	for range min(n, provisionWorkers) {
		wg.Go(func() {
			c, err := s.client(s.token)
			if err != nil {
				cancel(err)
				return
			}
			defer c.Close()
			for i := take(); i < n && ctx.Err() == nil; i = take() {
				if err := boundary.Do("preparing the server", func() error { return f(ctx, c, i) }); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// missing reports whether err means, as on the real server, that an object does not exist.
func missing(err error) bool {
	e, ok := errors.AsType[*api.OpError](err)
	return ok && e.Status == 404
}

// exists reports whether err means that an object exists already: another process was faster.
func exists(err error) bool {
	e, ok := errors.AsType[*api.OpError](err)
	return ok && (e.Status == 400 || e.Status == 409) && strings.Contains(e.Code, "exist")
}

// asAdmin obtains the administrator's token; on a server without accounts it creates the administrator.
func (s *setup) asAdmin() error {
	token, password := secret(s.env, "admin_token"), secret(s.env, "admin_password")
	if token == "" && password == "" {
		return errors.New("provisioning needs an administrator: give the secret admin_password (or admin_token)")
	}
	c, err := s.client(token)
	if err != nil {
		return err
	}
	defer c.Close()
	var p api.Profile
	if token != "" {
		p, err = c.Me(s.ctx)
	} else {
		p, err = c.Login(s.ctx, s.set.admin, password)
		if e, ok := errors.AsType[*api.OpError](err); ok && e.Status == 401 {
			// On a server that has accounts it would be an ordinary one, which nobody asked for.
			if config, cerr := c.ClientConfig(s.ctx); cerr == nil && config["NoAccounts"] == "false" {
				return fmt.Errorf("logging in as administrator %s: %w; give its password, or name another with the setting admin: the server has accounts, so none is made", s.set.admin, err)
			}
			// An account that is there, and whose password differs, makes this fail too.
			if _, cerr := c.CreateUser(s.ctx, s.set.admin, mailOf(s.set.admin), password); cerr != nil {
				return fmt.Errorf("logging in as administrator %s: %w; creating it: %w", s.set.admin, err, cerr)
			}
			s.log("created the administrator %s", s.set.admin)
			p, err = c.Login(s.ctx, s.set.admin, password)
		}
	}
	if err != nil {
		return fmt.Errorf("logging in as administrator %s: %w", s.set.admin, err)
	}
	if !slices.Contains(strings.Fields(p.Roles), "system_admin") {
		return fmt.Errorf("user %s is not an administrator of the server; make it one, or name another with the setting admin", p.Username)
	}
	s.token, s.admin = c.Token(), p.ID
	return nil
}

// place finds or creates the team and the channels.
func (s *setup) place() (team string, channels []string, err error) {
	if len(s.set.existing) > 0 {
		err := s.with(func(c *api.Client) error {
			for _, ch := range s.set.existing {
				in, err := c.Channel(s.ctx, ch)
				if err != nil && s.member && (missing(err) || refused(err)) {
					return s.absent(fmt.Errorf("channel %s: %w", ch, err))
				}
				if err != nil {
					return fmt.Errorf("channel %s: %w", ch, err)
				}
				t := in.TeamID
				if team != "" && t != team {
					return errors.New("the channels of setting channel belong to several teams; name those of one")
				}
				team = t
			}
			return nil
		})
		return team, s.set.existing, err
	}
	if team, err = s.team(s.set.team); err != nil {
		return "", nil, fmt.Errorf("team %s: %w", s.set.team, err)
	}
	channels, err = s.makeChannels(team, s.set.team, s.set.channels)
	return team, channels, err
}

// team finds or creates a team.
func (s *setup) team(name string) (id string, err error) {
	err = s.with(func(c *api.Client) error {
		id, err = c.TeamByName(s.ctx, name)
		if s.member {
			if missing(err) || refused(err) {
				err = s.absent(err)
			}
			return err
		}
		if missing(err) {
			if id, err = c.CreateTeam(s.ctx, name); exists(err) {
				id, err = c.TeamByName(s.ctx, name)
			}
			return err
		}
		if err != nil {
			return err
		}
		// It was there: who makes channels in it, and so becomes their member, must be in the team.
		if _, err = c.TeamMember(s.ctx, id, s.admin); missing(err) {
			err = c.AddTeamMembers(s.ctx, id, []string{s.admin})
		}
		return err
	})
	return id, err
}

// makeChannels finds or creates open channels named PREFIX-000, PREFIX-001, ...
func (s *setup) makeChannels(team, prefix string, n int) ([]string, error) {
	channels := make([]string, n)
	err := s.parallel(n, func(ctx context.Context, c *api.Client, i int) (err error) {
		name := fmt.Sprintf("%s-%03d", prefix, i)
		channels[i], err = c.ChannelByName(ctx, team, name)
		if s.member && (missing(err) || refused(err)) {
			return fmt.Errorf("channel %s: %w", name, s.absent(err))
		}
		if missing(err) {
			var made api.Channel
			if made, err = c.MakeChannel(ctx, team, name, "O"); exists(err) {
				made.ID, err = c.ChannelByName(ctx, team, name)
			}
			channels[i] = made.ID
		}
		if err != nil {
			return fmt.Errorf("channel %s: %w", name, err)
		}
		return nil
	})
	return channels, err
}

// accounts finds or creates users by name and returns their ids, in the order of the names.
func (s *setup) accounts(names []string, password string) ([]string, error) {
	ids := make([]string, len(names))
	batches := (len(names) + namesPerRequest - 1) / namesPerRequest
	err := s.parallel(batches, func(ctx context.Context, c *api.Client, k int) error {
		from := k * namesPerRequest
		found, err := c.UsersByName(ctx, names[from:min(from+namesPerRequest, len(names))])
		if err != nil {
			return fmt.Errorf("looking for users: %w", err)
		}
		byName := map[string]string{}
		for _, p := range found {
			byName[p.Username] = p.ID
		}
		for i := from; i < min(from+namesPerRequest, len(names)); i++ {
			ids[i] = byName[names[i]]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var lack []int
	for i, id := range ids {
		if id == "" {
			lack = append(lack, i)
		}
	}
	if len(lack) > 0 {
		s.log("creating %d users", len(lack))
	}
	err = s.parallel(len(lack), func(ctx context.Context, c *api.Client, k int) error {
		i := lack[k]
		p, err := c.CreateUser(ctx, names[i], mailOf(names[i]), password)
		if err != nil {
			return fmt.Errorf("creating user %s: %w", names[i], err)
		}
		ids[i] = p.ID
		return nil
	})
	return ids, err
}

// enterAs opens a session of an account that is there. One of our making whose password is another, because it is of a
// run with another secret, gets this password.
func (s *setup) enterAs(ctx context.Context, c *api.Client, name, password string) error {
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

// mailOf is the e-mail address of an account that is made here. Nobody else has one of that domain.
func mailOf(name string) string { return name + "@example.com" }

// membersAmong returns which of some users are in a paged list, however long that is: it keeps no others.
func membersAmong(users []string, list func(page int) ([]string, error)) (map[string]bool, error) {
	wanted, found := make(map[string]bool, len(users)), map[string]bool{}
	for _, id := range users {
		wanted[id] = true
	}
	first := ""
	for page := 0; ; page++ {
		ids, err := list(page)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if wanted[id] {
				found[id] = true
			}
		}
		// The last page, all names found, or a server that ignores the page number.
		if len(ids) < pageSize || len(found) == len(wanted) || page > 0 && ids[0] == first {
			return found, nil
		}
		if page == 0 {
			first = ids[0]
		}
	}
}

// joinTeam makes users members of the team.
func (s *setup) joinTeam(team string, users []string) error {
	var members map[string]bool
	err := s.with(func(c *api.Client) (err error) {
		members, err = membersAmong(users, func(page int) ([]string, error) { return c.TeamMembers(s.ctx, team, page, pageSize) })
		return err
	})
	if err != nil {
		return fmt.Errorf("members of team %s: %w", s.set.team, err)
	}
	var lack []string
	for _, id := range users {
		if !members[id] {
			lack = append(lack, id)
		}
	}
	batches := (len(lack) + joinsPerRequest - 1) / joinsPerRequest
	return s.parallel(batches, func(ctx context.Context, c *api.Client, k int) error {
		from := k * joinsPerRequest
		if err := c.AddTeamMembers(ctx, team, lack[from:min(from+joinsPerRequest, len(lack))]); err != nil {
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
	err := s.parallel(len(channels), func(ctx context.Context, c *api.Client, i int) error {
		members, err := membersAmong(want[i], func(page int) ([]string, error) { return c.ChannelMembers(ctx, channels[i], page, pageSize) })
		if err != nil {
			return fmt.Errorf("members of channel %s: %w", channels[i], err)
		}
		for _, user := range want[i] {
			if !members[user] {
				lists[i] = append(lists[i], user)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var batches []batch
	for i, users := range lists {
		for from := 0; from < len(users); from += joinsPerRequest {
			batches = append(batches, batch{channels[i], users[from:min(from+joinsPerRequest, len(users))]})
		}
	}
	return s.parallel(len(batches), func(ctx context.Context, c *api.Client, k int) error {
		for users := batches[k].users; len(users) > 0; {
			n, err := c.JoinChannelAll(ctx, batches[k].channel, users)
			if err != nil {
				return fmt.Errorf("adding users to channel %s: %w", batches[k].channel, err)
			}
			users = users[n:]
		}
		return nil
	})
}

// bot finds or creates the bot and returns its id and a token.
func (s *setup) bot() (id, token string, err error) {
	err = s.with(func(c *api.Client) error {
		found, err := c.UsersByName(s.ctx, []string{s.set.bot})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if id, err = c.CreateBot(s.ctx, s.set.bot); err != nil {
				return err
			}
		} else if id = found[0].ID; !found[0].Bot {
			return errors.New("there is a user of that name who is not a bot; name another with the setting bot")
		}
		token, err = c.CreateToken(s.ctx, id)
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("bot %s: %w", s.set.bot, err)
	}
	return id, token, nil
}

// attributeName is the custom profile attribute that is used or created.
const attributeName = "load_test"

// attribute finds or creates the custom profile attribute and returns its id, "" if it is not there and no
// administrator who could create it.
func (s *setup) attribute() (id string, err error) {
	err = s.with(func(c *api.Client) error {
		fields, err := c.AttributeFields(s.ctx)
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
		f, err := c.CreateAttributeField(s.ctx, attributeName)
		id = f.ID
		return err
	})
	return id, err
}

// valid reports whether a token obtained earlier still opens a session: false after a reset to a state before it.
func (s *setup) valid(token string) (bool, error) {
	c, err := s.client(token)
	if err != nil {
		return false, err
	}
	defer c.Close()
	_, err = c.Me(s.ctx)
	if e, ok := errors.AsType[*api.OpError](err); ok && e.Status == 401 {
		return false, nil
	}
	return err == nil, err
}
