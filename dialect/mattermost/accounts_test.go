package mattermost

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// rows returns accounts of a server: four persons of an earlier test, the last two with tokens, and
// a stranger, who is in no team. The environment has no administrator.
func rows(t *testing.T) (h handed) {
	t.Helper()
	var env, admin workload.Env
	var given *workload.Accounts
	var stranger workload.Account
	url, password := server(t)
	admin = contractEnv(url, password)
	before := &Person{}
	noError(t, before.Provision(t.Context(), admin, 4))
	given = &workload.Accounts{File: "users.csv"}
	s := newSetup(t.Context(), &admin, before.set)
	noError(t, s.asAdmin())
	c, err := s.client(s.token)
	noError(t, err)
	defer c.Close()
	for rank := range 4 {
		a := workload.Account{Login: before.name(rank), Password: before.Password, Line: rank + 2}
		if rank == 1 {
			a.Login += "@example.com"
		}
		if rank > 1 {
			if a.Token, err = c.CreateToken(t.Context(), before.IDs[rank]); err != nil {
				t.Fatal(err)
			}
			a.Password = ""
		}
		given.Rows = append(given.Rows, a)
	}
	stranger = workload.Account{
		Login:    before.set.team + "-stranger",
		Password: "Stranger-1",
		Line:     6,
	}
	if _, err := c.CreateUser(t.Context(), stranger.Login, "stranger@example.com",
		stranger.Password); err != nil {
		t.Fatal(err)
	}
	env = contractEnv(url, "")
	env.Params = admin.Params
	return handed{env, admin, given, stranger}
}

// handed are the accounts that a server has, and the environments of a test without and with an
// administrator.
type handed struct {
	env, admin workload.Env
	given      *workload.Accounts
	stranger   workload.Account
}

// with returns an environment with other accounts, and a registry of its own.
func with(env workload.Env, a *workload.Accounts, more ...workload.Account) workload.Env {
	env.Accounts = &workload.Accounts{File: a.File, Rows: slices.Concat(a.Rows, more)}
	env.Registry = measure.NewRegistry(1)
	return env
}

// live logs users of a behavior in and lets each act once.
func live(t *testing.T, b workload.Behavior, env workload.Env, n int) (actors []workload.Actor) {
	t.Helper()
	for rank := range n {
		u := userOf(env, rank)
		a := newActor(t, b, env, u)
		t.Cleanup(a.Close)
		noError(t, errors.Join(a.Login(t.Context()), a.Act(t.Context())))
		actors = append(actors, a)
	}
	return actors
}

// Users have the accounts of a file, with passwords and with tokens, on a system whose
// administrator is not known. No account is made, and no token is exchanged.
func TestAccountsOfAFile(t *testing.T) {
	h := rows(t)
	t.Run("persons", h.persons)
	t.Run("refused", h.refused)
	t.Run("posters", h.posters)
	t.Run("logout", h.logout)
	t.Run("reset", h.reset)
}

func (h handed) persons(t *testing.T) {
	env := h.env
	given := h.given
	for _, cold := range []bool{false, true} {
		env := with(env, given)
		env.Cold = cold
		b := &Person{}
		restored := &Person{}
		for range 2 { // the second call finds all done
			noError(t, b.Provision(t.Context(), env, 4))
		}
		logins := uint64(2)
		if cold { // each call tries one of them again
			logins++
		}
		if got := counts(t, env.Registry); got["setup_login"] != logins ||
			got["setup_create_user"]+got["setup_add_team_members"]+got["setup_create_team"] > 0 {
			t.Errorf("cold %v: provisioning made %v", cold, got)
		}
		state, err := b.State(nil)
		noError(t, err)
		noError(t, restored.Restore(env, state))
		for _, p := range []*Person{b, restored} {
			for rank, a := range live(t, p, env, 4) {
				if name := strings.TrimSuffix(given.Rows[rank].Login,
					"@example.com"); a.(*person).id != b.IDs[rank] || p.name(rank) != name ||
					len(a.(*person).places) < 2 {
					t.Errorf(
						"cold %v: person %d is %s, want %s, in %d channels",
						cold,
						rank,
						p.name(rank),
						name,
						len(a.(*person).places),
					)
				}
			}
		}
		if got := counts(t, env.Registry); got["login"] != uint64(b2i(cold)*2*2) {
			t.Errorf(
				"cold %v: %d logins in two processes with two passwords each",
				cold,
				got["login"],
			)
		}
		if lack := b.lacks(hasReports); !strings.Contains(lack, noAdmin) &&
			b.Version.String() >= "9.5" {
			t.Errorf("reports without an administrator: %q", lack)
		}
	}

}

func (h handed) refused(t *testing.T) {
	env := h.env
	admin := h.admin
	given := h.given
	stranger := h.stranger
	refuses := func(name string, env workload.Env, want ...string) {
		t.Helper()
		for _, b := range []workload.Behavior{&Person{}, &Poster{}} {
			err := b.Provision(t.Context(), env, len(env.Accounts.Rows))
			if err == nil {
				t.Errorf("%s: %T takes it", name, b)
				continue
			}
			for _, w := range want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %v, want %q", name, err, w)
				}
			}
			for _, a := range env.Accounts.Rows {
				if a.Token != "" && strings.Contains(err.Error(), a.Token) ||
					a.Password != "" && strings.Contains(err.Error(), a.Password) {
					t.Errorf("%s: the error shows a secret: %v", name, err)
				}
			}
		}
	}
	refuses("a stranger", with(env, given, stranger),
		"users.csv:6: the account is no member of channel", "admin_password")
	refuses("a password", with(env, given,
		workload.Account{Login: stranger.Login, Password: "Another-1", Line: 9}),
		"users.csv:9: the server does not accept login and password")
	refuses("a token", with(env, given,
		workload.Account{Token: "o1234567890123456789012345", Line: 10}),
		"users.csv:10: the server does not accept the token")
	refuses("a login beside a token",
		with(env, &workload.Accounts{File: "users.csv"},
			workload.Account{Login: "another", Token: given.Rows[3].Token, Line: 3}),
		"users.csv:3: the token is that of another account")
	twice := workload.Account{Login: strings.TrimSuffix(given.Rows[1].Login, "@example.com"),
		Password: given.Rows[1].Password, Line: 11}
	refuses("an account twice", with(env, given, twice), "this is the account of")
	// So it is if the two are dealt to different behaviors.
	both := workload.Accounts{File: "users.csv", Rows: []workload.Account{given.Rows[1], twice}}
	dealt := both.Deal(2, 0.5, 0.5)
	behaviors := []workload.Behavior{&Person{}, &Poster{}}
	for round := range 2 { // a second time all of it is known
		for k, b := range behaviors {
			one := with(env, given)
			one.Accounts = dealt[k]
			err := b.Provision(t.Context(), one, 1)
			if k == 0 && err != nil || k == 1 &&
				(err == nil || !strings.Contains(err.Error(), "users.csv:3") ||
					!strings.Contains(err.Error(), "users.csv:11")) {
				t.Errorf("round %d: one account for a %T: %v", round, b, err)
			}
		}
	}
	elsewhere := with(env, given)
	elsewhere.Params = map[string]string{"team": "nowhere"}
	refuses("a team that is not there", elsewhere, "team nowhere", "admin_password")
	elsewhere.Params = map[string]string{"team": env.Params["team"], "channels": "3",
		"memberships": "3"}
	refuses("a channel that is not there", elsewhere, "channel "+env.Params["team"]+"-002",
		"admin_password")

	// An administrator makes the stranger a member.
	b := &Person{}
	full := with(admin, given, stranger)
	noError(t, b.Provision(t.Context(), full, 5))
	live(t, b, full, 5)
	if got := counts(t, full.Registry); got["setup_create_user"] > 0 ||
		got["setup_add_team_members"] == 0 {
		t.Errorf("an administrator's provisioning made %v", got)
	}
}

// reset: sessions that a reset has ended are opened again, tokens are used again.
func (h handed) reset(t *testing.T) {
	env := with(h.env, h.given)
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 4))
	was := slices.Clone(b.Tokens)
	c, err := api.NewClient(api.Options{URL: env.URL, Token: was[0], Timeout: 10 * time.Second,
		Recorder: setupRecorder{env.Registry.Recorder(0), time.Now()},
		Table:    api.NewTable(env.Registry, workload.Setup)})
	noError(t, err)
	defer c.Close()
	noError(t, c.Logout(t.Context()))
	noError(t, b.Provision(t.Context(), env, 4))
	for rank, token := range b.Tokens {
		if again := token == was[rank]; again != (rank > 0) {
			t.Errorf("person %d: the session is the same: %v", rank, again)
		}
	}
	if got := counts(t, env.Registry, "setup_me"); got["setup_login"] != 3 {
		t.Errorf("%d logins, want those of two passwords and one again", got["setup_login"])
	}
}

// logout: a person with a token does not log out, because the token would be gone for all runs
// after.
func (h handed) logout(t *testing.T) {
	env := with(h.env, h.given)
	env.Weights = map[string]float64{"logout_login": 1}
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 4))
	live(t, b, env, 4)
	if got := counts(t, env.Registry); got["logout"] != 2 || got["login"] != 2 {
		t.Errorf("%d log out and %d log in, want those two with passwords: %v", got["logout"],
			got["login"], got)
	}
	if err := b.Provision(t.Context(), env, 4); err != nil { // the tokens are still good
		t.Error(err)
	}
}

// posters post as their own accounts.
func (h handed) posters(t *testing.T) {
	env := h.env
	given := h.given
	for _, cold := range []bool{false, true} {
		env := with(env, given)
		env.Cold = cold
		p := &Poster{}
		noError(t, p.Provision(t.Context(), env, 4))
		state, err := p.State(nil)
		noError(t, err)
		other := &Poster{}
		noError(t, other.Restore(env, state))
		actors := live(t, other, env, 4)
		for rank, a := range actors {
			me, err := a.(*poster).c.Me(t.Context())
			if err != nil || me.ID != p.IDs[rank] || a.(*poster).id != me.ID {
				t.Errorf(
					"cold %v: poster %d is %s (%s), %v; want %s",
					cold,
					rank,
					me.ID,
					a.(*poster).id,
					err,
					p.IDs[rank],
				)
			}
		}
		if got := counts(t, env.Registry); got["login"] != uint64(2*b2i(cold)) ||
			got["post"] != 4 ||
			got["setup_create_bot"] > 0 {
			t.Errorf("cold %v: %v", cold, got)
		}
		if _, err := other.NewActor(env, userOf(env, 4)); err == nil {
			t.Error("a poster without an account")
		}
	}
	none := with(env, &workload.Accounts{File: "users.csv"})
	if err := new(Poster).Provision(t.Context(), none, 0); err != nil {
		t.Errorf("a share that no user follows: %v", err)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
