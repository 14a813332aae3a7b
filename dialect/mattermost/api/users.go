package api

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"plimsoll/load/wire"
)

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
	opLogout         = newOp("logout", "POST /users/logout")
	opUsers          = newOp("users", "GET /users?page={}&per_page={}")
	opPreferences    = newOp("preferences", "GET /users/{}/preferences", wholeList)
	opSetPreferences = newOp("set_preferences", "PUT /users/{}/preferences")
	opRoles          = newOp("roles", "POST /roles/names", reads)
	opMyStatus       = newOp("my_status", "GET /users/{}/status")
	opUserReport     = newOp("user_report", "GET /reports/users?sort_column=Username&page_size={}")
	opUsersStats     = newOp("users_stats", "GET /users/stats/filtered?include_bots=false")
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
func (c *Client) CreateUser(
	ctx context.Context, username, email, password string,
) (Profile, error) {
	b := object(c.body(), "username", username, "email", email, "password", password)
	return send(ctx, c, opCreateUser, b,
		holding(profile, "a user of another name", func(p Profile) bool {
			return strings.EqualFold(p.Username, username)
		}))
}

// SetPassword changes a user's password, as an administrator.
func (c *Client) SetPassword(ctx context.Context, userID, password string) error {
	return c.do(ctx, opSetPassword, object(c.body(), "new_password", password), done, userID)
}

// UsersByName returns the profiles of the named users that exist.
func (c *Client) UsersByName(ctx context.Context, names []string) ([]Profile, error) {
	asked := holding(profile, "a user of another name", func(p Profile) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return strings.EqualFold(name, p.Username)
		})
	})
	return send(ctx, c, opUsersByName, list(c.body(), names), listOf(asked))
}

// ProfilesByID returns the profiles of the users that exist.
func (c *Client) ProfilesByID(ctx context.Context, ids []string) ([]Profile, error) {
	return c.profilesByID(ctx, ids, "")
}

func (c *Client) profilesByID(ctx context.Context, ids []string, query string) ([]Profile, error) {
	asked := holding(profile, notAsked, func(p Profile) bool { return slices.Contains(ids, p.ID) })
	return send(ctx, c, opUserIDs, list(c.body(), ids), listOf(asked), query)
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
	b := object(c.body(), "username", username, "display_name", username, "description",
		"posts for load tests")
	return send(ctx, c, opCreateBot, b, idIn("user_id"))
}

// CreateToken creates a personal access token of a user or bot.
func (c *Client) CreateToken(ctx context.Context, userID string) (token string, err error) {
	b := object(c.body(), "description", "load test")
	token, err = send(ctx, c, opCreateToken, b, textIn("token", "user_id", userID), userID)
	c.Secrets.Add(token)
	return token, err
}

// Logout ends the session.
func (c *Client) Logout(ctx context.Context) error { return c.do(ctx, opLogout, nil, done) }

// Users returns one page of the server's users; filter is a further part of the query, such as
// "&in_channel=ID".
func (c *Client) Users(ctx context.Context, page, perPage int, filter string) ([]Profile, error) {
	return get(ctx, c, opUsers, profiles, decimal(page), decimal(perPage), filter)
}

// A Preference is a setting of a user.
type Preference struct{ Category, Name, Value string }

// Preferences reads the user's settings.
func (c *Client) Preferences(ctx context.Context, userID string) ([]Preference, error) {
	return get(ctx, c, opPreferences, listOf(func(b []byte) (p Preference, err error) {
		err = fields(b, "category", &p.Category, "name", &p.Name, "value", &p.Value)
		if err == nil {
			// A name may be empty: the theme of all teams has none.
			err = shows(b, "user_id", userID, "category", "")
		}
		return p, err
	}), userID)
}

// SetPreferences stores settings of the user.
func (c *Client) SetPreferences(ctx context.Context, userID string, list ...Preference) error {
	b := array(c.body(), len(list), func(b []byte, i int) []byte {
		p := &list[i]
		return object(
			b,
			"user_id",
			userID,
			"category",
			p.Category,
			"name",
			p.Name,
			"value",
			p.Value,
		)
	})
	return c.do(ctx, opSetPreferences, b, done, userID)
}

// Roles reads the permissions of the named roles and returns how many there are.
func (c *Client) Roles(ctx context.Context, names []string) (int, error) {
	return send(ctx, c, opRoles, list(c.body(), names), func(b []byte) (int, error) {
		got, err := namesIn(b)
		return len(got), among(err, got, names)
	})
}

// MyStatus reads the user's presence.
func (c *Client) MyStatus(ctx context.Context, userID string) error {
	return c.do(ctx, opMyStatus, nil, shown("user_id", userID, "status", ""), userID)
}

// UsersSince returns the profiles of the users that changed after a time, in Unix milliseconds.
func (c *Client) UsersSince(ctx context.Context, ids []string, since int64) ([]Profile, error) {
	return c.profilesByID(ctx, ids, "?since="+millis(since))
}

// UserReport reads one page of the report on all users, by name, behind one of them ("" for the
// first page); before is the number of pages read so far. It is for administrators.
func (c *Client) UserReport(
	ctx context.Context, before int, afterName, afterID string, size int,
) ([]Profile, error) {
	query := ""
	if afterID != "" {
		query = "&from_column_value=" + url.QueryEscape(afterName) + "&from_id=" +
			url.QueryEscape(afterID)
	}
	return get(ctx, c, opUserReport, func(b []byte) ([]Profile, error) {
		page, err := profilesOrNone(b)
		return page, ends(err, before, len(page) >= size)
	}, decimal(size), query)
}

var profilesOrNone = orNone(profiles)

// UsersStats returns how many accounts there are that are not bots; for administrators. The plain
// statistics count bots on some releases.
func (c *Client) UsersStats(ctx context.Context) (n int64, err error) {
	return get(ctx, c, opUsersStats, countIn("total_users_count"))
}
