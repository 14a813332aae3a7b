package verbs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/record/store/storetest"
)

// looksPlan compares two builds by their errors, of which there are none: operations are too few
// for a percentile. Gates are open, so that the first look decides on a busy host too: the test is
// about the course of a comparison, not its numbers.
const looksPlan = `
name: looks
target: {driver: refnull}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 2, ramp: 0s, settle: 0s, measure: 1s, slo: ["rate(errors) < 60%"]}
gates: {lag: {red: 10s}, late: {red: 100%}, users: {red: 1%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 10s}, pause: {red: 10s}, gc: {red: 100%},
  steal: {red: 100%}, others: {red: 100%}, throttled: {red: 100%}, wait: {red: 100%}, bursts: {red: 1000x}, little: {red: 100%}}
compare: {arms: {base: {}, new: {args: [-push=0.01]}}, mode: sequence, looks: [6, 9, 12], margin: {errors: 50pp}}
`

// until waits for a text in the output.
func until(t *testing.T, output *safeBuffer, text string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(output.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never came:\n%s", text, output.String())
		}
	}
}

// A comparison of a build with itself, with planned looks, is killed in its second run and goes on.
// Its entry in the registry is cited by the next.
func TestKilledComparisonGoesOn(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, looksPlan, "compare", "-aa")
	stored := filepath.Join(root, "store")
	until(t, output, "block 1/12  run 1/24")
	busy, busyOut := launch(t, inStore(root, "compare", "-resume", "last")...)
	if status := wait(t, busy, 2*time.Minute, busyOut); status != exit.Usage ||
		!strings.Contains(busyOut.String(), "another process is carrying it out") {
		t.Errorf("resumed while it was going: status %d\n%s", status, busyOut)
	}
	until(t, output, "block 1/12  run 2/24")
	for deadline := time.Now().Add(30 * time.Second); !regexp.MustCompile(`run 2/24 .* (ramp|measure) `).MatchString(output.String()) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	failure.None(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, want := range []string{"planned looks after 6, 9 and 12 blocks, each at the level 2.21 %", "the noise of this environment is not known", "sha256:"} {
		if !strings.Contains(output.String()[:strings.Index(output.String(), "block 1/12")], want) {
			t.Errorf("%q was not said before the first run:\n%s", want, output)
		}
	}
	run := func(limit time.Duration, args ...string) (int, string) {
		t.Helper()
		c, out := launch(t, append(args, "-store", stored)...)
		return wait(t, c, limit, out), out.String()
	}
	other := filepath.Join(root, "other.yaml")
	writeText(t, other, strings.Replace(looksPlan, "users: 2,", "users: 3,", 1))
	if status, out := run(20*time.Second, "compare", "-resume", "last", other); status != exit.Usage ||
		!strings.Contains(out, "began with the plan sha256:") {
		t.Errorf("resumed with another plan: status %d\n%s", status, out)
	}
	status, out := run(
		4*time.Minute,
		"compare",
		"-resume",
		"last",
		filepath.Join(root, "plan.yaml"),
	)
	if status == exit.Tool || status == exit.Usage {
		t.Fatalf("status %d\n%s", status, out)
	}
	st := storetest.At(t, stored)
	c := lastComparison(t, st)
	if c.State != record.Sealed || !c.AA || len(c.Looks) != 3 || c.Taken() == 0 ||
		len(c.Resumed) != 1 ||
		c.Before == nil {
		t.Fatalf(
			"state %s, A/A %v, %d of %d looks, resumed %+v\n%s",
			c.State,
			c.AA,
			c.Taken(),
			len(c.Looks),
			c.Resumed,
			out,
		)
	}
	if re := c.Resumed[0]; re.Block != 1 || len(re.Runs) != 1 || len(re.Lost) != 1 ||
		!c.Runs[0].Cut ||
		c.Runs[0].Run != re.Runs[0] {
		t.Errorf("%+v; the first run is %+v", re, c.Runs[0])
	}
	b, err := os.ReadFile(filepath.Join(st.ComparisonDir(c.ID), "report-full.md"))
	failure.None(t, err)
	for _, want := range []string{"Look 1 of 3, after 6 blocks, at the level 2.21 %", "block 1 was run again whole", "All arms are one build", c.PlanDigest} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if status, out := run(20*time.Second, "compare", "-resume", c.ID); status != exit.Usage ||
		!strings.Contains(out, "is complete: there is nothing to resume") {
		t.Errorf("resumed when complete: status %d\n%s", status, out)
	}
	lines, warnings, err := st.AA()
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if len(lines) == 0 {
		if status != exit.Invalid {
			t.Errorf("status %d and no line in the registry\n%s", status, out)
		}
		t.Logf("the host was too busy for a single valid line (status %d)", status)
		return
	}
	if status, out := run(20*time.Second, "ls", "-aa"); status != 0 ||
		!strings.Contains(out, "errors") ||
		!strings.Contains(out, lines[0].Environment) {
		t.Errorf("ls -aa: status %d\n%s", status, out)
	}
	next, said := launch(t, inStore(root, "compare", filepath.Join(root, "plan.yaml"))...)
	until(t, said, "run 2/24") // so that there is a run to report on
	failure.None(t, next.Process.Signal(os.Interrupt))
	if status := wait(t, next, 2*time.Minute, said); status != 130 {
		t.Errorf("interrupted with status %d", status)
	}
	for _, want := range []string{"noise of this environment (sd of runs, from 1 comparison of a build with itself)", " better or worse", "0 of 12 blocks judged", " -resume " + lastComparison(t, st).ID} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	nobodySurvives(t, root)
}

// lastComparison opens the comparison of a store that began last.
func lastComparison(t *testing.T, st *store.Store) *record.Comparison {
	t.Helper()
	id, err := st.Last("comparisons")
	failure.None(t, err)
	c, err := st.Comparison(id)
	failure.None(t, err)
	return c
}
