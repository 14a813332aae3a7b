package refchat_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/reference/refchat"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
)

// dbServer is a database server of either engine, private to these tests.
type dbServer interface {
	DSN(db string) string
	CreateDatabase(ctx context.Context, name string) error
	Stop(ctx context.Context) error
}

// engines are the two databases that every test runs on. A machine that cannot start one fails all
// tests.
var engines = map[string]dbServer{}

func TestMain(m *testing.M) {
	code, err := withEngines(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the databases:", err)
		code = 1
	}
	os.Exit(code)
}

func withEngines(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "refchat-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // the servers run as other users
		return 0, err
	}
	defer func() {
		for name, e := range engines {
			if serr := e.Stop(context.Background()); serr != nil && err == nil {
				err = fmt.Errorf("stopping %s: %w", name, serr)
			}
		}
	}()
	pg, err := postgresql.Start(ctx, postgresql.Config{
		Dir: dir + "/postgresql",
		Settings: map[string]string{
			"fsync":              "off",
			"synchronous_commit": "off",
			"full_page_writes":   "off",
		},
	})
	if err != nil {
		return 0, err
	}
	engines["postgresql"] = pg
	my, err := mysql.Start(ctx, mysql.Config{
		Dir: dir + "/mysql",
		Settings: map[string]string{
			"innodb_flush_log_at_trx_commit": "0",
			"loose-debug-no-sync":            "1",
		},
	})
	if err != nil {
		return 0, err
	}
	engines["mysql"] = my
	return m.Run(), nil
}

var databases atomic.Int64

// database makes an empty database and returns its DSN.
func database(t testing.TB, engine string) string {
	t.Helper()
	name := fmt.Sprintf("refchat_%d", databases.Add(1))
	noError(t, engines[engine].CreateDatabase(t.Context(), name))
	return engines[engine].DSN(name)
}

// onBoth runs a test on both engines, each with an empty database.
func onBoth(t *testing.T, fn func(t *testing.T, dsn string)) {
	t.Helper()
	for _, engine := range []string{"postgresql", "mysql"} {
		t.Run(engine, func(t *testing.T) { fn(t, database(t, engine)) })
	}
}

// serve runs a server until the test ends. Hashes are as cheap as they come, unless cfg sets
// another.
func serve(t testing.TB, cfg refchat.Config) *refchat.Server {
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	if cfg.Hash == "" {
		cfg.Hash = "bcrypt:4"
	}
	s, err := refchat.New(t.Context(), cfg)
	noError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Errorf("the server did not stop in %v", patience)
		}
	})
	return s
}
