package mattermost

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// pluginBefore answers the paths of a plugin and passes on what else comes for a server.
func pluginBefore(t *testing.T, target string, answer http.HandlerFunc) string {
	t.Helper()
	proxy := passing(t, target)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/plugins/") {
			answer(w, r)
		} else {
			proxy.ServeHTTP(w, r)
		}
	})
}

// Steps are carried out once for each login, channel and team, with the person's session; their
// operations are recorded under their own names, and an action is drawn by its weight.
func TestExtension(t *testing.T) {
	target, password := server(t)
	var stranger atomic.Bool
	target = pluginBefore(t, target, func(w http.ResponseWriter, r *http.Request) {
		stranger.Store(stranger.Load() || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "))
		if strings.HasSuffix(r.URL.Path, "/busy") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(`{"n":7}`))
	})
	var logins, channels, teams, wrong int
	call := func(count *int) Step {
		return func(ctx context.Context, m *Participant) error {
			*count++
			if m.UserID() == "" || m.TeamID() == "" || m.Number() != 0 {
				wrong++
			}
			return nil
		}
	}
	var drawn []uint64
	d := With(Extension{
		Ops: []string{"board", "poll"},
		Login: func(ctx context.Context, m *Participant) error {
			drawn = append(drawn, m.Rand().Uint64())
			var v struct{ N int }
			err := m.Call(ctx, "board", "GET", "/plugins/boards/v1", nil, &v)
			if v.N != 7 || m.ChannelID() != "" {
				wrong++
			}
			return errors.Join(err, call(&logins)(ctx, m))
		},
		Channel: call(&channels),
		Team:    call(&teams),
		Actions: []Extra{
			{Name: "vote", Weight: 2, Do: func(ctx context.Context, m *Participant) error {
				return m.Call(ctx, "poll", "POST", "/plugins/polls/vote", map[string]int{"n": 1}, nil)
			}},
			{Name: "vote_late", Weight: 1, Do: func(ctx context.Context, m *Participant) error {
				return m.Call(ctx, "poll", "POST", "/plugins/polls/busy", nil, nil)
			}},
			{Name: "vote_never", Weight: 0, Do: func(context.Context, *Participant) error {
				return Skip("no poll")
			}},
		},
	})
	for _, op := range []string{"board", "poll", "post"} {
		if !slices.Contains(d.Ops(), op) || !slices.Contains(d.Apart(), "login_"+op) {
			t.Errorf("rules do not know %s", op)
		}
	}
	b := d.Behaviors[living]()
	env := contractEnv(target, password)
	env.Tally = &workload.Tally{}
	env.Weights = map[string]float64{"vote": 1, "vote_late": 1, "vote_never": 1, "switch_channel": 1,
		"full_reload": 1}
	noError(t, b.Provision(t.Context(), env, 1))
	u := userOf(env, 0)
	a := newActor(t, b, env, u).(*person)
	defer a.Close()
	u.Schedule(0)
	noError(t, a.Login(t.Context()))
	if logins != 1 || channels != 1 || teams != 0 {
		t.Fatalf("after the login: %d logins, %d channels, %d teams", logins, channels, teams)
	}
	if id := a.here(); id == "" {
		t.Fatal("no channel")
	}
	for range 40 {
		u.Schedule(u.Now())
		noError(t, a.Act(t.Context()))
	}
	done := map[string]workload.MixAction{}
	for _, m := range env.Tally.Snapshot().Mixes() {
		for _, x := range m.Actions {
			done[x.Name] = x
		}
	}
	reloads, switches := int(done["full_reload"].Attempts), int(done["switch_channel"].Attempts)
	if reloads == 0 || switches == 0 || logins != 1+reloads || channels != 1+reloads+switches ||
		teams != 0 || wrong != 0 {
		t.Errorf("%d logins and %d channels after %d reloads and %d switches, %d teams, %d wrong",
			logins, channels, reloads, switches, teams, wrong)
	}
	if len(drawn) != logins || drawn[0] == drawn[1] {
		t.Error("two steps drew the same")
	}
	ops := map[string]*measure.Window{}
	for _, w := range env.Registry.Cut() {
		ops[w.Name] = w
	}
	vote, late := done["vote"], done["vote_late"]
	if vote.OK == 0 || vote.OK != vote.Attempts || late.Failed != late.Attempts ||
		len(done["vote_never"].Skipped) == 0 {
		t.Errorf("%+v %+v %+v", vote, late, done["vote_never"])
	}
	if w := ops["poll"]; w == nil || int64(w.Classes[measure.OK]) != vote.OK ||
		int64(w.Classes[measure.Status5xx]) != late.Failed {
		t.Errorf("poll: %+v", w)
	}
	if w := ops["login_board"]; w == nil || int(w.Classes[measure.OK]) != logins {
		t.Errorf("login_board: %+v", w)
	}
	if stranger.Load() {
		t.Error("a call had no session")
	}
}

// A person of another team gets there by the step of a team, once.
func TestExtensionOnSwitchingTeam(t *testing.T) {
	target, password := server(t)
	teams := 0
	d := With(Extension{Team: func(_ context.Context, m *Participant) error {
		teams++
		return nil
	}})
	b := d.Behaviors[living]()
	env := contractEnv(target, password)
	env.Weights = map[string]float64{"switch_team": 1}
	noError(t, b.Provision(t.Context(), env, 1))
	u := userOf(env, 0)
	a := newActor(t, b, env, u).(*person)
	defer a.Close()
	u.Schedule(0)
	noError(t, a.Login(t.Context()))
	was := a.team
	u.Schedule(u.Now())
	noError(t, a.Act(t.Context()))
	if teams != 1 || a.team == was {
		t.Errorf("%d steps, team %s after %s", teams, a.team, was)
	}
}

// An extension cannot take the name of another operation or action, and neither changes the others.
func TestExtensionNames(t *testing.T) {
	for what, e := range map[string]Extension{
		"operation": {Ops: []string{"post"}},
		"event":     {Ops: []string{api.BotAnswer}},
		"twice":     {Ops: []string{"x", "x"}},
		"action":    {Actions: []Extra{{Name: "create_post"}}},
		"no name":   {Actions: []Extra{{}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s passed", what)
				}
			}()
			With(e)
		}()
	}
	d := With(Extension{Actions: []Extra{{Name: "vote", Weight: 3}}})
	for name, weights := range d.Mixes() {
		if weights["vote"] != 3 {
			t.Errorf("mix %s: %v", name, weights["vote"])
		}
		delete(weights, "vote")
		if !maps.Equal(weights, Mixes()[name]) {
			t.Errorf("mix %s is another", name)
		}
	}
}

// What no mix has takes no part in a default load: not in its draws, not in its reports, and
// nothing is made for it.
func TestIntegrationsAreOff(t *testing.T) {
	for name, weights := range Mixes() {
		m, err := newMix(weights, &facts{Version: version{99}, License: enterprise})
		noError(t, err)
		if len(m.actions) != 51 || len(m.list) != 51 {
			t.Errorf("mix %s has %d actions", name, len(m.actions))
		}
		for _, off := range integrations {
			if w, known := weights[off]; w != 0 || !known || m.has(off) {
				t.Errorf("mix %s: %s weighs %v", name, off, w)
			}
		}
	}
}
