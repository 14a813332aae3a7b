package mattermost

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/reference/refchat"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// server returns the URL and the administrator's password of a server: the reference server on a
// fresh PostgreSQL, or, when PLIMSOLL_CONTRACT_URL and PLIMSOLL_CONTRACT_PASSWORD are set, a real
// one, so that both can be held to the same contract.
func server(t *testing.T, faults ...string) (url, password string) {
	t.Helper()
	if url := os.Getenv("PLIMSOLL_CONTRACT_URL"); url != "" && len(faults) == 0 {
		return url, os.Getenv("PLIMSOLL_CONTRACT_PASSWORD")
	}
	return reference(t, "postgresql", refchat.Config{Faults: faults})
}

// engine is a database server of a test.
type engine interface {
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	Stop(ctx context.Context) error
}

// reference runs the reference server on a fresh database server and returns its URL and the
// administrator's password.
func reference(t *testing.T, on string, cfg refchat.Config) (url, password string) {
	t.Helper()
	return databaseServer(t, on).serves(t, cfg)
}

// A databases is a running database server that makes a database for each reference server.
type databases struct {
	engine
	n int
}

func databaseServer(t *testing.T, on string) *databases {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()) &&
		d != os.TempDir(); d = d[:strings.LastIndexByte(d, '/')] {
		if err := os.Chmod(d, 0o755); err != nil { // the database runs as another user
			t.Fatal(err)
		}
	}
	var db engine
	var err error
	if on == "mysql" {
		db, err = mysql.Start(ctx, mysql.Config{Dir: dir + "/my"})
	} else {
		db, err = postgresql.Start(ctx, postgresql.Config{Dir: dir + "/pg"})
	}
	noError(t, err)
	t.Cleanup(func() {
		if err := db.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &databases{engine: db}
}

// serves runs a reference server on a fresh database and returns its URL and the administrator's
// password.
func (db *databases) serves(t *testing.T, cfg refchat.Config) (url, password string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	db.n++
	name := fmt.Sprint("chat", db.n)
	noError(t, db.CreateDatabase(ctx, name))
	cfg.Listen = "127.0.0.1:0"
	cfg.DSN = db.DSN(name)
	cfg.AdminPassword = "Contract-1"
	cfg.Hash = "bcrypt:4"
	s, err := refchat.New(ctx, cfg)
	noError(t, err)
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr(), cfg.AdminPassword
}

func contractEnv(url, password string) workload.Env {
	return workload.Env{
		URL: url, Seed: 1, Pace: 0.001, Timeout: 10 * time.Second, Registry: measure.NewRegistry(1),
		Ledger: workload.NewLedger(0, 1),
		Params: map[string]string{"team": fmt.Sprintf("ct%06d", rand.IntN(1e6)), "channels": "2",
			"memberships": "2"},
		Secret: oneSecret("admin_password", password),
	}
}

// nullEnv is contractEnv of persons on a null server, who only act.
func nullEnv(url string, pace float64) workload.Env {
	env := contractEnv(url, "Aa1!aaaaaaaa")
	env.Seed = 7
	env.Pace = pace
	env.Params = map[string]string{"periodic": "off"}
	return env
}

// oneSecret is the one secret of an environment.
func oneSecret(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// counts returns the ops of a registry, by name, and complains about failures that are not
// expected.
func counts(t *testing.T, reg *measure.Registry, mayFail ...string) map[string]uint64 {
	t.Helper()
	got := map[string]uint64{}
	for _, w := range reg.Cut() {
		got[w.Name] = w.Classes[measure.OK]
		if w.Errors() > 0 && !strings.Contains(strings.Join(mayFail, " "), w.Name) {
			t.Errorf("%s: %d of %d failed: %v", w.Name, w.Errors(), w.Count(), w.Classes)
		}
	}
	return got
}

// Both behaviors, cold and warm, do all that they can do, without a failure, and each post arrives
// at the others.
func TestContract(t *testing.T) {
	url, password := server(t)
	env := contractEnv(url, password)
	posters := &Poster{}
	persons := &Person{}
	const n = 3
	provision := func() {
		for _, b := range []workload.Behavior{posters, persons} {
			noError(t, b.Provision(t.Context(), env, n))
		}
	}
	provision()
	first := counts(t, env.Registry, "setup_team_by_name", "setup_channel_by_name")
	if first["setup_create_user"] != n || first["setup_create_channel"] != 2+openChannels ||
		first["setup_create_bot"] != 1 || first["setup_join_channel"] != 4 {
		t.Errorf("first provisioning: %v", first)
	}
	provision()
	for name, k := range counts(t, env.Registry) {
		if k > 0 && (strings.HasPrefix(name, "setup_create") || strings.Contains(name, "join") ||
			strings.Contains(name, "add_")) {
			t.Errorf("second provisioning: %d %s", k, name)
		}
	}
	for _, cold := range []bool{false, true} {
		env.Cold = cold
		env.Ledger, env.Tally = workload.NewLedger(time.Second, 1), &workload.Tally{}
		var actors []workload.Actor
		for rank := range n {
			u := userOf(env, rank)
			a := newActor(t, persons, env, u)
			defer a.Close()
			noError(t, a.Login(t.Context()))
			actors = append(actors, a)
		}
		p := newActor(t, posters, env,
			workload.NewUser(n, 0, 1, env.Pace, env.Registry.Recorder(n), clock.New(time.Now())))
		defer p.Close()
		const acts = 60
		for range acts {
			noError(t, p.Act(t.Context()))
			noError(t, actors[0].Act(t.Context()))
		}
		for _, a := range actors[1:] { // each of the rare actions, at least once
			a := a.(*person)
			a.u.Schedule(a.u.Now())
			a.begin(a.steady)
			for _, do := range []func(*act) error{
				switchChannel, scrollChannel, unreadCheck, createPost, addReaction,
				func(a *act) error {
					p, _ := a.anyPost(a.channel(), nil)
					if err := a.post(a.channel(),
						api.Draft{
							Message: "re",
							RootID:  cmp.Or(p.root, p.id).String(),
						}); err != nil {
						return err
					}
					_, err := a.c.Thread(a, p.id.String())
					return err
				},
			} {
				noError(t, do(&act{t.Context(), a}))
			}
		}
		all := map[string]uint64{}
		n := env.Ledger.Count()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) &&
			n.Judged < n.Acked; time.Sleep(50 * time.Millisecond) {
			env.Ledger.Settle(time.Now())
			n = env.Ledger.Count()
		}
		for name, k := range counts(t, env.Registry) {
			all[name] += k
		}
		if n.Judged != n.Acked || n.Acked != int64(all["post"]+all["reply"]) ||
			n.Lost+n.Late+n.Duplicated+n.Misordered != 0 ||
			n.Seen < 2*acts || n.Seen != int64(all[workload.Delivery]) {
			t.Errorf(
				"cold %v: ledger %+v of %d posts and %d replies, %d deliveries",
				cold,
				n,
				all["post"],
				all["reply"],
				all[workload.Delivery],
			)
		}
		acked, part := env.Ledger.Messages()
		audit, err := persons.Audit(t.Context(), env,
			append(acked, workload.AckedMessages{Channel: acked[0].Channel, IDs: []string{anID}}))
		if err != nil || part != 1 || audit.Readable != int(n.Acked) || audit.Missing != 1 ||
			audit.MissingIDs[0] != anID {
			t.Errorf("cold %v: audit %+v, %v", cold, audit, err)
		}
		env.Registry.Cut()
		for _, m := range env.Tally.Snapshot().Mixes() {
			if m.Failed != 0 || m.Attempts != m.OK+m.Skipped || m.OK < acts/2 {
				t.Errorf(
					"cold %v: %s: %d attempts, %d ok, %d failed, %d skipped",
					cold,
					m.Behavior,
					m.Attempts,
					m.OK,
					m.Failed,
					m.Skipped,
				)
			}
		}
		for _, name := range []string{"post", "reply", "upload", "react", "typing", "view_channel",
			"get_posts", "get_posts_before", "get_posts_unread",
			"get_thread", "channel_stats", "team_channels", "team_channel_members", "login_websocket",
			"login_me"} {
			if all[name] == 0 {
				t.Errorf("cold %v: no op %s", cold, name)
			}
		}
		if (all["login"] > 0) != cold {
			t.Errorf("cold %v: %d logins with a password", cold, all["login"])
		}
		for _, a := range actors {
			a.Close()
		}
	}
}

// Every action has the effect that it is named for: the same suite that verifies any server.
func TestVerify(t *testing.T) {
	url, password := server(t)
	cfg := VerifyConfig{URL: url, Password: password, Log: t.Logf}
	for range 2 { // it finds the objects of an earlier one
		allProven(t, cfg, len(actions))
	}
}

// verified returns the proofs of a server.
func verified(t *testing.T, cfg VerifyConfig) []Proof {
	t.Helper()
	proofs, err := Verify(t.Context(), cfg)
	noError(t, err)
	return proofs
}

// allProven verifies a server and requires a number of proofs, all with the effect.
func allProven(t *testing.T, cfg VerifyConfig, want int) {
	t.Helper()
	proofs := verified(t, cfg)
	if len(proofs) != want {
		t.Errorf("%d proofs, want %d", len(proofs), want)
	}
	for _, p := range proofs {
		if p.Outcome != OutcomeOK || p.ServerVersion == "0.0.0" {
			t.Errorf("%+v", p)
		}
	}
}

// A server that fails is measured as failing, and users go on.
func TestContractWithFaults(t *testing.T) {
	url, password := server(t, "error:100%@createPost")
	env := contractEnv(url, password)
	posters := &Poster{}
	persons := &Person{}
	for _, b := range []workload.Behavior{posters, persons} {
		noError(t, b.Provision(t.Context(), env, 2))
	}
	env.Registry.Cut()
	p := newActor(t, posters, env, userOf(env, 0))
	defer p.Close()
	for range 5 {
		noError(t, p.Act(t.Context()))
	}
	for _, w := range env.Registry.Cut() {
		if w.Name == "post" && (w.Classes[measure.OK] != 0 || w.Classes[measure.Status5xx] == 0) {
			t.Errorf("posts: %v, want 5xx only", w.Classes)
		}
	}
}
