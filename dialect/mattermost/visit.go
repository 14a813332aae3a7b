package mattermost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// wants names the secrets of an administrator unless the users have accounts, or a bot of their own
// in channels that exist.
func wants(env workload.Env, behaviors []string) (secrets []string, why string) {
	if env.Accounts != nil || hasAdmin(&env) || onlyBot(&env, behaviors) {
		return nil, ""
	}
	return []string{"admin_password", "admin_token"},
		"an administrator makes the team, the channels and the users' accounts"
}

// onlyBot reports whether all users post with a bot that is there, into channels that are there.
func onlyBot(env *workload.Env, behaviors []string) bool {
	return !slices.ContainsFunc(behaviors, func(name string) bool { return name != Posting }) &&
		secret(env, "bot_token") != "" && env.Params["channel"] != ""
}

// A visitor is at a server before a run.
type visitor struct {
	*setup
	dialect.Visit
	known facts
	c     *api.Client // of the account that was logged in last
	who   api.Profile // its profile
}

// logoutTime bounds the end of a session that a visit opened, also when its time is over.
const logoutTime = time.Second

// inspect implements [dialect.Dialect.Visit].
func inspect(ctx context.Context, of dialect.Visit) {
	set, err := parse(of.Env.Params, of.Env.Mix)
	if err != nil {
		of.Log.Problem("workload.params", "%v", err)
		return
	}
	v := &visitor{setup: newSetup(ctx, &of.Env, set), Visit: of}
	v.call = of.Env.Timeout
	if v.c, err = v.client(""); err != nil {
		of.Log.Problem("target.url", "%v", err)
		return
	}
	defer v.c.Close()
	of.Log.Doing("the version of the server at " + of.Env.URL)
	if v.known, err = describe(ctx, v.c); err != nil {
		of.Log.Problem("target.url", "%s does not answer as %s: %v", of.Env.URL, title, err)
		return
	}
	for _, way := range v.ways() {
		of.Log.Doing("the login at " + of.Env.URL)
		leave, ok := v.enter(way)
		if !ok {
			continue
		}
		v.lookAround(way)
		leave()
	}
}

// A way opens a session before a run.
type way struct {
	path        string // in the plan, of what opens it
	name        string // of the account, for people
	login       string
	password    string
	token       string
	admin, user bool // an administrator's; one of a simulated user
}

// ways returns the ways of the first account of a file, the posters' bot and the administrator, as
// far as they are given.
func (v *visitor) ways() (out []way) {
	if a := v.Env.Accounts; a != nil && len(a.Rows) > 0 {
		row := a.Rows[0]
		out = append(out, way{path: "workload.users_file", name: "the account of " + a.At(0),
			login: row.Login, password: row.Password, token: row.Token, user: true})
	}
	if token := secret(&v.Env, "bot_token"); token != "" && v.Users[Posting] > 0 {
		out = append(out, way{path: "workload.params.bot_token", name: "the bot", token: token})
	}
	const admin = "the administrator"
	if token := secret(&v.Env, "admin_token"); token != "" {
		return append(out, way{path: "workload.params.admin_token", name: admin, token: token,
			admin: true})
	}
	if password := secret(&v.Env, "admin_password"); password != "" {
		out = append(out, way{
			path:     "workload.params.admin_password",
			name:     admin + " " + v.set.admin,
			login:    v.set.admin,
			password: password,
			admin:    true,
		})
	}
	return out
}

// enter opens a session, which leave ends. It reports false where there is none to look around
// with.
func (v *visitor) enter(w way) (leave func(), ok bool) {
	leave = func() {}
	v.c.SetToken(w.token)
	var err error
	if w.token != "" {
		v.who, err = v.c.Me(v)
	} else {
		v.who, err = v.c.Login(v, w.login, w.password)
		leave = func() { // the session, too, is gone
			ctx, cancel := context.WithTimeout(context.WithoutCancel(v), logoutTime)
			defer cancel()
			_ = v.c.Logout(ctx) // one that stays ends by itself
		}
	}
	switch {
	case err == nil && w.admin && !slices.Contains(strings.Fields(v.who.Roles), "system_admin"):
		v.Log.Problem(w.path, "user %s is not an administrator of the server; make it one, "+
			"or name another with the setting admin", v.who.Username)
		leave()
		return nil, false
	case err == nil:
		return leave, true
	case w.admin && unauthorized(err) && w.token == "" && v.known.Config["NoAccounts"] != "false":
		return nil, false // a server without accounts: the run creates the administrator
	case unauthorized(err):
		v.Log.Problem(
			w.path,
			"the server at %s does not let %s in: %v; give another password or token%s",
			v.Env.URL,
			w.name,
			err,
			map[bool]string{true: ", or name another administrator with the setting admin"}[w.admin],
		)
	default:
		v.Log.Problem(w.path, "logging %s in at %s: %v", w.name, v.Env.URL, err)
	}
	return nil, false
}

// lookAround does with the session what a run does first.
func (v *visitor) lookAround(w way) {
	v.token = v.c.Token
	v.admin = v.who.ID
	v.member = !w.admin
	if v.Users[living] > 0 && !(w.admin && v.Env.Accounts != nil) { // once
		v.Log.Doing("the WebSocket of " + v.Env.URL)
		if sock, err := v.c.Connect(v); err != nil {
			v.Log.Problem("target.url",
				"users of the behavior %s need a WebSocket, and that of %s is not to be had: %v",
				living, v.Env.URL, err)
		} else {
			sock.Release()
			sock.Close()
		}
	}
	v.Log.Doing("a call to " + v.Env.URL)
	if err := v.act(w); err != nil {
		v.Log.Problem("workload", "reading as %s from %s: %v", w.name, v.Env.URL, err)
	}
	if w.admin {
		v.Log.Doing("the settings of the server at " + v.Env.URL)
		v.settle()
	}
}

// act makes a call that reads: the first of the channels that the plan names, or its team.
func (v *visitor) act(w way) error {
	if len(v.set.existing) > 0 {
		_, err := v.c.Channel(v, v.set.existing[0])
		if err != nil {
			err = fmt.Errorf("channel %s: %w", v.set.existing[0], err)
		}
		return err
	}
	_, err := v.c.TeamByName(v, v.set.team)
	switch {
	case missing(err) && (w.admin || hasAdmin(&v.Env)):
		return nil // it is made
	case w.user && !hasAdmin(&v.Env) && (missing(err) || refused(err)):
		return v.absent(fmt.Errorf("team %s: %w", v.set.team, err))
	case refused(err):
		return nil // an administrator makes the account a member
	}
	return err
}

// settle reports the settings of the server that stop a run of the plan's users.
func (v *visitor) settle() {
	persons := v.Users[living]
	list, err := v.obstacles(persons)
	if err != nil {
		if status(err) == 0 {
			v.Log.Caution(
				"target",
				"the settings of the server at %s were not read: %v",
				v.Env.URL,
				err,
			)
		}
		return
	}
	for _, o := range list {
		stops := o.Stops
		switch o.Setting {
		case userLimit:
			stops = v.Env.Accounts == nil && !v.there(persons)
		case botCreation:
			stops = v.Users[Posting] > 0 && v.Env.Accounts == nil &&
				secret(&v.Env, "bot_token") == ""
		}
		switch {
		case stops:
			v.Log.Problem("target", "the server's %v", o)
		case o.Setting == siteURL:
			v.Log.Caution("target.url", "the server's %v", o)
		case o.Setting == webhooks && v.Env.Weights["post_webhook"] > 0,
			o.Setting == commands && v.Env.Weights["run_command"] > 0,
			o.Setting == botCreation && v.Env.Weights["ask_bot"] > 0:
			v.Log.Caution("workload.weights", "the server's %v", o)
		}
	}
}

// there reports whether an earlier run made the account of the last of some persons: then all have
// one.
func (v *visitor) there(persons int) bool {
	found, err := v.c.UsersByName(v, []string{personName(v.set.users, max(persons-1, 0))})
	return err == nil && len(found) > 0
}
