package dump_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/reference/dataset/dump"
	"plimsoll/target/lab"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

type store interface {
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	Export(ctx context.Context, dst string) error
	Stop(ctx context.Context) error
}

type server interface {
	store
	Snapshot(ctx context.Context, name string) error
	Restore(ctx context.Context, name string) error
	Describe(ctx context.Context) (lab.ProgramInfo, error)
	PIDs() []int
}

// start starts a server, on data if there are some, with a way of resets; the test is skipped where
// this host lacks it.
func start(t *testing.T, engine, data string, way lab.Copying) server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	//nolint:usetesting // a TempDir is closed to the server's user
	dir, err := os.MkdirTemp("", "dump-test-")
	noError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	noError(t, os.Chmod(dir, 0o755))
	var s server
	if engine == "postgresql" {
		s, err = postgresql.Start(ctx, postgresql.Config{Dir: dir, Data: data, Reset: way})
	} else {
		s, err = mysql.Start(ctx, mysql.Config{Dir: dir, Data: data, Reset: way})
	}
	if err != nil {
		if text := err.Error(); way == lab.Image &&
			(os.Geteuid() != 0 || strings.Contains(text, "no mkfs.xfs") || strings.Contains(text, "no loop devices")) {
			failure.Lacks(t, err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// TestResetIsExact writes to a database as a run does, resets it, and compares every cell of every
// table with the state before: with a running server, and with a stopped one.
func TestResetIsExact(t *testing.T) {
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			first := start(t, engine, "", lab.Auto)
			noError(t, first.CreateDatabase(t.Context(), "chat"))
			for _, statement := range []string{
				"CREATE TABLE posts (id int PRIMARY KEY, message varchar(2000))",
				"INSERT INTO posts VALUES (1, 'one'), (2, 'two'), (3, 'three')",
				"INSERT INTO posts SELECT a.id * 1000 + b.id * 100 + c.id * 10 + d.id, a.message FROM posts a, posts b, posts c, posts d",
			} {
				exec(t, first.DSN("chat"), statement)
			}
			data := filepath.Join(t.TempDir(), "data")
			noError(t, first.Export(t.Context(), data))
			for _, way := range []lab.Copying{lab.Plain, lab.Image} {
				t.Run(string(way), func(t *testing.T) {
					resetExactly(t, start(t, engine, data, way), way)
				})
			}
		})
	}
}

func resetExactly(t *testing.T, s server, way lab.Copying) {
	t.Helper()
	ctx := t.Context()
	desc, err := s.Describe(ctx)
	if err != nil || !strings.HasPrefix(desc.Settings[lab.ResetSetting], string(way)) {
		t.Errorf("described as reset by %q, want %s: %v", desc.Settings[lab.ResetSetting], way, err)
	}
	noError(t, s.Snapshot(ctx, "chat"))
	before, err := dump.Tables(ctx, s.DSN("chat"))
	if err != nil || len(before) != 1 || before[0].Rows != 84 {
		t.Fatalf("before: %+v, %v", before, err)
	}
	for try := range 2 {
		for _, statement := range []string{
			"INSERT INTO posts SELECT id + 100000, 'late' FROM posts",
			"UPDATE posts SET message = 'changed' WHERE id < 10", "DELETE FROM posts WHERE id = 2",
			"CREATE TABLE extra (id int)", "CREATE INDEX late ON posts (message)",
		} {
			exec(t, s.DSN("chat"), statement)
		}
		if have, err := dump.Tables(ctx, s.DSN("chat")); err != nil ||
			len(dump.Compare(before, have)) == 0 {
			t.Fatalf("the writes of a run leave no trace: %v", err)
		}
		if try == 1 {
			noError(t, s.Stop(ctx))
		}
		pids := s.PIDs()
		noError(t, s.Restore(ctx, "chat"))
		if now := s.PIDs(); len(now) != 1 || slices.Equal(now, pids) {
			t.Errorf("process before the reset %v, after %v: not restarted", pids, now)
		}
		have, err := dump.Tables(ctx, s.DSN("chat"))
		noError(t, err)
		if got := dump.Compare(before, have); len(got) > 0 {
			t.Errorf("reset %d: %v", try+1, got)
		}
	}
}
