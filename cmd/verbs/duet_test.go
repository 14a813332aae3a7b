package verbs

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/internal/files"
	"plimsoll/internal/program"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

// openGates are limits that no busy host reaches: tests are about the course of a comparison, not
// its numbers.
const openGates = `
gates: {lag: {red: 60s}, late: {red: 100%}, users: {red: 1%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 60s}, pause: {red: 60s}, gc: {red: 100%}, steal: {amber: 100%, red: 100%}, target_steal: {amber: 100%, red: 100%},
  others: {amber: 100%, red: 100%}, throttled: {red: 100%}, wait: {red: 100%}, inbox: {red: 60s}, memory: {red: 100%}, ports: {red: 100%}, bursts: {red: 1000x}, little: {red: 100%}}
`

// duetPlan compares two arms in turns, on a real database.
const duetPlan = `
name: duet
seed: 7
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql]}
workload: {behavior: poster, pace: 0.05, params: {channels: "2"}}
bounded: {users: 6, ramp: 500ms, settle: 500ms, measure: 3s}
compare: {arms: {base: {}, new: {args: ["-fault=work:1ms"]}}, mode: duet, slice: 100ms, blocks: 1, retry: 0s}
` + openGates

// duetOf returns the comparison of a test's store, and its runs by their arms, those that count or
// not.
func duetOf(
	t *testing.T,
	root string,
	output *safeBuffer,
) (dir string, c *record.Comparison, runs map[string]*record.Run) {
	t.Helper()
	st := storeOf(t, root)
	id, err := st.Last("comparisons")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if c, err = st.Comparison(id); err != nil {
		t.Fatal(err)
	}
	runs = map[string]*record.Run{}
	for _, cell := range c.Runs {
		if cell.Cut {
			continue
		}
		if runs[cell.Arm], err = st.Run(cell.Run); err != nil {
			t.Fatal(err)
		}
	}
	return st.ComparisonDir(id), c, runs
}

// TestDuetEndToEnd compares two servers in turns: each has an ordinary run of its own time, with as
// many seconds as its phases and no request that its server did not count, and the report names the
// turns. Nothing is left of it.
func TestDuetEndToEnd(t *testing.T) {
	t.Parallel()
	cmd, root, output := startPlan(t, duetPlan, "compare")
	status := wait(t, cmd, 3*time.Minute, output)
	if status != exit.Inconclusive {
		t.Errorf("status %d, want %d of a single block", status, exit.Inconclusive)
	}
	dir, c, runs := duetOf(t, root, output)
	if c.Mode != plan.ModeDuet || c.State != record.Sealed || len(c.Runs) != 2 ||
		runs["base"] == nil ||
		runs["new"] == nil {
		t.Fatalf("mode %q, state %s, runs %+v\n%s", c.Mode, c.State, c.Runs, output)
	}
	for arm, r := range runs {
		t.Run(arm, func(t *testing.T) { checkDuetRun(t, r) })
	}
	report, err := os.ReadFile(filepath.Join(dir, "report-full.md"))
	failure.None(t, err)
	for _, want := range []string{"all runs of a block at once, in turns", "both arms were up at once and took turns"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	if files.IsDir(filepath.Join(root, "store", "state")) {
		t.Error("the state directory is left")
	}
	nothingLeft(t, root, cmd.Process.Pid, nil)
	if t.Failed() {
		t.Log(output)
	}
}

// checkDuetRun checks a run that took turns with one other.
func checkDuetRun(t *testing.T, r *record.Run) {
	if !r.Validity.Valid {
		t.Errorf("not valid: %+v", r.Validity.Findings)
	}
	changed, err := r.Verify()
	if err != nil || len(changed) > 0 {
		t.Errorf("changed %v, %v", changed, err)
	}
	d, phases := r.Manifest.Duet, r.Manifest.Phases
	if d == nil || len(phases) == 0 {
		t.Fatalf("duet %+v, phases %+v", d, phases)
	}
	own := phases[len(phases)-1].To
	if d.Seats != 2 || d.Turns <= 5 || d.PausedBy != "freezer" && d.PausedBy != "signals" ||
		d.Own < own ||
		d.Foreign <= 0 ||
		d.SliceMin <= 0 ||
		d.SliceMax < d.SliceMin {
		t.Errorf("%+v, and the phases end after %v", *d, own)
	}
	checkServed(t, r)
	last, posts := 0, uint64(0)
	failure.None(t, failure.Of(r.EachSecond(func(second int, ws []*measure.Window) bool {
		last = max(last, second)
		for _, w := range ws {
			if w.Name == "post" {
				posts += w.Count()
			}
		}
		return true
	})))
	// The time of others is not in the run.
	if time.Duration(last)*time.Second > own+time.Second {
		t.Errorf("the last second is %d; the phases end after %v", last, own)
	}
	blocks, _ := filepath.Glob(filepath.Join(r.Dir, "series", "*", "index"))
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of series", len(blocks))
	}
	db, err := series.Open(filepath.Dir(filepath.Dir(blocks[0])))
	failure.None(t, err)
	defer db.Close()
	_, end, _ := db.Bounds()
	served, err := db.Query(
		t.Context(),
		`sum(max_over_time(mattermost_api_time_count{handler="createPost"}[1h]))`,
		end,
	)
	if err != nil || len(served) != 1 {
		t.Fatalf("posts that the server counted: %v, %v", served, err)
	}
	// A probe samples once a second: the last posts may be missing.
	if got := served[0].Value; math.Abs(got-float64(posts)) > 8+float64(posts)/10 {
		t.Errorf("the server counted %v posts, its clients %d", got, posts)
	}
}

// checkServed checks that every post of a run's measured phase was served, in every second of it.
func checkServed(t *testing.T, r *record.Run) {
	t.Helper()
	for _, p := range r.Manifest.Phases {
		if p.Name != "measure" {
			continue
		}
		for from := p.From; from < p.To; from += time.Second {
			ws, err := r.Merged(from, from+time.Second)
			if err != nil || ws["post"] == nil || ws["post"].Count() == 0 ||
				ws["post"].Errors() > 0 {
				t.Errorf("posts of the second from %v: %+v, %v", from, ws["post"], err)
			}
		}
		return
	}
	t.Errorf("no measured phase in %+v", r.Manifest.Phases)
}

// family returns the processes that pid has started, with those that they have started.
func family(pid int) (all []lab.Identity) {
	for child := range childrenOf(pid) {
		if id, err := lab.Identify(child); err == nil {
			all = append(all, id)
		}
		all = append(all, family(child)...)
	}
	return all
}

// groupsOf returns the control groups that the program pid made and that are there.
func groupsOf(pid int) (dirs []string) {
	name := "plimsoll-" + strconv.Itoa(pid) + "-*"
	for _, pattern := range []string{name, filepath.Join("*", name)} {
		some, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", pattern))
		dirs = append(dirs, some...)
	}
	return dirs
}

// nothingLeft waits until a program that has ended leaves no process, running or stopped, and no
// control group. What is left after the deadline is ended.
func nothingLeft(t *testing.T, root string, pid int, started []lab.Identity) {
	t.Helper()
	var left map[int]string
	var alive []lab.Identity
	var groups []string
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left, groups = program.Survivors(root), groupsOf(pid)
		alive = slices.DeleteFunc(slices.Clone(started), func(id lab.Identity) bool {
			return !id.Alive()
		})
		if len(left)+len(alive)+len(groups) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	for _, id := range alive {
		state, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id.PID), "stat"))
		t.Logf("%s", state)
		_ = id.Terminate(context.Background(), 9, time.Second)
	}
	t.Errorf(
		"%d processes are left: %v; named after the store: %v; control groups %v",
		len(alive),
		alive,
		left,
		groups,
	)
}
