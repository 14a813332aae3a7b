//go:build obtain

package mysql

import (
	"context"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/database"
)

// TestObtained runs the MySQL that Maven obtains. It needs mvn, and the network the first time, so it has a
// build tag of its own: go test -tags obtain ./target/lab/mysql
func TestObtained(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	path, err := obtain(ctx)
	failure.None(t, err)
	again, err := obtain(ctx)
	if err != nil || again != path {
		t.Errorf("second obtain() = %q, %v; want %q from the cache", again, err, path)
	}
	found, err := inspect(ctx, path)
	failure.None(t, err)
	p := &program{found}
	s, err := database.Start(ctx, p.product(), Config{Dir: t.TempDir()})
	failure.None(t, err)
	defer func() { failure.None(t, s.Stop(context.Background())) }()
	failure.None(t, s.CreateDatabase(ctx, "chat"))
	failure.None(t, s.Snapshot(ctx, "chat"))
	began := time.Now()
	failure.None(t, s.Restore(ctx, "chat"))
	t.Logf("reset took %v", time.Since(began))
	d, err := s.Describe(ctx)
	failure.None(t, err)
	if d.Name != "MySQL" || d.Version != "8.0.15" {
		t.Errorf("%s %q, want MySQL 8.0.15", d.Name, d.Version)
	}
	t.Log(d)
}
