package postgresql_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
)

// TestStandby: a standby has what its primary has, follows it through a reset, and begins anew where it cannot.
func TestStandby(t *testing.T) {
	ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir(), Settings: postgresql.ForStandbys()})
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE posts (id int PRIMARY KEY)", "INSERT INTO posts SELECT generate_series(1, 100)")
	dir := t.TempDir()
	r, err := postgresql.StartStandby(ctx, postgresql.Config{Dir: dir}, s, "replica_0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	posts := func() int { return count(t, ctx, r.DSN("chat"), "SELECT count(*) FROM posts") }
	if got := posts(); got != 100 {
		t.Errorf("the standby begins with %d posts, want 100", got)
	}
	exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (101)")
	for end := time.Now().Add(time.Minute); posts() != 101; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a new row does not come")
		}
	}
	if got := count(t, ctx, r.DSN("chat"), "SELECT pg_is_in_recovery()::int"); got != 1 {
		t.Error("it follows no server")
	}
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "DELETE FROM posts")
	reset := func(what string) {
		t.Helper()
		began := time.Now()
		if err := s.Restore(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		if err := r.Follow(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s took %v", what, time.Since(began))
		if got := posts(); got != 101 {
			t.Errorf("%s: the standby has %d posts, want the 101 of the snapshot", what, got)
		}
	}
	reset("a reset")
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	reset("a reset with the standby stopped")
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	lost, err := filepath.EvalSymlinks(filepath.Join(dir, "elsewhere")) // where this user could not reach it
	if err != nil {
		lost = dir
	}
	if err := os.RemoveAll(filepath.Join(lost, "data", "base")); err != nil {
		t.Fatal(err)
	}
	reset("a reset of a standby that has lost its data")
}

// TestStandbyOfAnImage: a primary that turns back to a snapshot of its blocks is behind its standby, which must not keep
// what it had.
func TestStandbyOfAnImage(t *testing.T) {
	ctx, first := startServer(t, postgresql.Config{Dir: t.TempDir()})
	if err := first.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, first.DSN("chat"), "CREATE TABLE posts (id int)", "INSERT INTO posts VALUES (1)")
	data := filepath.Join(t.TempDir(), "data")
	if err := first.Export(ctx, data); err != nil {
		t.Fatal(err)
	}
	s, err := postgresql.Start(ctx, postgresql.Config{Dir: t.TempDir(), Data: data, Reset: lab.Image, Settings: postgresql.ForStandbys()})
	if err != nil {
		lacks := os.Geteuid() != 0 || strings.Contains(err.Error(), "no mkfs.xfs") || strings.Contains(err.Error(), "no loop devices")
		if lacks && os.Getenv("CI") != "true" {
			t.Skip(err) // as the tests of images do
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	r, err := postgresql.StartStandby(ctx, postgresql.Config{Dir: t.TempDir()}, s, "replica_0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		exec(t, ctx, s.DSN("chat"), "INSERT INTO posts SELECT generate_series(2, 5000)")
		if err := s.Restore(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		if err := r.Follow(ctx); err != nil {
			t.Fatal(err)
		}
		if got := count(t, ctx, r.DSN("chat"), "SELECT count(*) FROM posts"); got != 1 {
			t.Errorf("after a reset the standby has %d posts, want 1", got)
		}
	}
}
