package datasets

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/internal/program"
)

// A canceler ends a context when a text is written.
type canceler struct {
	text   string
	cancel context.CancelFunc
}

// Write implements [io.Writer].
func (c canceler) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.text)) {
		c.cancel()
	}
	return len(p), nil
}

// A dataset that is interrupted, while it is made or copied, leaves neither files nor processes.
func TestDataInterrupted(t *testing.T) {
	for _, step := range []string{"indexes", "copying the data"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			//nolint:usetesting // the databases run as a user of their own, who must be able to pass
			dir, err := os.MkdirTemp("", "plimsoll-data-")
			failure.None(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			failure.None(t, os.Chmod(dir, 0o755))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			by := verbtest.Surroundings{Stderr: canceler{step, cancel}}
			status, _, errs := by.RunUntil(ctx, Data, "generate", "tiny", "-posts=2000",
				"-o", filepath.Join(dir, "made"), "-hash=bcrypt:4")
			if status != exit.Tool {
				t.Errorf("status %d\n%s", status, errs)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if left := program.Survivors(dir); len(left) > 0 {
				t.Errorf("processes survived: %v", left)
			}
		})
	}
}
