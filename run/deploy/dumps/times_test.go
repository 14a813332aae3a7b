package dumps

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/plan"
)

// Existing files at the destination of -plain stay.
func TestAPlainCopyRemovesOnlyItself(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "data"), filepath.Join(dir, "back.plain")
	for _, d := range []string{from, to} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(to, "mine")
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := TimeCopy(t.Context(), from, to); !errors.As(err, new(plan.UsageError)) {
		t.Errorf("it copied to a directory that was there: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("somebody's file is gone: %v", err)
	}
}
