package verbs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/evidence"
	"plimsoll/run/record"
	"plimsoll/run/store"
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

// A comparison that was interrupted before a block could be judged has no verdict and no report; its runs stay, and
// the command that goes on with it is printed.
func TestInterruptedComparisonHasNoInvalidReport(t *testing.T) {
	root := t.TempDir()
	st, err := store.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	putComparison(t, st, "cut", versions("v1", "v2"), 6, 0.88)
	c, err := st.Comparison("cut")
	if err != nil {
		t.Fatal(err)
	}
	c.State, c.Why, c.Runs = record.Interrupted, interrupted{syscall.SIGINT}.Error(), c.Runs[:1]
	if err := st.SaveComparison(c); err != nil {
		t.Fatal(err)
	}
	_, out, errs := inStore(t, root, "report", "cut")
	if !strings.HasPrefix(out, "comparison cut was interrupted by SIGINT: 0 of 6 blocks judged") || strings.Contains(strings.ToUpper(out), "INVALID") {
		t.Error(out)
	}
	if want := "plimsoll compare -store " + root + " -resume cut goes on with it"; !strings.Contains(errs, want) {
		t.Errorf("stderr %q, want %q", errs, want)
	}
	if _, err := os.Stat(filepath.Join(st.ComparisonDir("cut"), "report.html")); err == nil {
		t.Error("a report was written")
	}
	if c, err = st.Comparison("cut"); err != nil || len(c.Runs) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
