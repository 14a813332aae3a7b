package probe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
	"plimsoll/watch/query"
)

// counters are the counters of either engine.
type counters interface {
	Begin(ctx context.Context) error
	End(ctx context.Context, most int) (query.Census, map[string]string, error)
	Plans(ctx context.Context, of []query.Statement, source map[string]string) error
}

// Statements are those between the readings, with their figures, and without constants or those of
// probes. Their plans are those of the server.
func TestStatements(t *testing.T) {
	for name, open := range map[string]func(dsn string) (counters, error){
		"postgresql": func(dsn string) (counters, error) { return postgresql.NewStatements(dsn) },
		"mysql":      func(dsn string) (counters, error) { return mysql.NewStatements(dsn) },
	} {
		t.Run(name, func(t *testing.T) {
			r := engines[name].run(t, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			dsn := r.s.DSN("chat")
			user := r.connect(dsn)
			r.exec(user, "CREATE TABLE posts (id int PRIMARY KEY, author int, n int)",
				"CREATE INDEX idx_author ON posts (author)", "INSERT INTO posts VALUES (1, 7, 0)")
			p := r.watch(dsn)
			c, err := open(dsn)
			failure.None(t, err)
			r.sample(p)
			failure.None(t, c.Begin(ctx))
			r.exec(user, "INSERT INTO posts VALUES (2, 7, 0), (3, 8, 0)",
				"/* PostStore.Get */ SELECT n FROM posts WHERE author = 7",
				"/* PostStore.Get */ SELECT n FROM posts WHERE  author = 8",
				map[string]string{
					"postgresql": "CREATE ROLE guest PASSWORD 'geheim7'",
					"mysql":      "CREATE USER guest IDENTIFIED BY 'geheim7'",
				}[name])
			prepared, err := user.PrepareContext(ctx, "UPDATE posts SET n = "+
				map[string]string{"postgresql": "$1", "mysql": "?"}[name])
			failure.None(t, err)
			for n := range 3 {
				_, err := prepared.ExecContext(ctx, n)
				failure.None(t, err)
			}
			// The server counts a statement after its answer; the connection's next answer comes later.
			failure.None(t, user.PingContext(ctx))
			r.sample(p)
			got, source, err := c.End(ctx, 500)
			failure.None(t, err)
			unplanned := c.Plans(ctx, got.Statements, source)
			find := func(part string) *query.Statement {
				for i, s := range got.Statements {
					if strings.Contains(s.Text, part) {
						return &got.Statements[i]
					}
				}
				t.Fatalf("no %q in %+v", part, got.Statements)
				return nil
			}
			read := find("SELECT")
			if read.Calls != 2 || read.Rows != 3 || read.Seconds <= 0 || read.Hit+read.Read <= 0 {
				t.Errorf("%+v", read)
			}
			if s := find("INSERT INTO"); s.Calls != 1 || s.Rows != 2 {
				t.Errorf("%+v", s)
			}
			if s := find("UPDATE"); s.Calls != 3 {
				t.Errorf("%+v", s)
			}
			if s := find("CREATE"); s.Calls != 1 {
				t.Errorf("%+v", s)
			}
			if n := len(got.Statements); n > 5 || !strings.Contains(got.Server, " 1") {
				t.Errorf("%d statements of %q: %+v", n, got.Server, got.Statements)
			}
			for _, s := range got.Statements {
				if strings.ContainsAny(s.Text, "78") || strings.Contains(s.Text, "geheim") {
					t.Errorf("a constant in %q", s.Text)
				}
			}
			var m *query.MissingError
			switch {
			case strings.HasPrefix(got.Server, "MariaDB"):
				if !errors.As(unplanned, &m) || m.Why != query.NoSamples || read.Plan != nil {
					t.Errorf("%v, %v", unplanned, read.Plan)
				}
			case name == "postgresql":
				if read.Operation != "PostStore.Get" {
					t.Errorf("of %q", read.Operation)
				}
				fallthrough
			default:
				if unplanned != nil || read.Plan == nil ||
					!strings.Contains(strings.Join(read.Plan.Lines(), "\n"), "posts") {
					t.Errorf("%v, %v", unplanned, read.Plan)
				}
			}
		})
	}
}

// A server that does not count them gives the line to enable it; a restart between the readings is
// noticed.
func TestStatementsThatAreMissing(t *testing.T) {
	r := engines["postgresql"].run(t, map[string]string{"shared_preload_libraries": ""})
	c, err := postgresql.NewStatements(r.s.DSN("chat"))
	failure.None(t, err)
	var m *query.MissingError
	if err := c.Begin(t.Context()); !errors.As(err, &m) || m.Why != query.Off ||
		!strings.Contains(m.Remedy, "shared_preload_libraries") {
		t.Errorf("off: %v", err)
	}
	r = engines["mysql"].run(t, map[string]string{"performance-schema": "OFF"})
	d, err := mysql.NewStatements(r.s.DSN("chat"))
	failure.None(t, err)
	if err := d.Begin(t.Context()); !errors.As(err, &m) || m.Why != query.Off {
		t.Errorf("off: %v", err)
	}
	failure.None(t, d.Close())
	r = engines["postgresql"].run(t, nil)
	c, err = postgresql.NewStatements(r.s.DSN("chat"))
	failure.None(t, errors.Join(err, c.Begin(t.Context()), r.s.Snapshot(t.Context(), "chat"),
		r.s.Restore(t.Context(), "chat")))
	if _, _, err := c.End(t.Context(), 9); !errors.As(err, &m) || m.Why != query.Reset {
		t.Errorf("a restart: %v", err)
	}
}
