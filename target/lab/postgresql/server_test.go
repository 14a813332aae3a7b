package postgresql_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Nothing of a server that died by itself is left after a reset.
func TestRestoreOfAServerThatDied(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	pid := s.PIDs()[0]
	segments := sharedMemory(t, pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Restore(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	for _, name := range segments {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
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

// TestDataOfAnotherVersion: data begin with the version that wrote them.
func TestDataOfAnotherVersion(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := postgresql.Start(t.Context(), postgresql.Config{Dir: t.TempDir(), Data: data})
	if err == nil || !strings.Contains(err.Error(), "of PostgreSQL 9, but postgres (PostgreSQL) 1") {
		t.Errorf("data of another version: %v", err)
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
