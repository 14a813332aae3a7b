package verbs

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/cmd/internal/app"
)

// A plan that only names a server is enough to start that server; a workload that is there is
// checked.
func TestTargetUpNeedsNoTest(t *testing.T) {
	const server = "name: n\ntarget: {driver: refnull}\n"
	for src, want := range map[string]string{
		server:                                   "interrupted by SIGINT",
		server + "workload: {behavior: postr}\n": `did you mean "poster"?`,
		"name: n\ntarget: {driver: refnul}\n":    `did you mean "refnull"?`,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "plan.yaml")
		writeText(t, file, src)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{syscall.SIGINT})
		var out, errs bytes.Buffer
		a := &app.App{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		run(ctx, a, []string{"target", "up", "-store", filepath.Join(dir, "store"), file})
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q: %s\nwant %q", src, errs.String(), want)
		}
	}
}
