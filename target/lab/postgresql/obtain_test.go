//go:build obtain

package postgresql

import (
	"context"
	"errors"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/database"
)

// TestObtained runs the server that the embedded-postgres library obtains. It needs the network the
// first time, so it has a build tag of its own: go test -tags obtain ./target/lab/postgresql
func TestObtained(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bin, err := obtain(ctx)
	failure.None(t, err)
	again, err := obtain(ctx)
	if err != nil || again != bin {
		t.Errorf("second obtain() = %q, %v; want %q from the cache", again, err, bin)
	}
	p := &programs{dir: bin}
	s, err := database.Start(ctx, p.product(), Config{Dir: t.TempDir()})
	failure.None(t, err)
	defer func() { failure.None(t, s.Stop(context.Background())) }()
	failure.None(
		t,
		errors.Join(s.CreateDatabase(ctx, "chat"), s.Snapshot(ctx, "chat"), s.Restore(ctx, "chat")),
	)
	d, err := s.Describe(ctx)
	failure.None(t, err)
	if d.Version != "18.3" {
		t.Errorf("version %q, want 18.3", d.Version)
	}
}
