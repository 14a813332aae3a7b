package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"plimsoll/studies/study"
	"plimsoll/target/lab/postgresql"
)

// The server with a missing index makes its schema without it.
func TestNoIndex(t *testing.T) {
	dir := t.TempDir()
	for d := dir; strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { // the database runs as another user
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	pg, err := postgresql.Start(ctx, postgresql.Config{Dir: filepath.Join(dir, "pg")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	const index = "idx_posts_channel_id_delete_at_create_at"
	for name, plant := range map[string]string{"whole": "", "lacking": "no-index:" + index} {
		if err := pg.CreateDatabase(ctx, name); err != nil {
			t.Fatal(err)
		}
		t.Setenv("REFCHAT_DSN", pg.DSN(name))
		planted = plant
		served, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		at := free(t)
		go func() { done <- serve(served, []string{"refchat", "-listen=" + at}) }()
		client := &http.Client{Timeout: 10 * time.Second}
		for study.Pause(ctx, 50*time.Millisecond) == nil {
			if _, err := study.Fetch(ctx, client, "http://"+at+"/api/v4/system/ping"); err == nil {
				break
			}
		}
		if n := count(ctx, t, pg.DSN(name), index); n == 1 != (plant == "") {
			t.Errorf("planted %q: the index is there %d times", plant, n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	planted = "sloth:1%"
	if err := serve(ctx, []string{"refchat", "-listen=127.0.0.1:0"}); err == nil ||
		!strings.Contains(err.Error(), "unknown fault") {
		t.Errorf("a fault that the server does not know: %v", err)
	}
}

// free returns an address on which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// count returns how often a database has an index.
func count(ctx context.Context, t *testing.T, dsn, index string) (n int) {
	t.Helper()
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	if err := db.QueryRow(ctx, "SELECT count(*) FROM pg_indexes WHERE indexname = $1", index).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
