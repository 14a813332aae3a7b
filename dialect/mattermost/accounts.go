package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// accounts are the accounts of a behavior's users. An account is one of a file, made by Provision,
// or made by its person during the run (a newcomer). With a session it is warm; without one, its
// user logs in with the password. The lists have the users of this process, in one order.
type accounts struct {
	Ranks []int              `json:"ranks"` // of the users; nil: all, by rank
	Total int                `json:"total"` // number of users in all processes, with Ranks
	Rows  []workload.Account `json:"rows"`  // of a file; nil: accounts of our making
	Names []string           `json:"names"` // user names of a file's accounts, in all processes
	IDs   []string           `json:"ids"`   // "" for a newcomer
	// sessions, "" for none; empty for cold logins of accounts of our making
	Tokens []string    `json:"tokens"`
	places map[int]int // by rank, with Ranks
	file   string
}

// ofFile reports whether the accounts come from a file.
func (s *accounts) ofFile() bool { return s.Rows != nil }

// at returns the line of an account in its file, for errors.
func (s *accounts) at(i int) string {
	a := workload.Accounts{File: s.file, Rows: s.Rows}
	return a.At(i)
}

// index returns the place of a user in the lists; ok is false for users of other processes.
func (s *accounts) index(rank int) (i int, ok bool) {
	if s.Ranks == nil {
		return rank, rank < len(s.IDs)
	}
	i, ok = s.places[rank]
	return i, ok
}

// rank returns the rank of the user at a place.
func (s *accounts) rank(i int) int {
	if s.Ranks == nil {
		return i
	}
	return s.Ranks[i]
}

// count returns the number of users in all processes.
func (s *accounts) count() int {
	if s.Ranks == nil {
		return len(s.IDs)
	}
	return s.Total
}

// held returns the session that a user holds before the run or, with cold, the token of a file; ""
// for none.
func (s *accounts) held(rank int, cold bool) string {
	i, ok := s.index(rank)
	switch {
	case !ok:
	case !cold && i < len(s.Tokens):
		return s.Tokens[i]
	case s.ofFile():
		return s.Rows[i].Token
	}
	return ""
}

// present returns the identifiers of the accounts that exist before the run.
func (s *accounts) present() []string {
	return slices.DeleteFunc(slices.Clone(s.IDs), func(id string) bool { return id == "" })
}

// part returns the accounts of some ranks, as far as this process has them, and the names of all:
// they are public, and users look for each other.
func (s *accounts) part(ranks []int) accounts {
	out := accounts{Ranks: []int{}, Total: s.count(), Names: s.Names, file: s.file}
	if s.ofFile() {
		out.Rows = []workload.Account{}
	}
	for _, rank := range ranks {
		i, ok := s.index(rank)
		if !ok {
			continue
		}
		out.Ranks = append(out.Ranks, rank)
		out.IDs = append(out.IDs, s.IDs[i])
		if len(s.Tokens) > 0 {
			out.Tokens = append(out.Tokens, s.Tokens[i])
		}
		if s.ofFile() {
			out.Rows = append(out.Rows, s.Rows[i])
		}
	}
	return out
}

// restored completes accounts of another process, and registers their secrets.
func (s *accounts) restored(env workload.Env) error {
	n := len(s.IDs)
	if s.Ranks != nil && len(s.Ranks) != n || len(s.Tokens) > 0 && len(s.Tokens) != n ||
		s.ofFile() && len(s.Rows) != n {
		return errors.New("state of another process: its lists differ in length")
	}
	s.places = make(map[int]int, len(s.Ranks))
	for i, rank := range s.Ranks {
		s.places[rank] = i
	}
	env.Secrets.Add(s.Tokens...)
	for _, row := range s.Rows {
		env.Secrets.Add(row.Password, row.Token)
	}
	return nil
}

// openSessions opens a session of each account of a file, or tries the one of an earlier call or of
// the file. The administrator logs in before; if there is none, the first account reads in its
// place.
func (s *setup) openSessions(old *accounts, given *workload.Accounts) (accounts, error) {
	if hasAdmin(s.env) {
		if err := s.asAdmin(); err != nil {
			return *old, err
		}
	}
	n := len(given.Rows)
	r := accounts{
		Rows:   given.Rows,
		Names:  make([]string, n),
		IDs:    make([]string, n),
		Tokens: make([]string, n),
		file:   given.File,
	}
	for i := range min(n, len(old.Rows)) {
		if old.Rows[i] == r.Rows[i] {
			r.Names[i] = old.Names[i]
			r.IDs[i] = old.IDs[i]
			r.Tokens[i] = old.Tokens[i]
		}
	}
	if err := s.dropStale(&r); err != nil {
		return accounts{}, err
	}
	var lack []int
	for i := range n {
		if r.Rows[i].Token != "" || r.Tokens[i] != "" || r.IDs[i] == "" {
			lack = append(lack, i)
		}
	}
	s.log("opening sessions of %d accounts of %s", len(lack), given.File)
	err := each(s, lack, func(ctx context.Context, c *api.Client, i int) error {
		defer c.SetToken(s.token)
		return s.identify(ctx, c, &r, i)
	})
	if err != nil {
		return accounts{}, err
	}
	for i, id := range r.IDs {
		if err := given.Claim(i, id); err != nil {
			return accounts{}, err
		}
	}
	if s.token == "" {
		s.token = r.Tokens[0]
		s.admin = r.IDs[0]
		s.member = true
	}
	return r, nil
}

// dropStale forgets the users of accounts without a session, if the first of them is another user
// by now: the server was reset to another state.
func (s *setup) dropStale(r *accounts) error {
	i := 0
	for i < len(r.IDs) && (r.IDs[i] == "" || r.Rows[i].Token != "" || r.Tokens[i] != "") {
		i++
	}
	if i == len(r.IDs) {
		return nil
	}
	was := r.IDs[i]
	r.IDs[i] = ""
	if err := s.with(func(c *api.Client) error { return s.identify(s, c, r, i) }); err != nil {
		return err
	}
	if r.IDs[i] != was {
		clear(r.IDs)
	}
	return nil
}

// identify finds the user of an account by a session.
func (s *setup) identify(ctx context.Context, c *api.Client, r *accounts, i int) error {
	row := r.Rows[i]
	is := func(p api.Profile, token string) {
		r.Names[i] = p.Username
		r.IDs[i] = p.ID
		r.Tokens[i] = token
	}
	if token := cmp.Or(row.Token, r.Tokens[i]); token != "" {
		c.SetToken(token)
		p, err := c.Me(ctx)
		switch {
		case err == nil:
			if row.Token != "" && row.Login != "" && !strings.Contains(row.Login, "@") &&
				!strings.EqualFold(row.Login, p.Username) {
				return fmt.Errorf(
					"%s: the token is that of another account than the login",
					r.at(i),
				)
			}
			is(p, token)
			return nil
		case !unauthorized(err):
			return fmt.Errorf("%s: trying its session: %w", r.at(i), err)
		case row.Token != "":
			return fmt.Errorf("%s: the server does not accept the token: %w", r.at(i), err)
		}
	}
	p, err := c.Login(ctx, row.Login, row.Password)
	if err != nil {
		why := "logging in"
		if unauthorized(err) {
			why = "the server does not accept login and password"
		}
		return fmt.Errorf("%s: %s: %w", r.at(i), why, err)
	}
	is(p, c.Token)
	return nil
}

// closeSessions ends the sessions that were opened with passwords: users of cold logins open their
// own.
func (s *setup) closeSessions(r *accounts) error {
	return s.parallel(len(r.Tokens), func(ctx context.Context, c *api.Client, i int) error {
		if r.Tokens[i] == "" || r.Rows[i].Token != "" {
			return nil
		}
		defer c.SetToken(s.token)
		c.SetToken(r.Tokens[i])
		if err := c.Logout(ctx); err != nil {
			return fmt.Errorf("%s: ending a session: %w", r.at(i), err)
		}
		r.Tokens[i] = ""
		return nil
	})
}

// joinAccounts makes accounts of a file members of the team and of channels: want returns the
// indices of the channels of a rank. Without an administrator it checks that they are members: it
// looks into the channels of each account with its own session. An account without one was looked
// at by the call that ended its session.
func (s *setup) joinAccounts(
	r *accounts, team string, channels []string, want func(rank int) []int,
) error {
	if !s.member {
		return s.join(team, r.IDs, channels, want)
	}
	return s.parallel(len(r.IDs), func(ctx context.Context, c *api.Client, rank int) error {
		if r.Tokens[rank] == "" {
			return nil
		}
		defer c.SetToken(s.token)
		c.SetToken(r.Tokens[rank])
		chs, err := c.TeamChannels(ctx, r.IDs[rank], team, false)
		if err != nil && !missing(err) && !refused(err) {
			return fmt.Errorf("%s: its channels: %w", r.at(rank), err)
		}
		for _, k := range want(rank) {
			if !hasChannel(chs, channels[k]) {
				name := ""
				if len(s.set.existing) == 0 {
					name = channelName(s.set.team, k) + " "
				}
				return fmt.Errorf(
					"%s: the account is no member of channel %s%s, which the settings channel, channels "+
						"and memberships give to it; add it to the channel and its team, %s",
					r.at(rank),
					name,
					channels[k],
					adminRemedy,
				)
			}
		}
		return nil
	})
}

// newcomer reports whether a person makes its account during the run: dealt, so that any stretch of
// persons has the share of the setting sign_up.
func (b *Person) newcomer(rank int) bool {
	return int(float64(rank+1)*b.set.signUp+1e-9) > int(float64(rank)*b.set.signUp+1e-9)
}

// signUp makes a newcomer's account, opens a session, and joins the team and its channels. An
// account that an earlier run has left is used.
func (a *act) signUp() error {
	name := personName(a.b.set.users, a.u.Rank)
	if _, err := a.c.CreateUser(a, name, mailOf(name), a.b.Password); err != nil && !exists(err) {
		return err
	}
	p, err := a.c.Login(a, name, a.b.Password)
	if err != nil {
		return err
	}
	if err := a.c.JoinTeam(a, a.b.Team, p.ID); err != nil {
		return err
	}
	for _, k := range a.b.channelsOf(a.u.Rank) {
		if err := a.c.JoinChannel(a, a.b.Channels[k], p.ID); err != nil {
			return err
		}
	}
	a.is(p)
	return nil
}

// is remembers which account is the person's.
func (a *person) is(p api.Profile) {
	a.id = p.ID
	a.self = a.b.dir.profile(api.ParseID(p.ID), p.Username)
}

// Displaced implements workload.Adopter.
func (b *Person) Displaced() []string { return []string{"users", "user_password", "sign_up"} }

// Displaced implements workload.Adopter.
func (p *Poster) Displaced() []string { return []string{"bot", "bot_token"} }

// Unseen implements workload.Adopter.
func (s *accounts) Unseen(env workload.Env) bool { return env.Cold && !hasAdmin(&env) }

var (
	_ workload.Adopter = (*Person)(nil)
	_ workload.Adopter = (*Poster)(nil)
)
