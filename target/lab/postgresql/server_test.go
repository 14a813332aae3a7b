package postgresql_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/internal/failure"
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
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
	return ctx, s
}

// exec runs statements as a client of the server under test would: over TCP, with the password.
func exec(t *testing.T, ctx context.Context, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	failure.None(t, err)
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
	failure.None(t, err)
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func TestDescribe(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{
		Dir:      t.TempDir(),
		Settings: map[string]string{"work_mem": "7MB"},
	})
	d, err := s.Describe(ctx)
	failure.None(t, err)
	if d.Name != "PostgreSQL" || d.Version == "" {
		t.Errorf("Describe() = %q %q", d.Name, d.Version)
	}
	for k, want := range map[string]string{
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",
		"max_connections":    "300",
		"work_mem":           "7MB",
	} {
		if got := d.Settings[k]; got != want {
			t.Errorf("setting %s = %q, want %q", k, got, want)
		}
	}
}

// TestStaleLock starts on a data directory whose lock file names a process that exists, runs as the
// server's user and is not a server: PostgreSQL by itself refuses that.
func TestStaleLock(t *testing.T) {
	dir := t.TempDir()
	ctx, s := startServer(t, postgresql.Config{Dir: dir})
	failure.None(t, s.Stop(ctx))
	uid, gid := lab.Unprivileged("postgres")
	other, err := lab.Start(ctx, lab.Spec{
		Path: "/bin/sleep",
		Args: []string{"300"},
		UID:  uid,
		GID:  gid,
	})
	failure.None(t, err)
	defer func() { failure.None(t, other.Kill()) }()
	data := filepath.Join(dir, "elsewhere", "data")
	if _, err := os.Stat(data); err != nil {
		data = filepath.Join(dir, "data")
	}
	failure.None(t, os.WriteFile(
		filepath.Join(data, "postmaster.pid"),
		fmt.Appendf(nil, "%d\n%s\n", other.PID(), data),
		0o666,
	))
	startServer(t, postgresql.Config{Dir: dir})
}

// TestDataOfAnotherVersion: data begin with the version that wrote them.
func TestDataOfAnotherVersion(t *testing.T) {
	data := t.TempDir()
	failure.None(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o600))
	_, err := postgresql.Start(t.Context(), postgresql.Config{Dir: t.TempDir(), Data: data})
	failure.Says(t, err, "of PostgreSQL 9, but postgres (PostgreSQL) 1")
}

// sharedMemory returns the segments that a server's processes have mapped: its own, and no others
// of the host.
func sharedMemory(t *testing.T, pid int) (found []string) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	failure.None(t, err)
	for _, p := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		maps, _ := os.ReadFile("/proc/" + p + "/maps") // one that has ended has none
		for line := range strings.Lines(string(maps)) {
			if f := strings.Fields(line); len(f) == 6 &&
				strings.HasPrefix(f[5], "/dev/shm/PostgreSQL.") {
				found = append(found, f[5])
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("the server has no shared memory; this test needs another way to see it")
	}
	return found
}
