package mattermost

import (
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// Half of the persons make their account, join and load everything; no first login counts in the steady state. A
// second run finds their accounts.
func TestSignUp(t *testing.T) {
	url, password := server(t)
	env := contractEnv(url, password)
	env.Params["sign_up"] = "50%"
	b := &Person{}
	const n = 4
	if err := b.Provision(t.Context(), env, n); err == nil || !strings.Contains(err.Error(), "login: cold") {
		t.Fatalf("warm logins of accounts that are not there: %v", err)
	}
	env.Cold = true
	if err := b.Provision(t.Context(), env, n); err != nil {
		t.Fatal(err)
	}
	if made := counts(t, env.Registry, "setup_team_by_name", "setup_channel_by_name")["setup_create_user"]; made != n/2 {
		t.Errorf("%d accounts were made before the run, want %d", made, n/2)
	}
	for run, mayFail := range []string{"", "login_create_user"} {
		if run > 0 {
			env.Registry, b = measure.NewRegistry(1), &Person{}
			if err := b.Provision(t.Context(), env, n); err != nil {
				t.Fatal(err)
			}
			env.Registry.Cut()
		}
		for rank := range n {
			a, err := b.NewActor(env, workload.NewUser(rank, rank, 1, env.Pace, env.Registry.Recorder(rank), clock.New(time.Now())))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if err := a.Login(t.Context()); err != nil {
				t.Fatal(err)
			}
			p := a.(*person)
			me, err := p.pool.get(p.u, p.login).Me(t.Context())
			if err != nil || me.ID != p.id || me.Username != personName(b.set.users, rank) {
				t.Errorf("person %d is %+v (%v)", rank, me, err)
			}
			if len(p.places) < b.set.memberships {
				t.Errorf("person %d is in %d channels, want %d and the team's own", rank, len(p.places), b.set.memberships)
			}
			if err := a.Act(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		got := counts(t, env.Registry, mayFail)
		want := uint64(n / 2)
		if run > 0 {
			want = 0
		}
		if got["login_create_user"] != want || got["login"] != n || got["create_user"]+got["join_team"]+got["me"] != 0 {
			t.Errorf("run %d: %d accounts made, want %d; %d logins with a password: %v", run, got["login_create_user"], want, got["login"], got)
		}
	}
}
