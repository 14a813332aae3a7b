package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/rig"
)

// Run and sizing remove the state of a target without arms and databases, and leave it with -keep.
func TestStateOfATargetAlone(t *testing.T) {
	t.Parallel()
	const text = "name: cleared\ntarget: {driver: refnull}\nworkload: {behavior: poster, pace: 0.02}\n" +
		"bounded: {users: 5, ramp: 1s, settle: 0s, measure: 1s}\nsizing: {steps: [5], ramp: 20/s, settle: 0s, hold: 1s}\n"
	for _, tt := range []struct {
		verb string
		keep bool
	}{{"run", false}, {"sizing", true}, {"sizing", false}} {
		keep := tt.keep
		cmd, root, output := startPlan(t, text+openGates, tt.verb, fmt.Sprintf("-keep=%v", keep))
		if status := wait(t, cmd, 60*time.Second, output); status != rig.ExitOK && status != rig.ExitInvalid {
			t.Fatalf("status %d\n%s", status, output)
		}
		if there := rig.IsDir(filepath.Join(root, "store", "state")); there != keep {
			t.Errorf("%s -keep=%v: the state is there: %v", tt.verb, keep, there)
		}
	}
}

// The state of a comparison with -keep that failed is still there after a later run of the same arm.
func TestFailedComparisonKeepsItsState(t *testing.T) {
	t.Parallel()
	const text = "name: kept\ntarget: {driver: refnull%s}\nworkload: {behavior: poster, pace: 0.02}\n" +
		"bounded: {users: 5, ramp: 1s, settle: 0s, measure: 1s}\ncompare: {arms: {base: {}, new: {}}, mode: sequence, blocks: 1, retry: 0s}\n"
	cmd, root, output := startPlan(t, fmt.Sprintf(text, ", args: [-nonsense]")+openGates, "compare", "-keep")
	if status := wait(t, cmd, 2*time.Minute, output); status != rig.ExitTool {
		t.Fatalf("status %d, want %d of servers that do not start\n%s", status, rig.ExitTool, output)
	}
	states, _ := filepath.Glob(filepath.Join(root, "store", "state", "*"))
	if len(states) != 1 { // of the arm that came first
		t.Fatalf("states %v\n%s", states, output)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(root, "good.yaml")
	if err := os.WriteFile(good, []byte(fmt.Sprintf(text, "")+openGates), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, output = command(path, "run", "-arm", filepath.Base(states[0]), "-store", filepath.Join(root, "store"), good)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, cmd, time.Minute, output); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("status %d\n%s", status, output)
	}
	if !rig.IsDir(states[0]) {
		t.Error("the state is gone")
	}
}
