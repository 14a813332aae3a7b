package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// TestAServerThatDoesNotStartIsAFailedRun compares a server with one that does not start the third time: the
// comparison goes on, the block is run again, and the report counts the failure as the build's.
func TestAServerThatDoesNotStartIsAFailedRun(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "server")
	text := fmt.Sprintf("#!/bin/sh\nn=$(cat %[1]s/count 2>/dev/null || echo 0)\necho $((n + 1)) > %[1]s/count\n[ $n = 2 ] && exit 1\nexec %[2]s \"$@\"\n", dir, path)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	src := strings.NewReplacer("new: {args: [-push=0.01]}", "new: {binary: "+script+"}", "looks: [6, 9, 12]", "blocks: 3").Replace(looksPlan)
	cmd, root, output := startPlan(t, src, "compare")
	if status := wait(t, cmd, 3*time.Minute, output); status == rig.ExitTool || status == rig.ExitUsage {
		t.Fatalf("status %d\n%s", status, output)
	}
	st, err := store.Open(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	c := lastComparison(t, st)
	failed := 0
	failures := regexp.MustCompile(`1 of [4-6] runs of new failed and 0 of [3-6] of base`) // a busy machine may void others
	for _, r := range c.Runs {
		if strings.HasPrefix(r.Why, record.StartGate+": ") && r.Cause == record.ByTarget && r.Arm == "new" && r.Dropped {
			failed++
		}
	}
	report, err := os.ReadFile(filepath.Join(st.ComparisonDir(c.ID), "report-full.md"))
	if failed != 1 || c.State != record.Sealed || err != nil || !failures.Match(report) {
		t.Errorf("%d runs that did not start, state %s, %v\n%s", failed, c.State, err, output)
	}
}
