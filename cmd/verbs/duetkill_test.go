package verbs

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/record"
)

// A duet that is killed at any moment leaves no process, be it running, frozen or stopped, and no
// control group, and its comparison goes on to a verdict.
func TestKilledDuetLeavesNothingAndGoesOn(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, duetPlan, "compare")
	const most = 9 * time.Second // of the deployment, and of the turns
	after := rand.N(most)
	until(t, output, "block 1/1  ")
	time.Sleep(after)
	started, groups := family(cmd.Process.Pid), groupsOf(cmd.Process.Pid)
	failure.None(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	t.Logf("killed after %v, with %d processes and %d control groups",
		after, len(started), len(groups))
	nothingLeft(t, root, cmd.Process.Pid, started)

	next, said := launch(t, inStore(root, "compare", "-resume", "last")...)
	status := wait(t, next, 3*time.Minute, said)
	if status == exit.Usage &&
		strings.Contains(said.String(), "is complete: there is nothing to resume") {
		return // it was complete before it was killed
	}
	if status != exit.Inconclusive {
		t.Errorf("it went on to status %d, want %d of a single block\n%s",
			status, exit.Inconclusive, said)
	}
	_, c, runs := duetOf(t, root, said)
	if c.State != record.Sealed || len(c.Resumed) != 1 || runs["base"] == nil ||
		runs["new"] == nil {
		t.Fatalf("state %s, resumed %+v, runs %+v\n%s", c.State, c.Resumed, c.Runs, said)
	}
	for arm, r := range runs {
		if !r.Validity.Valid || r.Manifest.Duet == nil {
			t.Errorf("%s: duet %+v, %+v", arm, r.Manifest.Duet, r.Validity)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, "store", "state", "*")); len(left) > 0 {
		t.Errorf("state is left: %v", left)
	}
	nothingLeft(t, root, next.Process.Pid, nil)
}
