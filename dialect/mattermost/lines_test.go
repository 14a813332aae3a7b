package mattermost

import (
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/internal/failure"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
)

// outcomes verifies actions on a server that plays a release, and returns their outcomes. None
// fails.
func outcomes(
	t *testing.T, db *databases, cfg refchat.Config, actions ...string,
) map[string]Outcome {
	t.Helper()
	url, password := db.serves(t, cfg)
	got := map[string]Outcome{}
	for _, p := range verified(t, VerifyConfig{URL: url, Password: password, Only: actions}) {
		if got[p.Action] = p.Outcome; p.Outcome == OutcomeFailed {
			t.Errorf("%s on %s: %s", p.Action, cfg.Version, p.Detail)
		}
	}
	if len(got) != len(actions) {
		t.Fatalf("%d of %d proofs", len(got), len(actions))
	}
	return got
}

// arrived returns a person that has logged in.
func arrived(t *testing.T, b *Person, env workload.Env, rank int) *person {
	t.Helper()
	u := userOf(env, rank)
	actor := newActor(t, b, env, u)
	t.Cleanup(actor.Close)
	u.Schedule(u.Now())
	noError(t, actor.Login(t.Context()))
	a := actor.(*person)
	a.begin(a.steady)
	return a
}

// What release lines do differently with the same operation, and the proofs and the ledger know.
func TestReleaseLines(t *testing.T) {
	db := databaseServer(t, "postgresql")
	t.Run("threads before their routes", func(t *testing.T) { threadsBeforeTheirRoutes(t, db) })
	for _, quirk := range []string{refchat.QuirkHideTimes, refchat.QuirkOmitTimes} {
		t.Run(quirk, func(t *testing.T) { membershipsWithoutTimes(t, db, quirk) })
	}
	for version, resumed := range map[string]bool{
		"5.34.5": false,
		"5.37.0": false,
		"5.38.0": true,
	} {
		t.Run("connections of "+version, func(t *testing.T) {
			lostConnections(t, db, version, resumed)
		})
	}
}

// Lists of followed threads came with 5.30, but one thread cannot be read before 5.33, and the
// configuration does not mention the switch before 5.32: actions on threads are absent there, not
// failures.
func threadsBeforeTheirRoutes(t *testing.T, db *databases) {
	t.Helper()
	actions := []string{"view_global_threads", "view_thread", "update_thread_read",
		"mark_all_threads_in_team_as_read", "follow_thread"}
	for action, o := range outcomes(t, db, refchat.Config{Version: "5.31.7", License: "none"},
		actions...) {
		if o != OutcomeAbsent {
			t.Errorf("%s: %s", action, o)
		}
	}
}

// Since 10.12 the server does not tell anyone when others have looked at a channel: first by -1,
// later by leaving the fields out. The actions that read memberships of others are proven all the
// same.
func membershipsWithoutTimes(t *testing.T, db *databases, quirk string) {
	t.Helper()
	cfg := refchat.Config{Version: "10.12.0", Quirks: []string{quirk}}
	for action, o := range outcomes(t, db, cfg, "click_user_profile", "unread_check", "join_channel") {
		if o != OutcomeOK {
			t.Errorf("%s: %s", action, o)
		}
	}
}

// A server before 5.38 does not take a connection up again. What was written while a person had
// none is not charged to it as lost; a later server sends it after all.
func lostConnections(t *testing.T, db *databases, version string, resumed bool) {
	t.Helper()
	url, password := db.serves(t, refchat.Config{Version: version, License: "none"})
	env := contractEnv(url, password)
	env.Params["periodic"] = "off"
	env.Ledger = workload.NewLedger(time.Second, 1)
	b := &Person{}
	noError(t, b.Provision(t.Context(), env, 2))
	a := arrived(t, b, env, 0)
	other := arrived(t, b, env, 1)
	ch := b.dir.known(api.ParseID(b.Channels[0]))
	write := func() {
		noError(t, (&act{t.Context(), a}).post(ch, api.Draft{Message: "hello"}))
	}
	other.turn <- struct{}{} // the action reconnect_websocket, with time for a message in between
	lost := other.socket()
	lost.Drop()
	<-lost.Ended()
	write()
	if _, err := other.resume(t.Context(), other.u, other.c.Table); err != nil {
		t.Fatal(err)
	}
	<-other.turn
	if got := lost.Resumable(); got != resumed {
		t.Errorf("the connection can be resumed: %v", got)
	}
	write()
	seen := int64(1)
	if resumed {
		seen = 2
	}
	failure.Unless(t, func() bool { return env.Ledger.Count().Seen >= seen }, "events are missing")
	env.Ledger.Settle(time.Now().Add(2 * time.Second))
	if c := env.Ledger.Count(); c.Acked != 2 || c.Judged != 2 || c.Seen != seen || c.Lost != 0 {
		t.Errorf("%+v; want %d seen and none lost", c, seen)
	}
}
