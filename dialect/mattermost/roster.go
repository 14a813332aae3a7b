package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// A roster holds accounts that were there before, by rank, and what is known of them. It is not changed once it was
// made. A nil *roster is that of a behavior that makes its accounts.
type roster struct {
	Rows  []workload.Account `json:"rows"`
	Names []string           `json:"names"`            // user names
	IDs   []string           `json:"ids"`              // of the users
	Open  []string           `json:"tokens,omitempty"` // sessions; "" if the user opens one with the password
	file  string
}

// at names the place of a row.
func (r *roster) at(rank int) string {
	a := workload.Accounts{File: r.file, Rows: r.Rows}
	return a.At(rank)
}

// openSessions opens a session for each of some accounts, or tries the one that an earlier roster or the row has. Without an
// administrator, the first one stands in for it where any user may read.
func (s *setup) openSessions(old *roster, given *workload.Accounts) (*roster, error) {
	n := len(given.Rows)
	r := &roster{Rows: given.Rows, Names: make([]string, n), IDs: make([]string, n), Open: make([]string, n), file: given.File}
	for i := range min(n, old.len()) {
		if old.Rows[i] == r.Rows[i] {
			r.Names[i], r.IDs[i], r.Open[i] = old.Names[i], old.IDs[i], old.Open[i]
		}
	}
	if err := s.forgetOthers(r); err != nil {
		return nil, err
	}
	var lack []int
	for i := range n {
		if r.Rows[i].Token != "" || r.Open[i] != "" || r.IDs[i] == "" {
			lack = append(lack, i)
		}
	}
	s.log("opening sessions of %d accounts of %s", len(lack), given.File)
	err := each(s, lack, func(ctx context.Context, c *api.Client, i int) error {
		defer c.SetToken(s.token)
		return s.identify(ctx, c, r, i)
	})
	if err != nil {
		return nil, err
	}
	for i, id := range r.IDs {
		if err := given.Claim(i, id); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *roster) len() int {
	if r == nil {
		return 0
	}
	return len(r.Rows)
}

// forgetOthers forgets what an earlier roster knew of accounts without a session, if the first of them is another user by
// now: the server was reset to another state.
func (s *setup) forgetOthers(r *roster) error {
	i := slices.IndexFunc(r.IDs, func(id string) bool { return id != "" })
	for i >= 0 && i < len(r.IDs) && (r.Rows[i].Token != "" || r.Open[i] != "" || r.IDs[i] == "") {
		i++
	}
	if i < 0 || i == len(r.IDs) {
		return nil
	}
	was := r.IDs[i]
	r.IDs[i] = ""
	if err := s.with(func(c *api.Client) error { return s.identify(s.ctx, c, r, i) }); err != nil {
		return err
	}
	if r.IDs[i] != was {
		clear(r.IDs)
	}
	return nil
}

// identify finds the user of an account by a session.
func (s *setup) identify(ctx context.Context, c *api.Client, r *roster, i int) error {
	row := r.Rows[i]
	if token := cmp.Or(row.Token, r.Open[i]); token != "" {
		c.SetToken(token)
		p, err := c.Me(ctx)
		switch {
		case err == nil:
			if row.Token != "" && row.Login != "" && !strings.Contains(row.Login, "@") && !strings.EqualFold(row.Login, p.Username) {
				return fmt.Errorf("%s: the token is that of another account than the login", r.at(i))
			}
			r.Names[i], r.IDs[i], r.Open[i] = p.Username, p.ID, token
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
	r.Names[i], r.IDs[i], r.Open[i] = p.Username, p.ID, c.Token
	return nil
}

// closeSessions ends the sessions that were opened with passwords: users of cold logins open their own.
func (s *setup) closeSessions(r *roster) error {
	var opened []int
	for i, token := range r.Open {
		if token != "" && r.Rows[i].Token == "" {
			opened = append(opened, i)
		}
	}
	return each(s, opened, func(ctx context.Context, c *api.Client, i int) error {
		defer c.SetToken(s.token)
		c.SetToken(r.Open[i])
		if err := c.Logout(ctx); err != nil {
			return fmt.Errorf("%s: ending a session: %w", r.at(i), err)
		}
		r.Open[i] = ""
		return nil
	})
}

// standIn lets the first account stand in for an administrator that is not there.
func (s *setup) standIn(r *roster) {
	if s.token == "" {
		s.token, s.admin, s.member = r.Open[0], r.IDs[0], true
	}
}

// joinRoster makes accounts members of the team and of channels: want returns the indices of those of a rank. Without an
// administrator it checks that they are.
func (s *setup) joinRoster(r *roster, team string, channels []string, want func(rank int) []int) error {
	if s.member {
		return s.checkMembers(r, team, channels, want)
	}
	return s.join(team, r.IDs, channels, want)
}

// checkMembers looks into the channels of each account with its own session. An account without one was looked at by
// the call that ended its session.
func (s *setup) checkMembers(r *roster, team string, channels []string, want func(rank int) []int) error {
	return s.parallel(len(r.IDs), func(ctx context.Context, c *api.Client, rank int) error {
		if r.Open[rank] == "" {
			return nil
		}
		defer c.SetToken(s.token)
		c.SetToken(r.Open[rank])
		chs, err := c.TeamChannels(ctx, r.IDs[rank], team, false)
		if err != nil && !missing(err) && !refused(err) {
			return fmt.Errorf("%s: its channels: %w", r.at(rank), err)
		}
		for _, k := range want(rank) {
			if !slices.ContainsFunc(chs, func(ch api.Channel) bool { return ch.ID == channels[k] }) {
				return fmt.Errorf("%s: the account is no member of channel %s%s, which the settings channel, channels and memberships give to it; add it to the channel and its team, %s",
					r.at(rank), s.channelName(k), channels[k], adminRemedy)
			}
		}
		return nil
	})
}

// channelName returns the name of a channel that is not named by its identifier, with a space.
func (s *setup) channelName(k int) string {
	if len(s.set.existing) > 0 {
		return ""
	}
	return fmt.Sprintf("%s-%03d ", s.set.team, k)
}

// Displaced implements workload.Adopter.
func (b *Person) Displaced() []string { return []string{"users", "user_password", "sign_up"} }

// Displaced implements workload.Adopter.
func (p *Poster) Displaced() []string { return []string{"bot", "bot_token"} }

var (
	_ workload.Adopter = (*Person)(nil)
	_ workload.Adopter = (*Poster)(nil)
)

// Unseen implements workload.Adopter.
func (b *Person) Unseen(env workload.Env) bool { return unseen(&env) }

// Unseen implements workload.Adopter.
func (p *Poster) Unseen(env workload.Env) bool { return unseen(&env) }

// unseen reports whether sessions of passwords are ended after the first look at the accounts, and no administrator can
// look again.
func unseen(env *workload.Env) bool { return env.Cold && !hasAdmin(env) }
