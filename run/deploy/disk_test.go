package deploy

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDiskWatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := WatchDisk(t.Context(), dir, 1<<20)
	defer w.End()
	if why, err := w.Full(); why != "" || err != nil {
		t.Fatalf("an empty directory: %q, %v", why, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "table"), bytes.Repeat([]byte("x"), 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	why := ""
	for deadline := time.Now().Add(20 * time.Second); why == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if why, err = w.Full(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(why, "GiB, the limit is disk=1MiB") {
		t.Errorf("got %q", why)
	}
	w.End()
	w.mu.Lock()
	w.at = w.at.Add(-time.Minute)
	w.mu.Unlock()
	if _, err := w.Full(); err == nil || !strings.Contains(err.Error(), "has not been known for") {
		t.Errorf("an old look counts: %v", err)
	}
	gone := &DiskWatch{dir: filepath.Join(dir, "nobody"), limit: 1, at: time.Now().Add(-time.Hour)}
	gone.look(t.Context())
	if _, err := gone.Full(); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// Data that lie elsewhere, because their server's user cannot reach the store, are the target's,
// too.
func TestDiskWatchSeesDataElsewhere(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "postgresql"), 0o755), os.Symlink(other, filepath.Join(dir, "postgresql", "elsewhere")),
		os.WriteFile(filepath.Join(other, "table"), bytes.Repeat([]byte("x"), 2<<20), 0o644)); err != nil {
		t.Fatal(err)
	}
	w := &DiskWatch{dir: dir, limit: 1 << 20, at: time.Now()}
	w.look(t.Context())
	if why, err := w.Full(); why == "" || err != nil {
		t.Errorf("2 MiB elsewhere against a limit of 1 MiB: %q, %v", why, err)
	}
}
