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

// adminRemedy ends the error of something that only an administrator does.
const adminRemedy = "or give the secret admin_password or admin_token of an administrator, who does it"

// noAdmin is the reason why the server has not what only an administrator uses or makes.
const noAdmin = "no administrator's secret is given"

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

// unauthorized reports whether the server does not accept a token or password.
func unauthorized(err error) bool {
	e, ok := errors.AsType[*api.OpError](err)
	return ok && e.Status == 401
}

// adopt opens a session for each of some accounts, or tries the one that an earlier roster or the row has. Without an
// administrator, the first one stands in for it where any user may read.
func (s *setup) adopt(old *roster, given *workload.Accounts) (*roster, error) {
	n := len(given.Rows)
	r := &roster{Rows: given.Rows, Names: make([]string, n), IDs: make([]string, n), Open: make([]string, n), file: given.File}
	for i := range min(n, old.len()) {
		if old.Rows[i] == r.Rows[i] {
			r.Names[i], r.IDs[i], r.Open[i] = old.Names[i], old.IDs[i], old.Open[i]
		}
	}
	if err := s.recall(r); err != nil {
		return nil, err
	}
	var lack []int
	for i := range n {
		if r.Rows[i].Token != "" || r.Open[i] != "" || r.IDs[i] == "" {
			lack = append(lack, i)
		}
	}
	s.log("opening sessions of %d accounts of %s", len(lack), given.File)
	err := s.parallel(len(lack), func(ctx context.Context, c *api.Client, k int) error {
		defer c.SetToken(s.token)
		return s.open(ctx, c, r, lack[k])
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

// recall forgets what an earlier roster knew of accounts without a session, if the first of them is another user by
// now: the server was reset to another state.
func (s *setup) recall(r *roster) error {
	i := slices.IndexFunc(r.IDs, func(id string) bool { return id != "" })
	for i >= 0 && i < len(r.IDs) && (r.Rows[i].Token != "" || r.Open[i] != "" || r.IDs[i] == "") {
		i++
	}
	if i < 0 || i == len(r.IDs) {
		return nil
	}
	was := r.IDs[i]
	r.IDs[i] = ""
	if err := s.with(func(c *api.Client) error { return s.open(s.ctx, c, r, i) }); err != nil {
		return err
	}
	if r.IDs[i] != was {
		clear(r.IDs)
	}
	return nil
}

// open finds the user of an account by a session.
func (s *setup) open(ctx context.Context, c *api.Client, r *roster, i int) error {
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
	r.Names[i], r.IDs[i], r.Open[i] = p.Username, p.ID, c.Token()
	return nil
}

// leave ends the sessions that were opened with passwords: users of cold logins open their own.
func (s *setup) leave(r *roster) error {
	var opened []int
	for i, token := range r.Open {
		if token != "" && r.Rows[i].Token == "" {
			opened = append(opened, i)
		}
	}
	return s.parallel(len(opened), func(ctx context.Context, c *api.Client, k int) error {
		i := opened[k]
		defer c.SetToken(s.token)
		c.SetToken(r.Open[i])
		if err := c.Logout(ctx); err != nil {
			return fmt.Errorf("%s: ending a session: %w", r.at(i), err)
		}
		r.Open[i] = ""
		return nil
	})
}

// stand lets the first account stand in for an administrator that is not there.
func (s *setup) stand(r *roster) {
	if s.token == "" {
		s.token, s.admin, s.member = r.Open[0], r.IDs[0], true
	}
}

// enter makes accounts members of the team and of channels: want returns the indices of those of a rank. Without an
// administrator it checks that they are.
func (s *setup) enter(r *roster, team string, channels []string, want func(rank int) []int) error {
	if s.member {
		return s.checkMembers(r, team, channels, want)
	}
	if err := s.joinTeam(team, r.IDs); err != nil {
		return err
	}
	of := make([][]string, len(channels))
	for rank, id := range r.IDs {
		for _, k := range want(rank) {
			of[k] = append(of[k], id)
		}
	}
	return s.joinChannels(channels, of)
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

// absent is the error of an object that only an administrator would make.
func (s *setup) absent(err error) error {
	return fmt.Errorf("%w; make it, name others with the settings team and channel, %s", err, adminRemedy)
}

// hasAdmin reports whether an administrator's secret is given.
func hasAdmin(env *workload.Env) bool {
	return secret(env, "admin_token") != "" || secret(env, "admin_password") != ""
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
