//go:build obtain

package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/database"
)

// TestObtained runs the MySQL that Maven obtains. It needs mvn, and the network the first time, so
// it has a build tag of its own: go test -tags obtain ./target/lab/mysql
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
	failure.None(
		t,
		errors.Join(s.CreateDatabase(ctx, "chat"), s.Snapshot(ctx, "chat"), s.Restore(ctx, "chat")),
	)
	d, err := s.Describe(ctx)
	failure.None(t, err)
	if d.Name != "MySQL" || d.Version != "8.0.15" {
		t.Errorf("%s %q, want MySQL 8.0.15", d.Name, d.Version)
	}
}
