package postgresql_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/failure"
	server "plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/postgresql"
	"plimsoll/watch/series"
)

var _ probe.Probe = (*postgresql.StatProbe)(nil)

var role = []series.Label{{Name: "role", Value: "db"}, {Name: "instance", Value: "db-0"}}

const labels = `role="db",instance="db-0"`

func start(t testing.TB, settings map[string]string) (context.Context, *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s, err := server.Start(ctx, server.Config{Dir: t.TempDir(), Settings: settings})
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	return ctx, s
}

func connect(t testing.TB, ctx context.Context, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(ctx, dsn)
	failure.None(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec(t testing.TB, ctx context.Context, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// sample returns the series by their keys, without the labels that all have.
func sample(t testing.TB, ctx context.Context, p *postgresql.StatProbe) map[string]float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := p.Sample(ctx, time.Now())
	failure.None(t, err)
	m := map[string]float64{}
	for i := range s {
		k := strings.Replace(string(s[i].AppendKey(nil)), labels, "", 1)
		k = strings.Replace(strings.Replace(k, "{,", "{", 1), "{}", "", 1)
		if _, dup := m[k]; dup {
			t.Errorf("%s occurs twice", k)
		}
		m[k] = s[i].Value
	}
	return m
}

func check(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s = %v (there: %v), want %v", k, g, ok, v)
		}
	}
}

func TestPostgreSQL(t *testing.T) {
	ctx, s := start(t, map[string]string{"shared_preload_libraries": "pg_stat_statements", "max_connections": "53"})
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	p, err := postgresql.New(s.DSN("chat"), role...)
	failure.None(t, err)
	defer p.Close()
	if p.Name() != "postgresql db-0" {
		t.Errorf("name %q", p.Name())
	}
	before := sample(t, ctx, p)
	// The session that made the database ends in its own time, after its client has left.
	for range 500 {
		if before["plimsoll_pg_connections"] <= 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
		before = sample(t, ctx, p)
	}
	if !regexp.MustCompile(`^PostgreSQL [0-9]+\.[0-9]+$`).MatchString(p.Server()) {
		t.Errorf("server %q", p.Server())
	}
	check(t, before, map[string]float64{
		"pg_settings_max_connections": 53, "plimsoll_pg_connections": 1, "plimsoll_pg_connections_used_ratio": 0.02,
		`pg_stat_activity_count{state="active"}`: 0, "plimsoll_pg_blocked_sessions": 0, "plimsoll_pg_longest_transaction_seconds": 0,
		`pg_stat_database_deadlocks{datname="chat"}`: 0, `plimsoll_pg_active_sessions{wait_event_type="Lock"}`: 0,
	})
	if _, ok := before["plimsoll_pg_statements_calls_total"]; ok {
		t.Error("statements are counted before the extension is there")
	}

	// One session holds a row, two wait for it, one sleeps, one idles.
	holder, waiter1, waiter2, sleeper, idle := connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat"))
	exec(t, ctx, idle, "CREATE EXTENSION pg_stat_statements", "CREATE TABLE posts (id int PRIMARY KEY, n int)", "INSERT INTO posts SELECT i, 0 FROM generate_series(1, 1000) i")
	exec(t, ctx, holder, "BEGIN", "UPDATE posts SET n = 1 WHERE id = 1")
	errs := make(chan error, 3)
	for _, c := range []*pgx.Conn{waiter1, waiter2} {
		go func() { _, err := c.Exec(ctx, "UPDATE posts SET n = 2 WHERE id = 1"); errs <- err }()
	}
	go func() { _, err := sleeper.Exec(ctx, "SELECT pg_sleep(3)"); errs <- err }()
	var got map[string]float64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = sample(t, ctx, p); got["plimsoll_pg_blocked_sessions"] == 2 && got[`plimsoll_pg_active_sessions{wait_event_type="Timeout"}`] == 1 {
			break
		}
	}
	check(t, got, map[string]float64{
		"plimsoll_pg_blocked_sessions": 2, "plimsoll_pg_connections": 6,
		`pg_stat_activity_count{state="active"}`: 3, `pg_stat_activity_count{state="idle"}`: 1, `pg_stat_activity_count{state="idle in transaction"}`: 1,
		`plimsoll_pg_active_sessions{wait_event_type="Lock"}`: 2, `plimsoll_pg_active_sessions{wait_event_type="Timeout"}`: 1,
		`pg_stat_database_numbackends{datname="chat"}`: 6,
	})
	if got["plimsoll_pg_longest_transaction_seconds"] <= 0 {
		t.Error("no transaction is old")
	}
	exec(t, ctx, holder, "COMMIT")
	for range 3 {
		failure.None(t, <-errs)
	}
	// The server's counters appear a second late at most; the extension is found by a probe that reconnects.
	again, err := postgresql.New(s.DSN("chat"), role...)
	failure.None(t, err)
	defer again.Close()
	exec(t, ctx, holder, "SELECT pg_stat_force_next_flush()", "SELECT 1")
	exec(t, ctx, idle, "SELECT 1", "CHECKPOINT")
	least := map[string]float64{
		`pg_stat_database_tup_updated{datname="chat"}`: 3, `pg_stat_database_tup_inserted{datname="chat"}`: 1000, `pg_stat_database_xact_commit{datname="chat"}`: 5,
		"plimsoll_pg_wal_bytes_total": 50_000, "pg_stat_bgwriter_checkpoints_req_total": 1, "pg_stat_bgwriter_buffers_alloc_total": 1,
	}
	var missing []string // each of the server's processes reports its counters at its own time
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		got, missing = sample(t, ctx, p), nil
		for k, n := range least {
			if d := got[k] - before[k]; d < n && !(strings.HasPrefix(k, "pg_stat_bgwriter_checkpoints") && got["pg_stat_checkpointer_num_requested_total"] >= 1) {
				missing = append(missing, fmt.Sprintf("%s grew by %v, want at least %v", k, d, n))
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		t.Error(strings.Join(missing, "; "))
	}
	got = sample(t, ctx, again)
	if got["plimsoll_pg_statements_calls_total"] < 5 || got["plimsoll_pg_statements_seconds_total"] < 3 {
		t.Errorf("statements: %v calls, %v s; one of them slept for 3 s", got["plimsoll_pg_statements_calls_total"], got["plimsoll_pg_statements_seconds_total"])
	}
	n := 0
	for k, v := range got {
		if strings.HasPrefix(k, "pg_stat_statements_seconds_total{queryid=") && v >= 3 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d statements took 3 s, want the one that slept", n)
	}
	if next := sample(t, ctx, again); next["plimsoll_pg_statements_calls_total"] != 0 {
		t.Error("statements are read every time, want every fifth")
	}

	// A server that restarts: an error without secrets, then all is well again.
	failure.None(t, s.Snapshot(ctx, "chat"))
	failure.None(t, s.Restore(ctx, "chat"))
	if _, err := p.Sample(ctx, time.Now()); err == nil {
		t.Error("no error after the server ended the connection")
	}
	if got := sample(t, ctx, p); got["plimsoll_pg_connections"] != 1 {
		t.Errorf("after a restart: %v", got)
	}
}

func TestRefusals(t *testing.T) {
	ctx, s := start(t, nil)
	admin := connect(t, ctx, s.DSN("postgres"))
	exec(t, ctx, admin, "CREATE ROLE nosy LOGIN PASSWORD 'geheim'", "CREATE ROLE monitor LOGIN PASSWORD 'geheim' IN ROLE pg_monitor")
	_, at, _ := strings.Cut(s.DSN("postgres"), "@")
	for name, c := range map[string]struct{ dsn, err string }{
		"password": {"postgres://monitor:falsch-geheim@" + at, "refuses the user or password of the DSN (SQLSTATE 28P01)"},
		"database": {"postgres://monitor:geheim@" + strings.Replace(at, "/postgres?", "/geheim?", 1), "database of the DSN does not exist"},
		"blind":    {"postgres://nosy:geheim@" + at, "GRANT pg_monitor"},
		"nobody":   {"postgres://geheim:geheim@127.0.0.1:1/geheim?sslmode=disable", "connection refused"},
		"no TLS":   {"postgres://monitor:geheim@" + strings.Replace(at, "disable", "require", 1), "the connection failed"},
		"no host":  {"postgres://geheim:geheim@geheim.invalid/geheim?sslmode=disable", "cannot be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := postgresql.New(c.dsn, role...)
			failure.None(t, err)
			defer p.Close()
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			out, err := p.Sample(ctx, time.Now())
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "127.0.0.1") || len(out) > 0 {
				t.Errorf("%d series, error %v; want %q and no part of the DSN", len(out), err, c.err)
			}
		})
	}
	p, err := postgresql.New("postgres://monitor:geheim@"+at, role...)
	failure.None(t, err)
	defer p.Close()
	if got := sample(t, ctx, p); got[`pg_stat_activity_count{state="idle"}`] != 1 {
		t.Errorf("a monitor sees %v", got)
	}
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	failure.Says(t, failure.Of(p.Sample(late, time.Now())), "no answer in time")
	for _, dsn := range []string{"", "postgres://user:geheim@host:port/db", "geheim"} {
		if _, err := postgresql.New(dsn); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("New(%q): %v", dsn, err)
		}
	}
}

// BenchmarkSample measures both sides of the cost: ns/op is the wait for the answer, client-ns/op the CPU time of
// this process and server-ns/op that of the server (in ticks of 10 ms; take some hundred samples).
func BenchmarkSample(b *testing.B) {
	ctx, s := start(b, nil)
	for range 50 {
		connect(b, ctx, s.DSN("postgres"))
	}
	p, err := postgresql.New(s.DSN("postgres"), role...)
	failure.None(b, err)
	defer p.Close()
	sample(b, ctx, p)
	self, err := probe.NewSelf()
	failure.None(b, err)
	server := probe.NewProcess("db", s.PIDs)
	client, served := cpu(b, ctx, self), cpu(b, ctx, server)
	b.ReportAllocs()
	for b.Loop() {
		failure.None(b, failure.Of(p.Sample(ctx, time.Time{})))
	}
	b.ReportMetric((cpu(b, ctx, self)-client)*1e9/float64(b.N), "client-ns/op")
	b.ReportMetric((cpu(b, ctx, server)-served)*1e9/float64(b.N), "server-ns/op")
}

// cpu returns the seconds of CPU time that a probe of processes sees.
func cpu(b *testing.B, ctx context.Context, p probe.Probe) (sum float64) {
	b.Helper()
	samples, err := p.Sample(ctx, time.Now())
	failure.None(b, err)
	for _, s := range samples {
		if strings.HasSuffix(s.Name, "_cpu_seconds_total") {
			sum += s.Value
		}
	}
	return sum
}
