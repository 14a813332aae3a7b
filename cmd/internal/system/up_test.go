package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
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
		failure.None(t, os.WriteFile(file, []byte(src), 0o600))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted by SIGINT"))
		_, _, errs := verbtest.Surroundings{}.RunUntil(
			ctx, Target, "up", "-store", filepath.Join(dir, "store"), file)
		if !strings.Contains(errs, want) {
			t.Errorf("%q: %s\nwant %q", src, errs, want)
		}
	}
}
