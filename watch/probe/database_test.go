package probe_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"plimsoll/internal/failure"
	"plimsoll/target/lab/database"
	servermysql "plimsoll/target/lab/mysql"
	serverpostgresql "plimsoll/target/lab/postgresql"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
	"plimsoll/watch/series"
)

var role = []series.Label{{Name: "role", Value: "db"}, {Name: "instance", Value: "db-0"}}

const labels = `role="db",instance="db-0"`

type closing interface {
	probe.Probe
	Close() error
}

// A status is the probe of a server.
type status interface {
	closing
	Server() string
}

// of returns a constructor whose probes have the type of the interface.
func of[P status](make func(string, ...series.Label) (P, error)) func(string) (status, error) {
	return func(dsn string) (status, error) { return make(dsn, role...) }
}

// An engine is one of the two with the facts that its tests need.
type engine struct {
	name, driver, admin string // admin is a database that is always there
	server              string // a pattern of its name and version
	start               func(context.Context, database.Config) (*database.Server, error)
	probe               func(dsn string) (status, error)

	users    []string // statements that make the users of refusals
	monitor  string   // DSN of one who may see all, after the address
	refusals func(at string) map[string]refusal

	replicas  map[string]string
	lag       func(s *database.Server, r *database.Replica) (closing, error)
	pause     string // statement at the replica
	fill      string // statement that fills the table x
	distances [2]float64

	sessions int // of the benchmark
}

type refusal struct{ dsn, err string }

var engines = map[string]engine{
	"postgresql": {
		name:   "postgresql db-0",
		driver: "pgx",
		admin:  "postgres",
		server: `^PostgreSQL [0-9]+\.[0-9]+$`,
		start:  serverpostgresql.Start,
		probe:  of(postgresql.New),
		users: []string{
			"CREATE ROLE nosy LOGIN PASSWORD 'geheim'",
			"CREATE ROLE monitor LOGIN PASSWORD 'geheim' IN ROLE pg_monitor",
		},
		monitor: "postgres://monitor:geheim@%s/postgres?sslmode=disable",
		refusals: func(at string) map[string]refusal {
			return map[string]refusal{
				"password": {
					"postgres://monitor:falsch-geheim@" + at + "/postgres?sslmode=disable",
					"refuses the user or password of the DSN (SQLSTATE 28P01)",
				},
				"database": {
					"postgres://monitor:geheim@" + at + "/geheim?sslmode=disable",
					"database of the DSN does not exist",
				},
				"blind": {
					"postgres://nosy:geheim@" + at + "/postgres?sslmode=disable",
					"GRANT pg_monitor",
				},
				"nobody": {
					"postgres://geheim:geheim@127.0.0.1:1/geheim?sslmode=disable",
					"connection refused",
				},
				"no TLS": {
					"postgres://monitor:geheim@" + at + "/postgres?sslmode=require",
					"the connection failed",
				},
				"no host": {
					"postgres://geheim:geheim@geheim.invalid/geheim?sslmode=disable",
					"cannot be resolved",
				},
				"no port": {"postgres://user:geheim@host:port/db", ""},
			}
		},
		replicas: serverpostgresql.ForStandbys(),
		lag: func(s *database.Server, _ *database.Replica) (closing, error) {
			return postgresql.NewLag(s.DSN("chat"), serverpostgresql.StandbyName(0), role...)
		},
		pause:     "SELECT pg_wal_replay_pause()",
		fill:      "INSERT INTO x SELECT generate_series(1, 1000)",
		distances: [2]float64{1000, 1e9},
		sessions:  50,
	},
	"mysql": {
		name:   "mysql db-0",
		driver: "mysql",
		admin:  "mysql",
		server: `^(MariaDB|MySQL) [0-9]+\.[0-9]+`,
		start:  servermysql.Start,
		probe:  of(mysql.New),
		users: []string{
			"CREATE USER 'monitor'@'127.0.0.1' IDENTIFIED BY 'geheim'",
			"GRANT USAGE ON *.* TO 'monitor'@'127.0.0.1'",
		},
		monitor: "mysql://monitor:geheim@tcp(%s)/", // without any privilege
		refusals: func(at string) map[string]refusal {
			return map[string]refusal{
				"password": {
					"monitor:falsch-geheim@tcp(" + at + ")/",
					"refuses the user or password of the DSN (error ",
				},
				"database": {
					"monitor:geheim@tcp(" + at + ")/geheim",
					"may not use its database (error 1044)",
				},
				"nobody":  {"geheim:geheim@tcp(127.0.0.1:1)/geheim", "connection refused"},
				"no host": {"geheim:geheim@tcp(geheim.invalid:3306)/geheim", "cannot be resolved"},
				"no form": {"user:geheim@host:port/db", ""},
			}
		},
		replicas: servermysql.ForMirrors(),
		lag: func(s *database.Server, r *database.Replica) (closing, error) {
			return mysql.NewLag(s.DSN("chat"), r.DSN("chat"), role...)
		},
		pause:     "STOP SLAVE SQL_THREAD",
		fill:      "INSERT INTO x VALUES (1)",
		distances: [2]float64{2, 2},
	},
}

// A run is an engine's server with the database chat, in one test.
type run struct {
	engine
	t   testing.TB
	ctx context.Context
	s   *database.Server
}

func (e engine) run(t testing.TB, settings map[string]string) *run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s, err := e.start(ctx, database.Config{Dir: t.TempDir(), Settings: settings})
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	return &run{e, t, ctx, s}
}

func (r *run) connect(dsn string) *sql.Conn {
	r.t.Helper()
	db, err := sql.Open(r.driver, strings.TrimPrefix(dsn, "mysql://"))
	failure.None(r.t, err)
	r.t.Cleanup(func() { db.Close() })
	c, err := db.Conn(r.ctx)
	failure.None(r.t, err)
	return c
}

func (r *run) exec(c *sql.Conn, statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		if _, err := c.ExecContext(r.ctx, s); err != nil {
			r.t.Fatalf("%s: %v", s, err)
		}
	}
}

// later executes a statement that waits, and returns its error's channel.
func (r *run) later(c *sql.Conn, statement string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- failure.Of(c.ExecContext(r.ctx, statement)) }()
	return done
}

func (r *run) watch(dsn string) status {
	r.t.Helper()
	p, err := r.probe(dsn)
	failure.None(r.t, err)
	r.t.Cleanup(func() { p.Close() })
	return p
}

// sample returns the series by their keys, without the labels that all have.
func (r *run) sample(p probe.Probe) map[string]float64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	s, err := p.Sample(ctx, time.Now())
	failure.None(r.t, err)
	m := map[string]float64{}
	for i := range s {
		k := strings.Replace(string(s[i].AppendKey(nil)), labels, "", 1)
		k = strings.TrimPrefix(
			strings.Replace(strings.Replace(k, "{,", "{", 1), "{}", "", 1),
			"mysql_global_",
		)
		if _, dup := m[k]; dup {
			r.t.Errorf("%s occurs twice", k)
		}
		m[k] = s[i].Value
	}
	return m
}

// grow samples until each series has grown by its least amount.
func (r *run) grow(p probe.Probe, before, least map[string]float64) (got map[string]float64) {
	r.t.Helper()
	failure.Unless(r.t, func() bool {
		got = r.sample(p)
		for k, n := range least {
			if got[k]-before[k] < n {
				return false
			}
		}
		return true
	}, "not all grow by ", least)
	return got
}

func (r *run) check(got map[string]float64, want map[string]float64) {
	r.t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			r.t.Errorf("%s = %v (there: %v), want %v", k, g, ok, v)
		}
	}
}

// named checks what a probe tells of itself after a sample.
func (r *run) named(p status) {
	r.t.Helper()
	if p.Name() != r.name || !regexp.MustCompile(r.server).MatchString(p.Server()) {
		r.t.Errorf("name %q, server %q", p.Name(), p.Server())
	}
}

// restarts lets the server restart, and expects samples after at most some errors.
func (r *run) restarts(p status) map[string]float64 {
	r.t.Helper()
	failure.None(r.t, r.s.Snapshot(r.ctx, "chat"))
	failure.None(r.t, r.s.Restore(r.ctx, "chat"))
	failure.Unless(r.t, func() bool {
		return failure.Of(p.Sample(r.ctx, time.Now())) == nil
	}, "no sample after the restart")
	return r.sample(p)
}

func TestMySQL(t *testing.T) {
	r := engines["mysql"].run(t, nil)
	chat := r.s.DSN("chat")
	p := r.watch(chat)
	before := r.sample(p)
	r.named(p)
	if most := before["variables_max_connections"]; most < 100 ||
		before["plimsoll_mysql_connections_used_ratio"] != before["status_threads_connected"]/most {
		t.Errorf(
			"connections: %v of %v is %v",
			before["status_threads_connected"],
			most,
			before["plimsoll_mysql_connections_used_ratio"],
		)
	}
	holder := r.connect(chat)
	waiter := r.connect(chat)
	idle := r.connect(chat)
	r.exec(
		idle,
		"CREATE TABLE posts (id int PRIMARY KEY, n int, body text) ENGINE=InnoDB",
		"INSERT INTO posts VALUES (1, 0, 'a'), (2, 0, 'b')",
	)
	r.exec(idle, "SELECT body, count(*) FROM posts GROUP BY body ORDER BY count(*)")
	r.exec(holder, "BEGIN", "UPDATE posts SET n = 1 WHERE id = 1")
	done := r.later(waiter, "UPDATE posts SET n = 2 WHERE id = 1")
	var got map[string]float64
	failure.Unless(t, func() bool {
		got = r.sample(p)
		return got["status_innodb_row_lock_current_waits"] == 1
	}, "no session waits for a row")
	if got["status_threads_connected"] != 4 || got["status_threads_running"] < 2 {
		t.Errorf(
			"of four sessions %v are connected, %v running",
			got["status_threads_connected"],
			got["status_threads_running"],
		)
	}
	r.exec(holder, "COMMIT")
	failure.None(t, <-done)
	got = r.grow(p, before, map[string]float64{
		"status_innodb_row_lock_waits":            1,
		`status_commands_total{command="update"}`: 2,
		`status_commands_total{command="insert"}`: 1,
		"status_questions":                        5,
		"status_created_tmp_tables":               1,
		"status_innodb_buffer_pool_read_requests": 1,
		"status_connections":                      3,
		"status_innodb_os_log_written":            1,
	})
	if got["variables_innodb_buffer_pool_size"] < 1<<20 ||
		got[`status_buffer_pool_pages{state="data"}`] <= 0 ||
		got[`status_buffer_pool_pages{state="free"}`] <= 0 {
		t.Errorf(
			"buffer pool: %v bytes, pages %v and %v",
			got["variables_innodb_buffer_pool_size"],
			got[`status_buffer_pool_pages{state="data"}`],
			got[`status_buffer_pool_pages{state="free"}`],
		)
	}
	r.restarts(p)
}

func TestPostgreSQL(t *testing.T) {
	r := engines["postgresql"].run(t, map[string]string{"max_connections": "53"})
	chat := r.s.DSN("chat")
	p := r.watch(chat)
	var before map[string]float64
	// The session that made the database ends in its own time, after its client has left.
	failure.Unless(t, func() bool {
		before = r.sample(p)
		return before["plimsoll_pg_connections"] <= 1
	}, "a session of before is there")
	r.named(p)
	r.check(before, map[string]float64{
		"pg_settings_max_connections":                         53,
		"plimsoll_pg_connections":                             1,
		"plimsoll_pg_connections_used_ratio":                  0.02,
		`pg_stat_activity_count{state="active"}`:              0,
		"plimsoll_pg_blocked_sessions":                        0,
		"plimsoll_pg_longest_transaction_seconds":             0,
		`pg_stat_database_deadlocks{datname="chat"}`:          0,
		`plimsoll_pg_active_sessions{wait_event_type="Lock"}`: 0,
	})

	// One session holds a row, two wait for it, one sleeps, one idles.
	holder, idle := r.connect(chat), r.connect(chat)
	r.exec(
		idle,
		"CREATE TABLE posts (id int PRIMARY KEY, n int)",
		"INSERT INTO posts SELECT i, 0 FROM generate_series(1, 1000) i",
	)
	r.exec(holder, "BEGIN", "UPDATE posts SET n = 1 WHERE id = 1")
	var busy []<-chan error
	for _, statement := range []string{"UPDATE posts SET n = 2 WHERE id = 1", "UPDATE posts SET n = 2 WHERE id = 1", "SELECT pg_sleep(3)"} {
		busy = append(busy, r.later(r.connect(chat), statement))
	}
	var got map[string]float64
	failure.Unless(t, func() bool {
		got = r.sample(p)
		return got["plimsoll_pg_blocked_sessions"] == 2 &&
			got[`plimsoll_pg_active_sessions{wait_event_type="Timeout"}`] == 1
	}, "two sessions do not wait while one sleeps")
	r.check(got, map[string]float64{
		"plimsoll_pg_connections":                             6,
		`pg_stat_activity_count{state="active"}`:              3,
		`pg_stat_activity_count{state="idle"}`:                1,
		`pg_stat_activity_count{state="idle in transaction"}`: 1,
		`plimsoll_pg_active_sessions{wait_event_type="Lock"}`: 2,
		`pg_stat_database_numbackends{datname="chat"}`:        6,
	})
	if got["plimsoll_pg_longest_transaction_seconds"] <= 0 {
		t.Error("no transaction is old")
	}
	r.exec(holder, "COMMIT")
	for _, done := range busy {
		failure.None(t, <-done)
	}
	// The server's processes report their counters a second late at most, each at its own time.
	r.exec(holder, "SELECT pg_stat_force_next_flush()", "SELECT 1")
	r.exec(idle, "SELECT 1", "CHECKPOINT")
	least := map[string]float64{
		`pg_stat_database_tup_updated{datname="chat"}`:  3,
		`pg_stat_database_tup_inserted{datname="chat"}`: 1000,
		`pg_stat_database_xact_commit{datname="chat"}`:  5,
		"plimsoll_pg_wal_bytes_total":                   50_000,
		"pg_stat_bgwriter_checkpoints_req_total":        1,
		"pg_stat_bgwriter_buffers_alloc_total":          1,
	}
	if _, ok := before["pg_stat_checkpointer_num_requested_total"]; ok { // from version 17 on
		delete(least, "pg_stat_bgwriter_checkpoints_req_total")
		least["pg_stat_checkpointer_num_requested_total"] = 1
	}
	r.grow(p, before, least)
	if got := r.restarts(p); got["plimsoll_pg_connections"] != 1 {
		t.Errorf("after a restart: %v", got)
	}
}

// No error holds a part of the DSN, and each tells the remedy.
func TestRefusals(t *testing.T) {
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			r := e.run(t, nil)
			r.exec(r.connect(r.s.DSN(r.admin)), r.users...)
			at := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(r.s.DSN(r.admin))
			cases := r.refusals(at)
			cases["no DSN"], cases["a word"] = refusal{}, refusal{dsn: "geheim"}
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					p, err := r.probe(c.dsn)
					if c.err != "" {
						failure.None(t, err)
						defer p.Close()
						ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
						defer cancel()
						err = failure.Of(p.Sample(ctx, time.Now()))
					}
					failure.Says(t, err, c.err)
					if text := fmt.Sprint(err); strings.Contains(text, "geheim") ||
						strings.Contains(text, "127.0.0.1") {
						t.Errorf("a part of the DSN is in %s", text)
					}
				})
			}
			p := r.watch(fmt.Sprintf(r.monitor, at))
			if got := r.sample(p); e.driver == "pgx" &&
				got[`pg_stat_activity_count{state="idle"}`] != 1 {
				t.Errorf("a monitor sees %v", got)
			}
			late, cancel := context.WithDeadline(r.ctx, time.Now().Add(-time.Second))
			defer cancel()
			failure.Says(t, failure.Of(p.Sample(late, time.Now())), "no answer in time")
		})
	}
}

// TestLag: a replica that stands still is behind by the time since the first write that it lacks,
// also when it does not answer, and by nothing when it has all.
func TestLag(t *testing.T) {
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			r := e.run(t, e.replicas)
			if d, err := r.s.Describe(r.ctx); err != nil || d.Name == "MySQL" {
				return // MariaDB alone has mirrors
			}
			replica, err := r.s.StartReplica(r.ctx, database.Config{Dir: t.TempDir()}, 0)
			failure.None(t, err)
			t.Cleanup(func() { failure.None(t, replica.Stop(context.Background())) })
			p, err := e.lag(r.s, replica)
			failure.None(t, err)
			defer p.Close()
			began := time.Now()
			lag := func(second int) (seconds, distance float64) {
				t.Helper()
				ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
				defer cancel()
				out, err := p.Sample(ctx, began.Add(time.Duration(second)*time.Second))
				if err != nil || len(out) != 2 ||
					out[0].Name != "plimsoll_replication_lag_seconds" {
					t.Fatalf("%v, %v", out, err)
				}
				return out[0].Value, out[1].Value
			}
			failure.Unless(t, func() bool {
				seconds, distance := lag(0)
				return seconds == 0 && distance == 0
			}, "the replica does not catch up")
			r.exec(r.connect(replica.DSN("chat")), e.pause)
			r.exec(r.connect(r.s.DSN("chat")), "CREATE TABLE x (i int)", e.fill)
			lag(10)
			if seconds, distance := lag(15); seconds != 5 || distance < e.distances[0] ||
				distance > e.distances[1] {
				t.Errorf(
					"5 s after the writes the replica is behind by %v s and %v, want from %v to %v",
					seconds,
					distance,
					e.distances[0],
					e.distances[1],
				)
			}
			failure.None(t, replica.Stop(r.ctx))
			if seconds, _ := lag(17); seconds != 7 {
				t.Errorf("a replica that has ended is behind by %v s, want 7", seconds)
			}
			failure.None(t, replica.Follow(r.ctx))
			failure.Unless(t, func() bool {
				seconds, _ := lag(20)
				return seconds < 2
			}, "the lag does not end")
		})
	}
}

// BenchmarkSample measures both sides of the cost: ns/op is the wait for the answer, client-ns/op
// the CPU time of this process and server-ns/op that of the server (in ticks of 10 ms; take some
// hundred samples).
func BenchmarkSample(b *testing.B) {
	for name, e := range engines {
		b.Run(name, func(b *testing.B) {
			r := e.run(b, nil)
			for range e.sessions {
				r.connect(r.s.DSN("chat"))
			}
			p := r.watch(r.s.DSN("chat"))
			r.sample(p)
			self, err := probe.NewSelf()
			failure.None(b, err)
			server := probe.NewProcess("db", r.s.PIDs)
			client, served := r.cpu(self), r.cpu(server)
			b.ReportAllocs()
			for b.Loop() {
				failure.None(b, failure.Of(p.Sample(r.ctx, time.Time{})))
			}
			b.ReportMetric((r.cpu(self)-client)*1e9/float64(b.N), "client-ns/op")
			b.ReportMetric((r.cpu(server)-served)*1e9/float64(b.N), "server-ns/op")
		})
	}
}

// cpu returns the seconds of CPU time that a probe of processes sees.
func (r *run) cpu(p probe.Probe) (sum float64) {
	r.t.Helper()
	samples, err := p.Sample(r.ctx, time.Now())
	failure.None(r.t, err)
	for _, s := range samples {
		if strings.HasSuffix(s.Name, "_cpu_seconds_total") {
			sum += s.Value
		}
	}
	return sum
}
