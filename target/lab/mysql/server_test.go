package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/target/lab"
	"plimsoll/target/lab/mysql"
)

// deadline bounds a whole test; the slowest machine needs a small part of it.
const deadline = 5 * time.Minute

func startServer(t *testing.T, conf mysql.Config) (context.Context, *mysql.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := mysql.Start(ctx, conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ctx, s
}

// open connects as a client of the server under test would: over TCP, with the password.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	rest, ok := strings.CutPrefix(dsn, "mysql://")
	if !ok {
		t.Fatal("the DSN does not start with mysql://")
	}
	db, err := sql.Open("mysql", rest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, ctx context.Context, dsn string, statements ...string) {
	t.Helper()
	db := open(t, dsn)
	for _, stmt := range statements {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
}

func count(t *testing.T, ctx context.Context, dsn, query string) (n int) {
	t.Helper()
	if err := open(t, dsn).QueryRowContext(ctx, query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func testSnapshotAndRestore(t *testing.T, conf mysql.Config) {
	ctx, s := startServer(t, conf)
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE posts (id int PRIMARY KEY, message varchar(100))",
		"INSERT INTO posts SELECT help_keyword_id, 'first' FROM mysql.help_keyword WHERE help_keyword_id <= 300")
	rows := count(t, ctx, s.DSN("chat"), "SELECT count(*) FROM posts")
	if rows < 100 {
		t.Fatalf("only %d rows to begin with", rows)
	}
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		before := s.PIDs()
		if got := count(t, ctx, s.DSN("chat"), "SELECT count(*) FROM posts"); got != rows {
			t.Errorf("run %d starts with %d posts, want %d", run, got, rows)
		}
		exec(t, ctx, s.DSN("chat"), "INSERT INTO posts SELECT id + 10000, 'late' FROM posts", "DELETE FROM posts WHERE id < 10", "CREATE TABLE extra (id int)")
		began := time.Now()
		if err := s.Restore(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		t.Logf("reset took %v", time.Since(began))
		if after := s.PIDs(); len(after) != 1 || slices.Equal(before, after) {
			t.Errorf("process before the reset %v, after %v: not restarted", before, after)
		}
	}
	const extra = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'extra'"
	if got := count(t, ctx, s.DSN("chat"), extra); got != 0 {
		t.Error("a table made during a run survived the reset")
	}
	if err := s.DropDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if got := count(t, ctx, s.DSN("mysql"), "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'chat'"); got != 0 {
		t.Error("the database survived its drop")
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	testSnapshotAndRestore(t, mysql.Config{Dir: t.TempDir()})
}

func TestRestoreWithoutSnapshot(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
	err := s.Restore(ctx, "chat")
	if err == nil || !strings.Contains(err.Error(), "there is no snapshot") {
		t.Errorf("Restore() = %v, want a complaint about the missing snapshot", err)
	}
	if len(s.PIDs()) != 1 {
		t.Error("a refused reset stopped the server")
	}
}

func TestDescribe(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir(), Settings: map[string]string{"innodb_buffer_pool_size": "64M"}})
	d, err := s.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if (d.Name == "MariaDB") != strings.Contains(d.Version, "MariaDB") || d.Version == "" {
		t.Errorf("Describe() = %q %q", d.Name, d.Version)
	}
	for k, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON", "max_connections": "300",
		"character_set_server": "utf8mb4", "innodb_buffer_pool_size": fmt.Sprint(64 << 20),
	} {
		if got := d.Settings[k]; got != want {
			t.Errorf("setting %s = %q, want %q", k, got, want)
		}
	}
}

// TestSecondServer starts a second server on a directory whose server runs, and expects the first to stay.
func TestSecondServer(t *testing.T) {
	dir := t.TempDir()
	_, s := startServer(t, mysql.Config{Dir: dir})
	second, err := mysql.Start(t.Context(), mysql.Config{Dir: dir})
	if err == nil {
		_ = second.Stop(t.Context())
	}
	if !errors.Is(err, lab.ErrInUse) {
		t.Errorf("second Start() = %v, want ErrInUse", err)
	}
	if len(s.PIDs()) != 1 {
		t.Error("the first server is gone")
	}
}

// TestTemporaryFilesAreItsOwn: a server that starts removes the temporary tables of its directory, and those of another
// server must not be among them.
func TestTemporaryFilesAreItsOwn(t *testing.T) {
	temporary := map[string]bool{os.TempDir(): true}
	for range 2 {
		ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
		if err := s.CreateDatabase(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		var dir string
		if err := open(t, s.DSN("chat")).QueryRowContext(ctx, "SELECT @@tmpdir").Scan(&dir); err != nil {
			t.Fatal(err)
		}
		if temporary[filepath.Clean(dir)] {
			t.Errorf("temporary files are in %s, as those of others", dir)
		}
		temporary[filepath.Clean(dir)] = true
	}
}

func TestStateOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, mysql.Config{Dir: dir})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE kept (id int)")
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	old := s.DSN("chat")
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.PIDs(); len(got) != 0 {
		t.Errorf("PIDs() after Stop = %v", got)
	}
	ctx, s = startServer(t, mysql.Config{Dir: dir})
	const kept = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'kept'"
	if got := count(t, ctx, s.DSN("chat"), kept); got != 1 {
		t.Error("the table is gone after a restart on the same directory")
	}
	if s.DSN("chat") == old {
		t.Error("the password did not change between two starts")
	}
	// The snapshot holds the old password's hash; the new one must be valid after a reset all the same.
	if err := s.Restore(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if got := count(t, ctx, s.DSN("chat"), kept); got != 1 {
		t.Error("the table is gone after a reset to a snapshot of an earlier server")
	}
	// A kill -9 while a reset removes the data: they have lost their name, and half of the files.
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(stateDir(t, dir), "data")
	if err := os.Rename(data, data+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data + ".old/mysql"); err != nil {
		t.Fatal(err)
	}
	ctx, s = startServer(t, mysql.Config{Dir: dir})
	if got := count(t, ctx, s.DSN("chat"), kept); got != 1 {
		t.Error("the table is gone after a reset that was cut short")
	}
	if _, err := os.Stat(data + ".old"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of the old data is still there (%v)", err)
	}
}

// stateDir returns where the state of a server with this directory really is.
func stateDir(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "elsewhere"))
	if errors.Is(err, os.ErrNotExist) {
		return dir
	}
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestStrangersAreRefused(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, mysql.Config{Dir: dir})
	conf, err := driver.ParseDSN(strings.TrimPrefix(s.DSN("mysql"), "mysql://"))
	if err != nil {
		t.Fatal(err)
	}
	password := conf.Passwd
	for _, who := range []struct{ user, password string }{{conf.User, "guess"}, {conf.User, ""}, {"root", ""}, {"", ""}} {
		conf.User, conf.Passwd = who.user, who.password
		connector, err := driver.NewConnector(conf)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		if err := db.PingContext(ctx); err == nil {
			t.Errorf("user %q with password %q was accepted over TCP", who.user, who.password)
		}
		db.Close()
	}
	if len(password) < 20 {
		t.Fatalf("the password has only %d characters", len(password))
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
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Errorf("looked into %d files only: that is no data directory", files)
	}
}

func TestPlacement(t *testing.T) {
	all, err := lab.AllowedCPUs(0)
	if err != nil {
		t.Fatal(err)
	}
	want := all[:1]
	_, s := startServer(t, mysql.Config{Dir: t.TempDir(), CPUs: want})
	got, err := lab.AllowedCPUs(s.PIDs()[0])
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the server may use CPUs %v (%v), want %v", got, err, want)
	}
}

func TestStartErrors(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		conf mysql.Config
		err  string
	}{
		{"no directory", t.Context(), mysql.Config{}, "state directory is required"},
		{"unknown setting", t.Context(), mysql.Config{Dir: t.TempDir(), Settings: map[string]string{"no_such_thing": "1"}}, "no-such-thing"},
		{"ended context", canceled, mysql.Config{Dir: t.TempDir()}, "canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := mysql.Start(tt.ctx, tt.conf)
			if err == nil {
				_ = s.Stop(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Start() error = %v, want %q", err, tt.err)
			}
		})
	}
}

// TestExport takes the data out of one server and begins two others with it, one of which had data of its own.
func TestExport(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE posts (id int PRIMARY KEY)", "INSERT INTO posts VALUES (1), (2), (3)")
	dump := filepath.Join(t.TempDir(), "data")
	if err := s.Export(ctx, dump); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (4)") // it goes on, and the export does not
	dir := t.TempDir()
	for range 2 {
		ctx, other := startServer(t, mysql.Config{Dir: dir, Data: dump})
		if got := count(t, ctx, other.DSN("chat"), "SELECT count(*) FROM posts"); got != 3 {
			t.Errorf("the other server has %d rows, want 3", got)
		}
		exec(t, ctx, other.DSN("chat"), "DELETE FROM posts WHERE id = 1")
		if err := other.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := mysql.Start(ctx, mysql.Config{Dir: t.TempDir(), Data: filepath.Join(dump, "none")}); err == nil {
		t.Error("a server starts on data that is not there")
		_ = s.Stop(ctx)
	}
}
