//go:build obtain

package mysql

import (
	"context"
	"testing"
	"time"

	"plimsoll/target/lab/database"
)

// TestObtained runs the MySQL that Maven obtains. It needs mvn, and the network the first time, so it has a
// build tag of its own: go test -tags obtain ./target/lab/mysql
func TestObtained(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	path, err := obtain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := obtain(ctx)
	if err != nil || again != path {
		t.Errorf("second obtain() = %q, %v; want %q from the cache", again, err, path)
	}
	found, err := inspect(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	p := &program{found}
	s, err := database.Start(ctx, p.product(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := s.CreateDatabase(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.Restore(ctx, "chat"); err != nil {
		t.Fatal(err)
	}
	t.Logf("reset took %v", time.Since(began))
	d, err := s.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "MySQL" || d.Version != "8.0.15" {
		t.Errorf("%s %q, want MySQL 8.0.15", d.Name, d.Version)
	}
	t.Log(d)
}
