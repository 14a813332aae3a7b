package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/program"
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
	busy, busyOut := command(cmd.Path, "compare", "-store", stored, "-resume", "last")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, busy, 2*time.Minute, busyOut); status != exit.Usage ||
		!strings.Contains(busyOut.String(), "another process is carrying it out") {
		t.Errorf("resumed while it was going: status %d\n%s", status, busyOut)
	}
	until(t, output, "block 1/12  run 2/24")
	for deadline := time.Now().Add(30 * time.Second); !regexp.MustCompile(`run 2/24 .* (ramp|measure) `).MatchString(output.String()) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, want := range []string{"planned looks after 6, 9 and 12 blocks, each at the level 2.21 %", "the noise of this environment is not known", "sha256:"} {
		if !strings.Contains(output.String()[:strings.Index(output.String(), "block 1/12")], want) {
			t.Errorf("%q was not said before the first run:\n%s", want, output)
		}
	}
	run := func(limit time.Duration, args ...string) (int, string) {
		t.Helper()
		c, out := command(cmd.Path, append(args, "-store", stored)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	next, said := command(cmd.Path, "compare", "-store", stored, filepath.Join(root, "plan.yaml"))
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, said, "run 2/24") // so that there is a run to report on
	if err := next.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, next, 2*time.Minute, said); status != 130 {
		t.Errorf("interrupted with status %d", status)
	}
	for _, want := range []string{"noise of this environment (sd of runs, from 1 comparison of a build with itself)", " better or worse", "0 of 12 blocks judged", " -resume " + lastComparison(t, st).ID} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	if left := program.Survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
}

func TestListNoise(t *testing.T) {
	root := t.TempDir()
	if status, out, errOut := inStore(t, root, "ls", "-aa"); status != 0 ||
		!strings.Contains(errOut, "no comparison of a build with itself") ||
		!strings.Contains(out, "RUN SD") {
		t.Errorf("an empty store: status %d\n%s%s", status, out, errOut)
	}
	st := storetest.At(t, root)
	aa := record.AA{
		Comparison:  "a",
		At:          time.Unix(1, 0),
		Environment: "abc",
		Host:        "a host",
		Load:        "a load",
		Engine:      "mysql",
		Test:        "unbounded",
		Arm:         "copy",
		Metric:      "capacity",
		Pairs:       6,
		SD:          0.0282842712,
		Kind:        "same",
	}
	again := aa
	again.Comparison, again.Kind = "b", "worse"
	if err := st.AddAA(aa, again); err != nil {
		t.Fatal(err)
	}
	status, out, _ := inStore(t, root, "ls", "-aa")
	// A run sd of 2 % finds 4.1 % in six blocks (by the study), as a ratio of geometric means.
	for _, want := range []string{"abc", "mysql", "capacity", "2 %", "4.11 %", "1 of 2", "a host", "a load", "  12  "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing (status %d) in\n%s", want, status, out)
		}
	}
	_, out, _ = inStore(t, root, "ls", "-aa", "-json")
	var rows []struct {
		Metric string  `json:"metric"`
		RunSD  float64 `json:"run_sd"`
		False  int     `json:"false"`
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 ||
		rows[0].RunSD < 0.0199 ||
		rows[0].RunSD > 0.0201 ||
		rows[0].False != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}

// lastComparison opens the comparison of a store that began last.
func lastComparison(t *testing.T, st *store.Store) *record.Comparison {
	t.Helper()
	id, err := st.Last("comparisons")
	if err != nil {
		t.Fatal(err)
	}
	c, err := st.Comparison(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
