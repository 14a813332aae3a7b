package postgresql_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/postgresql"
)

// TestStandbyOfAnImage: a primary that turns back to a snapshot of its blocks is behind its
// standby, which must not keep what it had.
func TestStandbyOfAnImage(t *testing.T) {
	ctx, first := startServer(t, postgresql.Config{Dir: t.TempDir()})
	failure.None(t, first.CreateDatabase(ctx, "chat"))
	exec(t, ctx, first.DSN("chat"), "CREATE TABLE posts (id int)", "INSERT INTO posts VALUES (1)")
	data := filepath.Join(t.TempDir(), "data")
	failure.None(t, first.Export(ctx, data))
	s, err := postgresql.Start(ctx, postgresql.Config{
		Dir:      t.TempDir(),
		Data:     data,
		Reset:    lab.Image,
		Settings: postgresql.ForStandbys(),
	})
	if err != nil {
		lacks := os.Geteuid() != 0 || strings.Contains(err.Error(), "no mkfs.xfs") ||
			strings.Contains(err.Error(), "no loop devices")
		if lacks && os.Getenv("CI") != "true" {
			t.Skip(err) // as the tests of images do
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	r, err := s.StartReplica(ctx, postgresql.Config{Dir: t.TempDir()}, 0)
	failure.None(t, err)
	t.Cleanup(func() { _ = r.Stop(context.Background()) })
	failure.None(t, s.Snapshot(ctx, "chat"))
	for range 2 {
		exec(t, ctx, s.DSN("chat"), "INSERT INTO posts SELECT generate_series(2, 5000)")
		failure.None(t, s.Restore(ctx, "chat"))
		failure.None(t, r.Follow(ctx))
		if got := count(t, ctx, r.DSN("chat"), "SELECT count(*) FROM posts"); got != 1 {
			t.Errorf("after a reset the standby has %d posts, want 1", got)
		}
	}
}
