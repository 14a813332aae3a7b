package verbs

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
)

// killsEnv sets how many times a duet is killed.
const killsEnv = "PLIMSOLL_TEST_DUET_KILLS"

// A duet that is killed at any moment leaves no process, be it running, frozen or stopped, and no control group, and
// its comparison goes on to a verdict.
func TestKilledDuetLeavesNothingAndGoesOn(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(cmp.Or(os.Getenv(killsEnv), "3"))
	if err != nil {
		t.Fatalf("%s: %v", killsEnv, err)
	}
	const most = 7 * time.Second // of the deployment, and of the turns
	for i := range kills {
		// The moments are spread over the whole.
		after := time.Duration((float64(i) + rand.Float64()) / float64(kills) * float64(most))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			cmd, root, output := startPlan(t, duetPlan, "compare")
			from := "block 1/1  2 runs by turns"
			if i%2 == 0 {
				from = "duet: 2 runs take turns"
			}
			until(t, output, from)
			time.Sleep(after)
			started, groups := family(cmd.Process.Pid), groupsOf(cmd.Process.Pid)
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			t.Logf("killed %v after %q, with %d processes and %d control groups", after, from, len(started), len(groups))
			nothingLeft(t, root, cmd.Process.Pid, started)

			next, said := command(cmd.Path, "compare", "-resume", "last", "-store", filepath.Join(root, "store"))
			if err := next.Start(); err != nil {
				t.Fatal(err)
			}
			status := wait(t, next, 3*time.Minute, said)
			if status == rig.ExitUsage && strings.Contains(said.String(), "is complete: there is nothing to resume") {
				return // it was complete before it was killed
			}
			if status != rig.ExitInconclusive {
				t.Errorf("it went on to status %d, want %d of a single block\n%s", status, rig.ExitInconclusive, said)
			}
			_, c, runs := duetOf(t, root, said)
			if c.State != record.Sealed || len(c.Resumed) != 1 || runs["base"] == nil || runs["new"] == nil {
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
		})
	}
}
