package postgresql_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
)

// deadline bounds a whole test; the slowest machine needs a small part of it.
const deadline = 3 * time.Minute

func startServer(t *testing.T, conf postgresql.Config) (context.Context, *postgresql.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := postgresql.Start(ctx, conf)
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

// exec runs statements as a client of the server under test would: over TCP, with the password.
func exec(t *testing.T, ctx context.Context, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func count(t *testing.T, ctx context.Context, dsn, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func TestSnapshotAndRestore(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE posts (id int PRIMARY KEY)", "INSERT INTO posts SELECT generate_series(1, 1000)")
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	for run := range 3 {
		before := s.PIDs()
		// A client that forgot to disconnect must not keep the reset from happening.
		idle, err := pgx.Connect(ctx, s.DSN("chat"))
		if err != nil {
			t.Fatal(err)
		}
		if got := count(t, ctx, s.DSN("chat"), "SELECT count(*) FROM posts"); got != 1000 {
			t.Errorf("run %d starts with %d posts, want 1000", run, got)
		}
		exec(t, ctx, s.DSN("chat"), "INSERT INTO posts SELECT generate_series(1001, 3000)", "DELETE FROM posts WHERE id < 10", "CREATE TABLE extra ()")
		began := time.Now()
		if err := s.Restore(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		t.Logf("reset took %v", time.Since(began))
		if after := s.PIDs(); len(after) != 1 || slices.Equal(before, after) {
			t.Errorf("process before the reset %v, after %v: not restarted", before, after)
		}
		_ = idle.Close(ctx)
	}
	if got := count(t, ctx, s.DSN("chat"), "SELECT count(*) FROM pg_tables WHERE tablename = 'extra'"); got != 0 {
		t.Error("a table made during a run survived the reset")
	}
	if err := s.DropDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if got := count(t, ctx, s.DSN("postgres"), "SELECT count(*) FROM pg_database WHERE datname LIKE 'chat%'"); got != 0 {
		t.Errorf("%d databases left after the drop", got)
	}
}

// A server that died by itself, as when the host runs out of memory, is up again after a reset, at the same address,
// and nothing of the dead one is left.
func TestRestoreOfAServerThatDied(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE kept ()")
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE extra ()")
	dsn, pid := s.DSN("chat"), s.PIDs()[0]
	segments := sharedMemory(t, pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-ctx.Done():
		t.Fatal("the server survived SIGKILL")
	}
	if err := s.Restore(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if got := s.DSN("chat"); got != dsn {
		t.Error("the address changed")
	}
	if got := s.PIDs(); len(got) != 1 || got[0] == pid {
		t.Errorf("processes %v after the reset, %d before", got, pid)
	}
	if got := count(t, ctx, dsn, "SELECT count(*) FROM pg_tables WHERE tablename IN ('kept', 'extra')"); got != 1 {
		t.Errorf("%d of the two tables are there, want that of the snapshot alone", got)
	}
	for _, name := range segments {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
}

func TestRestoreWithoutSnapshot(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	err := s.Restore(ctx, "chat")
	if err == nil || !strings.Contains(err.Error(), "there is no snapshot") {
		t.Errorf("Restore() = %v, want a complaint about the missing snapshot", err)
	}
	// The refused reset must have left the database alone.
	exec(t, ctx, s.DSN("chat"), "SELECT 1")
}

func TestDescribe(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir(), Settings: map[string]string{"work_mem": "7MB"}})
	d, err := s.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "PostgreSQL" || d.Version == "" {
		t.Errorf("Describe() = %q %q", d.Name, d.Version)
	}
	for k, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_connections": "300", "work_mem": "7MB",
	} {
		if got := d.Settings[k]; got != want {
			t.Errorf("setting %s = %q, want %q", k, got, want)
		}
	}
}

// TestSecondServer starts a second server on a directory whose server runs, and expects the first to stay.
func TestSecondServer(t *testing.T) {
	dir := t.TempDir()
	_, s := startServer(t, postgresql.Config{Dir: dir})
	second, err := postgresql.Start(t.Context(), postgresql.Config{Dir: dir})
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

func TestStateOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, postgresql.Config{Dir: dir})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE kept ()")
	old := s.DSN("chat")
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.PIDs(); len(got) != 0 {
		t.Errorf("PIDs() after Stop = %v", got)
	}
	ctx, s = startServer(t, postgresql.Config{Dir: dir})
	if got := count(t, ctx, s.DSN("chat"), "SELECT count(*) FROM pg_tables WHERE tablename = 'kept'"); got != 1 {
		t.Error("the table is gone after a restart on the same directory")
	}
	if s.DSN("chat") == old {
		t.Error("the password did not change between two starts")
	}
}

func TestStrangersAreRefused(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, postgresql.Config{Dir: dir})
	dsn := s.DSN("postgres")
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	password := conf.Password
	conf.Password = "guess"
	if conn, err := pgx.ConnectConfig(ctx, conf); err == nil {
		conn.Close(ctx)
		t.Error("a wrong password was accepted over TCP")
	}
	if len(password) < 20 {
		t.Fatalf("the password has only %d characters", len(password))
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "elsewhere"))
	if errors.Is(err, os.ErrNotExist) {
		real = dir
	} else if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, root := range []string{dir, real} {
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
	if files < 100 {
		t.Errorf("looked into %d files only: that is no data directory", files)
	}
}

func TestPlacement(t *testing.T) {
	all, err := lab.AllowedCPUs(0)
	if err != nil {
		t.Fatal(err)
	}
	want := all[:1]
	_, s := startServer(t, postgresql.Config{Dir: t.TempDir(), CPUs: want})
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
		conf postgresql.Config
		err  string
	}{
		{"no directory", t.Context(), postgresql.Config{}, "state directory is required"},
		{"unknown setting", t.Context(), postgresql.Config{Dir: t.TempDir(), Settings: map[string]string{"no_such_thing": "1"}}, "no_such_thing"},
		{"ended context", canceled, postgresql.Config{Dir: t.TempDir()}, "canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := postgresql.Start(tt.ctx, tt.conf)
			if err == nil {
				_ = s.Stop(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Start() error = %v, want %q", err, tt.err)
			}
		})
	}
}

// TestStaleLock starts on a data directory whose lock file names a process that exists, runs as the
// server's user and is not a server: PostgreSQL by itself refuses that.
func TestStaleLock(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, postgresql.Config{Dir: dir})
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	uid, gid := lab.Unprivileged("postgres")
	other, err := lab.Start(ctx, lab.Spec{Path: "/bin/sleep", Args: []string{"300"}, UID: uid, GID: gid})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Kill(); err != nil {
			t.Error(err)
		}
	}()
	data := filepath.Join(dir, "elsewhere", "data")
	if _, err := os.Stat(data); err != nil {
		data = filepath.Join(dir, "data")
	}
	if err := os.WriteFile(filepath.Join(data, "postmaster.pid"), fmt.Appendf(nil, "%d\n%s\n", other.PID(), data), 0o666); err != nil {
		t.Fatal(err)
	}
	startServer(t, postgresql.Config{Dir: dir})
}

// TestExport takes the data out of one server and begins two others with it, one of which had data of its own.
func TestExport(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
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
		ctx, other := startServer(t, postgresql.Config{Dir: dir, Data: dump})
		if got := count(t, ctx, other.DSN("chat"), "SELECT count(*) FROM posts"); got != 3 {
			t.Errorf("the other server has %d rows, want 3", got)
		}
		exec(t, ctx, other.DSN("chat"), "DELETE FROM posts WHERE id = 1")
		if err := other.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dump, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := postgresql.Start(ctx, postgresql.Config{Dir: t.TempDir(), Data: dump}); err == nil || !strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("data of another version: %v", err)
	}
	if s, err := postgresql.Start(ctx, postgresql.Config{Dir: t.TempDir(), Data: filepath.Join(dump, "none")}); err == nil {
		t.Error("a server starts on data that is not there")
		_ = s.Stop(ctx)
	}
}

// A server that is ended at once takes its shared memory with it; no other program could distinguish the remains from
// a living server's.
func TestEndedAtOnceLeavesNoSharedMemory(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	segments := sharedMemory(t, s.PIDs()[0])
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Stop(ended); err != nil {
		t.Fatal(err)
	}
	for _, name := range segments {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
}

// sharedMemory returns the segments that a server's processes have mapped: its own, and no others of the host.
func sharedMemory(t *testing.T, pid int) (found []string) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		maps, _ := os.ReadFile("/proc/" + p + "/maps") // one that has ended has none
		for line := range strings.Lines(string(maps)) {
			if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[5], "/dev/shm/PostgreSQL.") {
				found = append(found, f[5])
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("the server has no shared memory; this test needs another way to see it")
	}
	return found
}
