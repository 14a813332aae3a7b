package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"plimsoll/load/wire"
)

// The ops of this file. Those that only provisioning and logins make are not part of the steady
// state.
var (
	opLogin          = newSetupOp("login")
	opMe             = newOp("me")
	opCreateUser     = newSetupOp("create_user")
	opUsersByName    = newOp("users_by_name")
	opUserIDs        = newOp("user_ids")
	opStatusIDs      = newOp("status_ids")
	opSetPassword    = newSetupOp("set_password")
	opCreateBot      = newSetupOp("create_bot")
	opCreateToken    = newSetupOp("create_token")
	opTeamByName     = newSetupOp("team_by_name")
	opCreateTeam     = newSetupOp("create_team")
	opMyTeams        = newOp("my_teams")
	opTeamMembers    = newSetupOp("team_members")
	opAddTeamMembers = newSetupOp("add_team_members")
)

// A Profile holds the needed fields of a user.
type Profile struct {
	ID, Username, Roles string
	Email               string // "" if the caller may not see it
	Bot                 bool
}

func profile(b []byte) (p Profile, err error) {
	err = eachField(b, func(k, v []byte) (err error) {
		switch string(k) {
		case "id":
			p.ID, err = idText(v)
		case "username":
			p.Username = string(text(v))
		case "email":
			p.Email = string(text(v))
		case "roles":
			p.Roles = string(text(v))
		case "is_bot":
			p.Bot = string(v) == "true"
		}
		return err
	})
	if err == nil && (p.ID == "" || p.Username == "") {
		err = fmt.Errorf("%w: no user", ErrEffect)
	}
	return p, err
}

func profiles(b []byte) (ps []Profile, err error) {
	err = eachElement(b, func(v []byte) error {
		p, err := profile(v)
		ps = append(ps, p)
		return err
	})
	return ps, err
}

// Login exchanges a password for a session token, which later calls send, and returns the user.
func (c *Client) Login(ctx context.Context, loginID, password string) (p Profile, err error) {
	c.token = ""
	token := ""
	err = c.send(ctx, opLogin, "/users/login", func(b []byte) []byte {
		return object(b, "login_id", loginID, "password", password)
	}, func(resp *wire.Response) (err error) {
		if token = resp.Header.Get("Token"); token == "" {
			return fmt.Errorf("%w: no token", ErrEffect)
		}
		c.secrets.Add(token)
		p, err = profile(resp.Body)
		return err
	}, 200)
	if err == nil {
		c.token = token
	}
	return p, err
}

// Token returns the token that calls send.
func (c *Client) Token() string { return c.token }

// Me returns the user that the token belongs to.
func (c *Client) Me(ctx context.Context) (p Profile, err error) {
	err = c.get(ctx, opMe, "/users/me", func(resp *wire.Response) (err error) {
		p, err = profile(resp.Body)
		return err
	})
	return p, err
}

// CreateUser creates an account. On a server without any it becomes the administrator.
func (c *Client) CreateUser(ctx context.Context, username, email, password string) (p Profile, err error) {
	err = c.send(ctx, opCreateUser, "/users", func(b []byte) []byte {
		return object(b, "username", username, "email", email, "password", password)
	}, func(resp *wire.Response) (err error) {
		if p, err = profile(resp.Body); err == nil && !strings.EqualFold(p.Username, username) {
			err = fmt.Errorf("%w: a user of another name", ErrEffect)
		}
		return err
	}, 201)
	return p, err
}

// SetPassword changes a user's password, as an administrator.
func (c *Client) SetPassword(ctx context.Context, userID, password string) error {
	return c.sendAs(ctx, "PUT", opSetPassword, userPath(userID)+"/password", func(b []byte) []byte {
		return object(b, "new_password", password)
	}, done, 200)
}

// UsersByName returns those of the named users that exist.
func (c *Client) UsersByName(ctx context.Context, names []string) (ps []Profile, err error) {
	err = c.ask(ctx, opUsersByName, "/users/usernames", func(b []byte) []byte { return list(b, names) },
		func(resp *wire.Response) (err error) {
			if ps, err = profiles(resp.Body); err != nil {
				return err
			}
			for _, p := range ps {
				if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, p.Username) }) {
					return fmt.Errorf("%w: a user of another name", ErrEffect)
				}
			}
			return nil
		})
	return ps, err
}

// ProfilesByID returns those of the users that exist.
func (c *Client) ProfilesByID(ctx context.Context, ids []string) (ps []Profile, err error) {
	err = c.ask(ctx, opUserIDs, "/users/ids", func(b []byte) []byte { return list(b, ids) }, func(resp *wire.Response) (err error) {
		if ps, err = profiles(resp.Body); err != nil {
			return err
		}
		return among(idsOfProfiles(ps), ids)
	})
	return ps, err
}

// Statuses requests the presence of users and returns how many answers came.
func (c *Client) Statuses(ctx context.Context, ids []string) (n int, err error) {
	var got []string
	err = c.ask(ctx, opStatusIDs, "/users/status/ids", func(b []byte) []byte { return list(b, ids) }, func(resp *wire.Response) error {
		if err := listed(&n, "status", "")(resp); err != nil {
			return err
		}
		if err := idsOf("user_id", &got)(resp); err != nil {
			return err
		}
		return among(got, ids)
	})
	return n, err
}

// CreateBot creates a bot account and returns its user id.
func (c *Client) CreateBot(ctx context.Context, username string) (id string, err error) {
	err = c.send(ctx, opCreateBot, "/bots", func(b []byte) []byte {
		return object(b, "username", username, "display_name", username, "description", "posts for load tests")
	}, idIn("user_id", &id), 201)
	return id, err
}

// CreateToken creates a personal access token of a user or bot.
func (c *Client) CreateToken(ctx context.Context, userID string) (token string, err error) {
	err = c.send(ctx, opCreateToken, "/users/"+url.PathEscape(userID)+"/tokens", func(b []byte) []byte {
		return object(b, "description", "load test")
	}, func(resp *wire.Response) error {
		if err := shows(resp.Body, "user_id", userID); err != nil {
			return err
		}
		return textIn("token", &token)(resp)
	}, 200, 201)
	c.secrets.Add(token)
	return token, err
}

// TeamByName returns a team's id.
func (c *Client) TeamByName(ctx context.Context, name string) (id string, err error) {
	err = c.get(ctx, opTeamByName, "/teams/name/"+url.PathEscape(name), idIn("id", &id))
	return id, err
}

// CreateTeam creates an open team and returns its id.
func (c *Client) CreateTeam(ctx context.Context, name string) (id string, err error) {
	err = c.send(ctx, opCreateTeam, "/teams", func(b []byte) []byte {
		b = object(b, "name", name, "display_name", name, "type", "O")
		return append(b[:len(b)-1], `,"allow_open_invite":true}`...) // without it users may not join uninvited
	}, idIn("id", &id), 201)
	return id, err
}

// MyTeams returns the ids of the user's teams.
func (c *Client) MyTeams(ctx context.Context, userID string) (ids []string, err error) {
	err = c.get(ctx, opMyTeams, "/users/"+url.PathEscape(userID)+"/teams", idsOf("id", &ids))
	return ids, err
}

// TeamMembers returns one page of the user ids of a team.
func (c *Client) TeamMembers(ctx context.Context, teamID string, page, perPage int) (ids []string, err error) {
	err = c.get(ctx, opTeamMembers, fmt.Sprintf("/teams/%s/members?page=%d&per_page=%d", url.PathEscape(teamID), page, perPage), membersOf(page, perPage, &ids))
	return ids, err
}

// AddTeamMembers makes users members of a team.
func (c *Client) AddTeamMembers(ctx context.Context, teamID string, userIDs []string) error {
	var added []string
	return c.send(ctx, opAddTeamMembers, "/teams/"+url.PathEscape(teamID)+"/members/batch", func(b []byte) []byte {
		b = append(b, '[')
		for i, id := range userIDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = object(b, "team_id", teamID, "user_id", id)
		}
		return append(b, ']')
	}, func(resp *wire.Response) error {
		if err := idsOf("user_id", &added)(resp); err != nil {
			return err
		}
		if len(added) != len(userIDs) {
			return fmt.Errorf("%w: %d of %d users were added", ErrEffect, len(added), len(userIDs))
		}
		return among(added, userIDs)
	}, 201)
}
