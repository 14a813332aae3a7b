package postgresql_test

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/postgresql"
)

// TestBackupOfASubscriber: a server on the backup of a subscriber does not subscribe as well, and
// the subscriber goes on.
func TestBackupOfASubscriber(t *testing.T) {
	ctx, theirs := startServer(t, postgresql.Config{Dir: t.TempDir()})
	exec(
		t,
		ctx,
		theirs.DSN("postgres"),
		"CREATE TABLE kept ()",
		"CREATE SUBSCRIPTION news CONNECTION 'host=127.0.0.1 port=1 dbname=news' PUBLICATION news WITH (connect = false)",
		"UPDATE pg_subscription SET subenabled = true",
	)
	//nolint:usetesting // a TempDir is closed to the server's user
	work, err := os.MkdirTemp("", "backup-test-")
	failure.None(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	failure.None(t, os.Chmod(work, 0o755))
	data, _, err := postgresql.Backup(ctx, theirs.DSN("postgres"), filepath.Join(work, "backup"))
	failure.None(t, err)
	_, ours := startServer(t, postgresql.Config{Dir: t.TempDir(), Data: data})
	for _, c := range []struct {
		name string
		of   *postgresql.Server
		want int
	}{{"theirs", theirs, 1}, {"ours", ours, 0}} {
		if got := count(t, ctx, c.of.DSN("postgres"), "SELECT count(*) FROM pg_subscription WHERE subenabled"); got != c.want {
			t.Errorf("%s: %d subscriptions are on, want %d", c.name, got, c.want)
		}
	}
	if got := count(t, ctx, ours.DSN("postgres"), "SELECT count(*) FROM pg_tables WHERE tablename = 'kept'"); got != 1 {
		t.Error("the backup has no table")
	}
}
