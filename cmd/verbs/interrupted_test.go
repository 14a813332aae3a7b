package verbs

import (
	"bytes"
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/cmd/internal/app"
)

// A verb that a signal ended has the status of the signal, as shells have it.
func TestInterruptedStatus(t *testing.T) {
	for s, want := range map[syscall.Signal]int{
		syscall.SIGINT:  130,
		syscall.SIGTERM: 143,
		syscall.SIGHUP:  129,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{s})
		var out, errs bytes.Buffer
		a := &app.App{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		made := filepath.Join(t.TempDir(), "made")
		if status := run(ctx, a, []string{"data", "generate", "tiny", "-posts=10", "-o", made, "-hash=bcrypt:4"}); status != want {
			t.Errorf("%v: status %d, want %d\n%s", s, status, want, errs.String())
		}
		if status := run(ctx, a, []string{"version"}); status != 0 {
			t.Errorf("%v: a verb that was done: status %d", s, status)
		}
	}
}
