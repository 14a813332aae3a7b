//go:build obtain

package postgresql

import (
	"context"
	"testing"
	"time"

	"plimsoll/target/lab/database"
)

// TestObtained runs the server that the embedded-postgres library obtains. It needs the network the first
// time, so it has a build tag of its own: go test -tags obtain ./target/lab/postgresql
func TestObtained(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bin, err := obtain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := obtain(ctx)
	if err != nil || again != bin {
		t.Errorf("second obtain() = %q, %v; want %q from the cache", again, err, bin)
	}
	p := &programs{dir: bin}
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
	if d.Version != "18.3" {
		t.Errorf("version %q, want 18.3", d.Version)
	}
	t.Log(d)
}
