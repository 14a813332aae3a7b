// Package reference runs the reference chat server on a fresh database for the tests of the
// commands. It serves nothing else: servers that commands start for their users go through package
// target.
package reference

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/reference/refchat"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// Start runs the server on a new database server, "mysql" or else PostgreSQL, until the test ends,
// and returns its URL. It sets the address, the database and the hash of passwords in cfg.
func Start(t testing.TB, engine string, cfg refchat.Config) (url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()) && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the database runs as another user
			t.Fatal(err)
		}
	}
	var err error
	var db interface {
		DSN(name string) string
		CreateDatabase(ctx context.Context, name string) error
		Stop(ctx context.Context) error
	}
	if engine == "mysql" {
		db, err = mysql.Start(ctx, mysql.Config{Dir: filepath.Join(dir, "my")})
	} else {
		db, err = postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(dir, "pg")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := db.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.DSN, cfg.Hash = "127.0.0.1:0", db.DSN("chat"), "bcrypt:4"
	s, err := refchat.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(run) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + s.Addr()
}
