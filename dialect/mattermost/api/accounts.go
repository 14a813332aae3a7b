package api

import (
	"context"
	"slices"
	"strings"

	"plimsoll/load/wire"
)

// The ops of this file. Those that only provisioning and logins make are not part of the steady
// state.
var (
	opLogin          = newOp("login", "POST /users/login", setup)
	opMe             = newOp("me", "GET /users/me")
	opCreateUser     = newOp("create_user", "POST /users", setup, created)
	opUsersByName    = newOp("users_by_name", "POST /users/usernames", reads)
	opUserIDs        = newOp("user_ids", "POST /users/ids", reads)
	opStatusIDs      = newOp("status_ids", "POST /users/status/ids", reads)
	opSetPassword    = newOp("set_password", "PUT /users/{}/password", setup)
	opCreateBot      = newOp("create_bot", "POST /bots", setup, created)
	opCreateToken    = newOp("create_token", "POST /users/{}/tokens", setup, mayCreate)
	opTeamByName     = newOp("team_by_name", "GET /teams/name/{}", setup)
	opCreateTeam     = newOp("create_team", "POST /teams", setup, created)
	opMyTeams        = newOp("my_teams", "GET /users/{}/teams")
	opTeamMembers    = newOp("team_members", "GET /teams/{}/members?page={}&per_page={}", setup)
	opAddTeamMembers = newOp("add_team_members", "POST /teams/{}/members/batch", setup, created)
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
	return p, require(err, p.ID != "" && p.Username != "", "no user")
}

var profiles = listOf(profile)

// Login exchanges a password for a session token, which later calls send, and returns the user.
func (c *Client) Login(ctx context.Context, loginID, password string) (p Profile, err error) {
	c.Token = ""
	token := ""
	req := wire.Request{Body: object(c.body(), "login_id", loginID, "password", password)}
	err = c.call(ctx, opLogin, &req, func(resp *wire.Response) (err error) {
		if token = resp.Header.Get("Token"); token == "" {
			return noEffect("no token")
		}
		c.Secrets.Add(token)
		p, err = profile(resp.Body)
		return err
	})
	if err == nil {
		c.Token = token
	}
	return p, err
}

// Me returns the user that the token belongs to.
func (c *Client) Me(ctx context.Context) (Profile, error) { return get(ctx, c, opMe, profile) }

// CreateUser creates an account. On a server without any it becomes the administrator.
func (c *Client) CreateUser(ctx context.Context, username, email, password string) (Profile, error) {
	b := object(c.body(), "username", username, "email", email, "password", password)
	return send(ctx, c, opCreateUser, b, func(b []byte) (Profile, error) {
		p, err := profile(b)
		return p, require(err, strings.EqualFold(p.Username, username), "a user of another name")
	})
}

// SetPassword changes a user's password, as an administrator.
func (c *Client) SetPassword(ctx context.Context, userID, password string) error {
	return c.do(ctx, opSetPassword, object(c.body(), "new_password", password), done, userID)
}

// UsersByName returns those of the named users that exist.
func (c *Client) UsersByName(ctx context.Context, names []string) ([]Profile, error) {
	return send(ctx, c, opUsersByName, list(c.body(), names), func(b []byte) ([]Profile, error) {
		ps, err := profiles(b)
		for _, p := range ps {
			err = require(err, slices.ContainsFunc(names, func(name string) bool {
				return strings.EqualFold(name, p.Username)
			}), "a user of another name")
		}
		return ps, err
	})
}

// ProfilesByID returns those of the users that exist.
func (c *Client) ProfilesByID(ctx context.Context, ids []string) ([]Profile, error) {
	return c.profilesByID(ctx, ids, "")
}

func (c *Client) profilesByID(ctx context.Context, ids []string, query string) ([]Profile, error) {
	return send(ctx, c, opUserIDs, list(c.body(), ids), func(b []byte) ([]Profile, error) {
		ps, err := profiles(b)
		got := make([]string, len(ps))
		for i := range ps {
			got[i] = ps[i].ID
		}
		return ps, among(err, got, ids)
	}, query)
}

// Statuses requests the presence of users and returns how many answers came.
func (c *Client) Statuses(ctx context.Context, ids []string) (int, error) {
	return send(ctx, c, opStatusIDs, list(c.body(), ids), func(b []byte) (int, error) {
		if _, err := listed("status", "")(b); err != nil {
			return 0, err
		}
		got, err := userIDsIn(b)
		return len(got), among(err, got, ids)
	})
}

// CreateBot creates a bot account and returns its user id.
func (c *Client) CreateBot(ctx context.Context, username string) (id string, err error) {
	b := object(c.body(), "username", username, "display_name", username, "description", "posts for load tests")
	return send(ctx, c, opCreateBot, b, idIn("user_id"))
}

// CreateToken creates a personal access token of a user or bot.
func (c *Client) CreateToken(ctx context.Context, userID string) (token string, err error) {
	b := object(c.body(), "description", "load test")
	token, err = send(ctx, c, opCreateToken, b, textIn("token", "user_id", userID), userID)
	c.Secrets.Add(token)
	return token, err
}

// TeamByName returns a team's id.
func (c *Client) TeamByName(ctx context.Context, name string) (id string, err error) {
	return get(ctx, c, opTeamByName, idIn("id"), name)
}

// CreateTeam creates an open team and returns its id.
func (c *Client) CreateTeam(ctx context.Context, name string) (id string, err error) {
	b := object(c.body(), "name", name, "display_name", name, "type", "O")
	b = append(b[:len(b)-1], `,"allow_open_invite":true}`...) // without it users may not join uninvited
	return send(ctx, c, opCreateTeam, b, idIn("id"))
}

// MyTeams returns the ids of the user's teams.
func (c *Client) MyTeams(ctx context.Context, userID string) (ids []string, err error) {
	return get(ctx, c, opMyTeams, idsIn, userID)
}

// TeamMembers returns one page of the user ids of a team.
func (c *Client) TeamMembers(ctx context.Context, teamID string, page, perPage int) (ids []string, err error) {
	return pageOf(ctx, c, opTeamMembers, userIDsIn, teamID, page, perPage)
}

// AddTeamMembers makes users members of a team.
func (c *Client) AddTeamMembers(ctx context.Context, teamID string, userIDs []string) error {
	b := array(c.body(), len(userIDs), func(b []byte, i int) []byte {
		return object(b, "team_id", teamID, "user_id", userIDs[i])
	})
	return c.do(ctx, opAddTeamMembers, b, func(b []byte) error {
		_, err := added(b, userIDs)
		return err
	}, teamID)
}

// added requires all of the users to have become members, and returns how many have.
func added(b []byte, userIDs []string) (int, error) {
	got, err := userIDsIn(b)
	if err == nil && len(got) != len(userIDs) {
		err = noEffect("%d of %d users were added", len(got), len(userIDs))
	}
	return len(got), among(err, got, userIDs)
}
