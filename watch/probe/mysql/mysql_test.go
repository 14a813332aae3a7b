package mysql_test

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/internal/failure"
	server "plimsoll/target/lab/mysql"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/series"
)

var _ probe.Probe = (*mysql.StatusProbe)(nil)

var role = []series.Label{{Name: "role", Value: "db"}, {Name: "instance", Value: "db-0"}}

const labels = `role="db",instance="db-0"`

func start(t testing.TB) (context.Context, *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	s, err := server.Start(ctx, server.Config{Dir: t.TempDir()})
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	return ctx, s
}

func connect(t testing.TB, ctx context.Context, dsn string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("mysql", strings.TrimPrefix(dsn, "mysql://"))
	failure.None(t, err)
	t.Cleanup(func() { db.Close() })
	c, err := db.Conn(ctx)
	failure.None(t, err)
	return c
}

func exec(t testing.TB, ctx context.Context, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// sample returns the series by their keys, without the labels that all have.
func sample(t testing.TB, ctx context.Context, p *mysql.StatusProbe) map[string]float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := p.Sample(ctx, time.Now())
	failure.None(t, err)
	m := map[string]float64{}
	for i := range s {
		k := strings.Replace(string(s[i].AppendKey(nil)), labels, "", 1)
		k = strings.TrimPrefix(strings.Replace(strings.Replace(k, "{,", "{", 1), "{}", "", 1), "mysql_global_")
		if _, dup := m[k]; dup {
			t.Errorf("%s occurs twice", k)
		}
		m[k] = s[i].Value
	}
	return m
}

func TestMySQL(t *testing.T) {
	ctx, s := start(t)
	p, err := mysql.New(s.DSN("chat"), role...)
	failure.None(t, err)
	defer p.Close()
	if p.Name() != "mysql db-0" {
		t.Errorf("name %q", p.Name())
	}
	before := sample(t, ctx, p)
	if !regexp.MustCompile(`^(MariaDB|MySQL) [0-9]+\.[0-9]+`).MatchString(p.Server()) {
		t.Errorf("server %q", p.Server())
	}
	if most := before["variables_max_connections"]; most < 100 || before["plimsoll_mysql_connections_used_ratio"] != before["status_threads_connected"]/most {
		t.Errorf("connections: %v of %v is %v", before["status_threads_connected"], most, before["plimsoll_mysql_connections_used_ratio"])
	}
	holder, waiter, idle := connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat")), connect(t, ctx, s.DSN("chat"))
	exec(t, ctx, idle, "CREATE TABLE posts (id int PRIMARY KEY, n int, body text) ENGINE=InnoDB", "INSERT INTO posts VALUES (1, 0, 'a'), (2, 0, 'b')")
	exec(t, ctx, idle, "SELECT body, count(*) FROM posts GROUP BY body ORDER BY count(*)")
	exec(t, ctx, holder, "BEGIN", "UPDATE posts SET n = 1 WHERE id = 1")
	done := make(chan error, 1)
	go func() { _, err := waiter.ExecContext(ctx, "UPDATE posts SET n = 2 WHERE id = 1"); done <- err }()
	var got map[string]float64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = sample(t, ctx, p); got["status_innodb_row_lock_current_waits"] == 1 {
			break
		}
	}
	if got["status_innodb_row_lock_current_waits"] != 1 || got["status_threads_connected"] != 4 || got["status_threads_running"] < 2 {
		t.Errorf("one session waits for a row, of four: %v waits, %v connected, %v running", got["status_innodb_row_lock_current_waits"],
			got["status_threads_connected"], got["status_threads_running"])
	}
	exec(t, ctx, holder, "COMMIT")
	failure.None(t, <-done)
	got = sample(t, ctx, p)
	for k, least := range map[string]float64{
		"status_innodb_row_lock_waits": 1, `status_commands_total{command="update"}`: 2, `status_commands_total{command="insert"}`: 1,
		"status_questions": 5, "status_created_tmp_tables": 1, "status_innodb_buffer_pool_read_requests": 1, "status_connections": 3,
		"status_innodb_os_log_written": 1,
	} {
		if d := got[k] - before[k]; d < least {
			t.Errorf("%s grew by %v, want at least %v", k, d, least)
		}
	}
	if got["variables_innodb_buffer_pool_size"] < 1<<20 || got[`status_buffer_pool_pages{state="data"}`] <= 0 || got[`status_buffer_pool_pages{state="free"}`] <= 0 {
		t.Errorf("buffer pool: %v bytes, pages %v and %v", got["variables_innodb_buffer_pool_size"], got[`status_buffer_pool_pages{state="data"}`], got[`status_buffer_pool_pages{state="free"}`])
	}
	t.Logf("%d series", len(got))

	// A server that restarts: an error without secrets at most, then all is well again.
	failure.None(t, s.Snapshot(ctx, "chat"))
	failure.None(t, s.Restore(ctx, "chat"))
	for i := range 5 {
		_, err = p.Sample(ctx, time.Now())
		if err == nil {
			break
		}
		t.Logf("sample %d after the restart: %v", i, err)
	}
	failure.None(t, err)
}

func TestRefusals(t *testing.T) {
	ctx, s := start(t)
	admin := connect(t, ctx, s.DSN("chat"))
	exec(t, ctx, admin, "CREATE USER 'monitor'@'127.0.0.1' IDENTIFIED BY 'geheim'", "GRANT USAGE ON *.* TO 'monitor'@'127.0.0.1'")
	conf, err := driver.ParseDSN(strings.TrimPrefix(s.DSN("chat"), "mysql://"))
	failure.None(t, err)
	for name, c := range map[string]struct{ dsn, err string }{
		"password": {"monitor:falsch-geheim@tcp(" + conf.Addr + ")/", "refuses the user or password of the DSN (error "},
		"database": {"monitor:geheim@tcp(" + conf.Addr + ")/geheim", "may not use its database (error 1044)"},
		"nobody":   {"geheim:geheim@tcp(127.0.0.1:1)/geheim", "connection refused"},
		"no host":  {"geheim:geheim@tcp(geheim.invalid:3306)/geheim", "cannot be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mysql.New(c.dsn, role...)
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
	p, err := mysql.New("mysql://monitor:geheim@tcp("+conf.Addr+")/", role...)
	failure.None(t, err)
	defer p.Close()
	sample(t, ctx, p) // a user without any privilege
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	failure.Says(t, failure.Of(p.Sample(late, time.Now())), "no answer in time")
	for _, dsn := range []string{"", "user:geheim@host:port/db", "geheim"} {
		if _, err := mysql.New(dsn); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("New(%q): %v", dsn, err)
		}
	}
}

// BenchmarkSample measures both sides of the cost: ns/op is the wait for the answer, client-ns/op the CPU time of
// this process and server-ns/op that of the server (in ticks of 10 ms; take some hundred samples).
func BenchmarkSample(b *testing.B) {
	ctx, s := start(b)
	p, err := mysql.New(s.DSN("chat"), role...)
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
