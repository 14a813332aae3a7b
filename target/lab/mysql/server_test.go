package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/mysql"
)

// deadline bounds a whole test; the slowest machine needs a small part of it.
const deadline = 5 * time.Minute

func startServer(t *testing.T, conf mysql.Config) (context.Context, *mysql.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := mysql.Start(ctx, conf)
	failure.None(t, err)
	t.Cleanup(func() { failure.None(t, s.Stop(context.Background())) })
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
	failure.None(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestDescribe(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{
		Dir:      t.TempDir(),
		Settings: map[string]string{"innodb_buffer_pool_size": "64M"},
	})
	d, err := s.Describe(ctx)
	failure.None(t, err)
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

// TestTemporaryFilesAreItsOwn: a server that starts removes the temporary tables of its directory,
// and those of another server must not be among them.
func TestTemporaryFilesAreItsOwn(t *testing.T) {
	temporary := map[string]bool{os.TempDir(): true}
	for range 2 {
		ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
		failure.None(t, s.CreateDatabase(ctx, "chat"))
		var dir string
		failure.None(t, open(t, s.DSN("chat")).QueryRowContext(ctx, "SELECT @@tmpdir").Scan(&dir))
		if temporary[filepath.Clean(dir)] {
			t.Errorf("temporary files are in %s, as those of others", dir)
		}
		temporary[filepath.Clean(dir)] = true
	}
}

func TestStrangersAreRefused(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir()})
	conf, err := driver.ParseDSN(strings.TrimPrefix(s.DSN("mysql"), "mysql://"))
	failure.None(t, err)
	conf.Passwd = ""
	for _, user := range []string{conf.User, "root", ""} {
		conf.User = user
		connector, err := driver.NewConnector(conf)
		failure.None(t, err)
		db := sql.OpenDB(connector)
		if err := db.PingContext(ctx); err == nil {
			t.Errorf("user %q without a password was accepted over TCP", user)
		}
		db.Close()
	}
}
