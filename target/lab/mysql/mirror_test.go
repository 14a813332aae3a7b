package mysql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/target/lab/mysql"
)

// TestMirror: a mirror has what its primary has, repeats its changes, and is its snapshot again after a reset.
func TestMirror(t *testing.T) {
	ctx, s := startServer(t, mysql.Config{Dir: t.TempDir(), Settings: mysql.ForMirrors()})
	if d, err := s.Describe(ctx); err != nil || d.Name != "MariaDB" {
		_, err := mysql.StartMirror(ctx, mysql.Config{Dir: t.TempDir()}, s, 0)
		if err == nil || !strings.Contains(err.Error(), "install mariadb-server") {
			t.Errorf("a mirror of %s: %v", d.Name, err)
		}
		return
	}
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "CREATE TABLE posts (id int PRIMARY KEY)", "INSERT INTO posts VALUES (1), (2)")
	m, err := mysql.StartMirror(ctx, mysql.Config{Dir: t.TempDir()}, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	posts := func() int { return count(t, ctx, m.DSN("chat"), "SELECT COUNT(*) FROM posts") }
	if got := posts(); got != 2 {
		t.Errorf("the mirror begins with %d posts, want 2", got)
	}
	becomes := func(n int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); posts() != n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the mirror has %d posts, want %d", posts(), n)
			}
		}
	}
	exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (3)")
	becomes(3)
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	exec(t, ctx, s.DSN("chat"), "DELETE FROM posts")
	for range 2 {
		began := time.Now()
		if err := s.Restore(ctx, "chat"); err != nil {
			t.Fatal(err)
		}
		if err := m.Follow(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("a reset took %v", time.Since(began))
		if got := posts(); got != 3 {
			t.Errorf("after a reset the mirror has %d posts, want 3", got)
		}
		exec(t, ctx, s.DSN("chat"), "INSERT INTO posts VALUES (4)")
		becomes(4)
		if err := m.Stop(ctx); err != nil { // as a halt does
			t.Fatal(err)
		}
	}
}
