package database_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// deadline bounds a whole test; the slowest machine needs a small part of it.
const deadline = 5 * time.Minute

// An engine is one of the two with the facts that its tests need.
type engine struct {
	start    func(context.Context, database.Config) (*database.Server, error)
	replicas map[string]string
	driver   string
	vital    string // directory of the data without which no server starts
	setting  string // as an unknown one is reported
}

var engines = map[string]engine{
	"postgresql": {postgresql.Start, postgresql.ForStandbys(), "pgx", "base", "no_such_thing"},
	"mysql":      {mysql.Start, mysql.ForMirrors(), "mysql", "mysql", "no-such-thing"},
}

// both runs a test with each engine.
func both(t *testing.T, test func(t *testing.T, e engine)) {
	for name, e := range engines {
		t.Run(name, func(t *testing.T) { test(t, e) })
	}
}

func (e engine) server(t *testing.T, conf database.Config) (context.Context, *database.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := e.start(ctx, conf)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	return ctx, s
}

// open connects as a client of the server under test would: over TCP, with the password.
func (e engine) open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(e.driver, strings.TrimPrefix(dsn, "mysql://"))
	failure.None(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func (e engine) exec(t *testing.T, ctx context.Context, dsn string, statements ...string) {
	t.Helper()
	db := e.open(t, dsn)
	defer db.Close()
	for _, stmt := range statements {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
}

func (e engine) count(t *testing.T, ctx context.Context, dsn, query string) (n int) {
	t.Helper()
	db := e.open(t, dsn)
	defer db.Close()
	if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// has expects a number of posts in the database chat.
func (e engine) has(
	t *testing.T,
	ctx context.Context,
	s interface{ DSN(db string) string },
	want int,
) {
	t.Helper()
	if got := e.count(t, ctx, s.DSN("chat"), posts); got != want {
		t.Errorf("%d posts, want %d", got, want)
	}
}

// filled returns a server with the database chat of three posts.
func (e engine) filled(t *testing.T, conf database.Config) (context.Context, *database.Server) {
	t.Helper()
	ctx, s := e.server(t, conf)
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	e.exec(
		t,
		ctx,
		s.DSN("chat"),
		"CREATE TABLE posts (id int PRIMARY KEY)",
		"INSERT INTO posts VALUES (1), (2), (3)",
	)
	return ctx, s
}

const (
	posts = "SELECT count(*) FROM posts"
	extra = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'extra'"
)

func TestSnapshotAndRestore(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		ctx, s := e.filled(t, database.Config{Dir: t.TempDir()})
		failure.None(t, s.Snapshot(ctx, "chat"))
		for range 3 {
			before := s.PIDs()
			e.has(t, ctx, s, 3)
			// A client that forgot to disconnect must not keep the reset from happening.
			failure.None(t, e.open(t, s.DSN("chat")).PingContext(ctx))
			e.exec(t, ctx, s.DSN("chat"), "INSERT INTO posts SELECT id + 10 FROM posts",
				"DELETE FROM posts WHERE id < 3", "CREATE TABLE extra (id int)")
			began := time.Now()
			failure.None(t, s.Restore(ctx, "chat"))
			t.Logf("reset took %v", time.Since(began))
			if after := s.PIDs(); len(after) != 1 || slices.Equal(before, after) {
				t.Errorf("process before the reset %v, after %v: not restarted", before, after)
			}
		}
		if got := e.count(t, ctx, s.DSN("chat"), extra); got != 0 {
			t.Error("a table made during a run survived the reset")
		}
		failure.None(t, s.DropDatabase(ctx, "chat"))
		if err := e.open(t, s.DSN("chat")).PingContext(ctx); err == nil {
			t.Error("the database survived its drop")
		}
	})
}

// A server that died by itself, as when the host runs out of memory, is up again after a reset, at
// the same address.
func TestRestoreOfAServerThatDied(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		ctx, s := e.filled(t, database.Config{Dir: t.TempDir()})
		failure.None(t, s.Snapshot(ctx, "chat"))
		e.exec(t, ctx, s.DSN("chat"), "DELETE FROM posts")
		dsn, pid := s.DSN("chat"), s.PIDs()[0]
		failure.None(t, syscall.Kill(pid, syscall.SIGKILL))
		select {
		case <-s.Done():
		case <-ctx.Done():
			t.Fatal("the server survived SIGKILL")
		}
		failure.None(t, s.Restore(ctx, "chat"))
		if got := s.DSN("chat"); got != dsn {
			t.Error("the address changed")
		}
		if got := s.PIDs(); len(got) != 1 || got[0] == pid {
			t.Errorf("processes %v after the reset, %d before", got, pid)
		}
		if got := e.count(t, ctx, dsn, posts); got != 3 {
			t.Errorf("%d posts after the reset, want 3", got)
		}
	})
}

func TestRestoreWithoutSnapshot(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		ctx, s := e.filled(t, database.Config{Dir: t.TempDir()})
		err := s.Restore(ctx, "chat")
		failure.Says(t, err, "there is no snapshot")
		// The refused reset must have left the database alone.
		e.count(t, ctx, s.DSN("chat"), posts)
	})
}

// TestSecondServer starts a second server on a directory whose server runs, and expects the first
// to stay.
func TestSecondServer(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		dir := t.TempDir()
		_, s := e.server(t, database.Config{Dir: dir})
		second, err := e.start(t.Context(), database.Config{Dir: dir})
		if err == nil {
			_ = second.Stop(t.Context())
		}
		failure.Is(t, err, lab.ErrInUse)
		if len(s.PIDs()) != 1 {
			t.Error("the first server is gone")
		}
	})
}

func TestStateOutlivesTheServer(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		dir := t.TempDir()
		ctx, s := e.filled(t, database.Config{Dir: dir})
		failure.None(t, s.Snapshot(ctx, "chat"))
		old := s.DSN("chat")
		failure.None(t, s.Stop(ctx))
		if got := s.PIDs(); len(got) != 0 {
			t.Errorf("PIDs() after Stop = %v", got)
		}
		ctx, s = e.server(t, database.Config{Dir: dir})
		e.has(t, ctx, s, 3)
		if s.DSN("chat") == old {
			t.Error("the password did not change between two starts")
		}
		// The snapshot holds the old password's hash; the new one must be valid after a reset all
		// the same.
		failure.None(t, s.Restore(ctx, "chat"))
		e.has(t, ctx, s, 3)
		failure.None(t, s.Stop(ctx))
		data := filepath.Join(stateDir(t, dir), "data")
		if _, err := os.Stat(filepath.Join(filepath.Dir(data), "snapshot")); err != nil {
			return // it is inside the data
		}
		// A kill -9 while a reset removes the data: they have lost their name, and half of the
		// files.
		failure.None(t, os.Rename(data, data+".old"))
		failure.None(t, os.RemoveAll(filepath.Join(data+".old", e.vital)))
		ctx, s = e.server(t, database.Config{Dir: dir})
		e.has(t, ctx, s, 3)
		failure.Gone(t, data+".old")
	})
}

// stateDir returns where the state of a server with this directory really is.
func stateDir(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "elsewhere"))
	if errors.Is(err, os.ErrNotExist) {
		return dir
	}
	failure.None(t, err)
	return real
}

func TestStrangersAreRefused(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		dir := t.TempDir()
		ctx, s := e.filled(t, database.Config{Dir: dir})
		password := passwordOf(t, s.DSN("chat"))
		if len(password) < 20 {
			t.Fatalf("the password has only %d characters", len(password))
		}
		wrong := strings.Replace(s.DSN("chat"), password, "guess", 1)
		if err := e.open(t, wrong).PingContext(ctx); err == nil {
			t.Error("a wrong password was accepted over TCP")
		}
		files := 0
		for _, root := range []string{dir, stateDir(t, dir)} {
			err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				files++
				if strings.Contains(string(b), password) {
					t.Errorf("%s holds the password", path)
				}
				return nil
			})
			failure.None(t, err)
		}
		if files < 50 {
			t.Errorf("looked into %d files only: that is no data directory", files)
		}
	})
}

func passwordOf(t *testing.T, dsn string) string {
	t.Helper()
	if rest, ok := strings.CutPrefix(dsn, "mysql://"); ok {
		conf, err := driver.ParseDSN(rest)
		failure.None(t, err)
		return conf.Passwd
	}
	conf, err := pgx.ParseConfig(dsn)
	failure.None(t, err)
	return conf.Password
}

func TestPlacement(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		all, err := lab.AllowedCPUs(0)
		failure.None(t, err)
		want := all[:1]
		_, s := e.server(t, database.Config{Dir: t.TempDir(), CPUs: want})
		got, err := lab.AllowedCPUs(s.PIDs()[0])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the server may use CPUs %v (%v), want %v", got, err, want)
		}
	})
}

func TestStartErrors(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		unknown := map[string]string{"no_such_thing": "1"}
		tests := []struct {
			name string
			ctx  context.Context
			conf database.Config
			err  string
		}{
			{"no directory", t.Context(), database.Config{}, "state directory is required"},
			{"unknown setting", t.Context(), database.Config{
				Dir:      t.TempDir(),
				Settings: unknown,
			}, e.setting},
			{"ended context", canceled, database.Config{Dir: t.TempDir()}, "canceled"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				s, err := e.start(tt.ctx, tt.conf)
				if err == nil {
					_ = s.Stop(t.Context())
				}
				failure.Says(t, err, tt.err)
			})
		}
	})
}

// TestExport takes the data out of one server and begins two others with it, one of which had data
// of its own.
func TestExport(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		ctx, s := e.filled(t, database.Config{Dir: t.TempDir()})
		dump := filepath.Join(t.TempDir(), "data")
		failure.None(t, s.Export(ctx, dump))
		// it goes on, and the export does not
		e.exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (4)")
		dir := t.TempDir()
		for range 2 {
			ctx, other := e.server(t, database.Config{Dir: dir, Data: dump})
			e.has(t, ctx, other, 3)
			e.exec(t, ctx, other.DSN("chat"), "DELETE FROM posts WHERE id = 1")
			failure.None(t, other.Stop(ctx))
		}
		none := filepath.Join(dump, "none")
		if s, err := e.start(ctx, database.Config{Dir: t.TempDir(), Data: none}); err == nil {
			t.Error("a server starts on data that is not there")
			_ = s.Stop(ctx)
		}
	})
}

// TestReplica: a replica has what its primary has, repeats its changes, and is its snapshot again
// after a reset.
func TestReplica(t *testing.T) {
	both(t, func(t *testing.T, e engine) {
		ctx, s := e.filled(t, database.Config{Dir: t.TempDir(), Settings: e.replicas})
		dir := t.TempDir()
		if d, err := s.Describe(ctx); err != nil || d.Name == "MySQL" {
			_, err := s.StartReplica(ctx, database.Config{Dir: dir}, 0)
			failure.Says(t, err, "install mariadb-server")
			return
		}
		r, err := s.StartReplica(ctx, database.Config{Dir: dir}, 0)
		failure.None(t, err)
		t.Cleanup(func() { failure.None(t, r.Stop(context.Background())) })
		becomes := func(n int) {
			t.Helper()
			failure.Unless(t, func() bool {
				return e.count(t, ctx, r.DSN("chat"), posts) == n
			}, "the replica does not get ", n, " posts")
		}
		e.has(t, ctx, r, 3)
		e.exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (4)")
		becomes(4)
		failure.None(t, s.Snapshot(ctx, "chat"))
		e.exec(t, ctx, s.DSN("chat"), "DELETE FROM posts")
		for _, lost := range []bool{false, true, false} {
			began := time.Now()
			failure.None(t, s.Restore(ctx, "chat"))
			failure.None(t, r.Follow(ctx))
			t.Logf("a reset took %v", time.Since(began))
			e.has(t, ctx, r, 4)
			e.exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (5)")
			becomes(5)
			failure.None(t, r.Stop(ctx)) // as a halt does
			if !lost {
				continue
			}
			failure.None(t, os.RemoveAll(filepath.Join(stateDir(t, dir), "data", e.vital)))
		}
	})
}
