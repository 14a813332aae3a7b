package verbs

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/evidence"
	"plimsoll/record"
)

// A verb that a signal ended has the status of the signal, as shells have it.
func TestInterruptedStatus(t *testing.T) {
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{s})
		var out, errs bytes.Buffer
		a := &app{stdout: &out, stderr: &errs, env: func(string) string { return "" }}
		made := filepath.Join(t.TempDir(), "made")
		if status := a.run(ctx, []string{"data", "generate", "tiny", "-posts=10", "-o", made, "-hash=bcrypt:4"}); status != want {
			t.Errorf("%v: status %d, want %d\n%s", s, status, want, errs.String())
		}
		if status := a.run(ctx, []string{"version"}); status != 0 {
			t.Errorf("%v: a verb that was done: status %d", s, status)
		}
	}
}

// An interrupted run is not one whose numbers were found invalid: the first line has the reason, once.
func TestInterruptedRunIsNotInvalid(t *testing.T) {
	why := interrupted{syscall.SIGINT}.Error()
	s := shown{evidence.Shown{Manifest: record.Manifest{ID: "r1", State: record.Interrupted, Why: why},
		Validity: record.Validity{Findings: []record.Finding{{Gate: "complete", Level: record.Red, Text: "the run was " + record.Interruption(why)}}}}}
	var screen, all bytes.Buffer
	if err := s.screen("dir").Write(&screen, 0); err != nil {
		t.Fatal(err)
	}
	(&app{stdout: &all, stderr: &all}).printRun(s)
	for _, out := range []string{screen.String(), all.String()} {
		if !strings.HasPrefix(out, "run r1: interrupted by SIGINT; only a part of it was measured\n") || strings.Contains(out, "VALID") || strings.Count(out, "interrupted") != 1 {
			t.Error(out)
		}
	}
}
