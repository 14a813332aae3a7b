package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// crashingPlan compares a server with one of which a request in five panics. Nothing is run again, and the
// gates of the generator's own health are open: the host does other work.
const crashingPlan = `
name: crashing
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql]}
workload: {behavior: poster, pace: 0.05, params: {channels: "2"}}
bounded: {users: 6, ramp: 500ms, settle: 500ms, measure: 3s}
compare: {arms: {base: {}, new: {args: ["-fault=panic:20%@createPost"]}}, mode: sequence, blocks: 2, retry: 0s}
` + openGates

// TestAnArmThatCrashesIsNamed: no run of the new build counts, so there is no pair: the comparison is invalid (status
// 5), never "same" and never without a word of the crashes. The report has the failed runs of each arm, the reason
// and the line of the log.
func TestAnArmThatCrashesIsNamed(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, crashingPlan, "compare")
	status := wait(t, cmd, 8*time.Minute, output)
	st, err := store.Open(filepath.Join(root, "store"))
	if err != nil {
		t.Fatal(err)
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "store", "comparisons", "*"))
	if len(dirs) != 1 {
		t.Fatalf("%d comparisons\n%s", len(dirs), output.String())
	}
	c, err := st.Comparison(filepath.Base(dirs[0]))
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]int{}
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		if err != nil {
			t.Fatal(err)
		}
		if record.CauseOf(r.Validity) == record.ByTarget && !r.Validity.Valid {
			failed[cell.Arm]++
		}
	}
	if failed["new"] != 2 || failed["base"] != 0 {
		t.Errorf("runs that failed by the target's doing: %v, want both of new and none of base\n%s", failed, output.String())
	}
	if status != rig.ExitInvalid {
		t.Errorf("status %d, want %d: there is no pair\n%s", status, rig.ExitInvalid, output.String())
	}
	b, err := os.ReadFile(filepath.Join(dirs[0], "report-full.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{verdict.FailedRuns, "2 of 2 runs of new failed and 0 of 2 of base", record.CrashGate + " in block 1", record.CrashGate + " in block 2", "panic serving"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	for _, never := range []string{"verdict: same", "verdict: better"} {
		if strings.Contains(strings.ToLower(string(b)+output.String()), never) {
			t.Errorf("it says %q", never)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", output.String(), b)
	}
	if left := survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
}
