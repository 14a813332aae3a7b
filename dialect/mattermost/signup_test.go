package mattermost

import (
	"strings"
	"testing"

	"plimsoll/load/measure"
)

// Half of the persons make their account, join and load everything; no first login counts in the
// steady state. A second run finds their accounts.
func TestSignUp(t *testing.T) {
	url, password := server(t)
	env := contractEnv(url, password)
	env.Params["sign_up"] = "50%"
	b := &Person{}
	const n = 4
	if err := b.Provision(t.Context(), env, n); err == nil ||
		!strings.Contains(err.Error(), "login: cold") {
		t.Fatalf("warm logins of accounts that are not there: %v", err)
	}
	env.Cold = true
	noError(t, b.Provision(t.Context(), env, n))
	if made := counts(t, env.Registry, "setup_team_by_name",
		"setup_channel_by_name")["setup_create_user"]; made != n/2 {
		t.Errorf("%d accounts were made before the run, want %d", made, n/2)
	}
	for run, mayFail := range []string{"", "login_create_user"} {
		if run > 0 {
			env.Registry, b = measure.NewRegistry(1), &Person{}
			noError(t, b.Provision(t.Context(), env, n))
			env.Registry.Cut()
		}
		for rank := range n {
			a := newActor(t, b, env, userOf(env, rank))
			defer a.Close()
			noError(t, a.Login(t.Context()))
			p := a.(*person)
			me, err := p.pool.get(p.u, p.login).Me(t.Context())
			if err != nil || me.ID != p.id || me.Username != personName(b.set.users, rank) {
				t.Errorf("person %d is %+v (%v)", rank, me, err)
			}
			if len(p.places) < b.set.memberships {
				t.Errorf(
					"person %d is in %d channels, want %d and the team's own",
					rank,
					len(p.places),
					b.set.memberships,
				)
			}
			noError(t, a.Act(t.Context()))
		}
		got := counts(t, env.Registry, mayFail)
		want := uint64(n / 2)
		if run > 0 {
			want = 0
		}
		if got["login_create_user"] != want || got["login"] != n ||
			got["create_user"]+got["join_team"]+got["me"] != 0 {
			t.Errorf("run %d: %d accounts made, want %d; %d logins with a password: %v", run,
				got["login_create_user"], want, got["login"], got)
		}
	}
}
