package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/internal/files"
	"plimsoll/internal/program"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/record/store/storetest"
	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

const e2ePlan = `
name: e2e
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster, share: 50%%, with: {mattermost: 50%%}, pace: 0.1, params: {channels: "2", speed: "0.2"}}
bounded: {users: 10, ramp: 1s, settle: 1s, measure: %s}
unbounded: {max_users: 12, start: 8, budget: 4s, slo: ["mean(op) < 5s", "p99(op) < 5s"]}
compare: {arms: {base: {}, new: {}}, combine: true, blocks: 1}
`

// safeBuffer is an output that is read while it is written.
type safeBuffer = lab.Transcript

// startProgram runs the program with a plan in a fresh store. The gates are open: the test's other
// work on the machine voids no run.
func startProgram(
	t *testing.T,
	measure string,
	args ...string,
) (cmd *exec.Cmd, root string, output *safeBuffer) {
	t.Helper()
	return startPlan(t, fmt.Sprintf(e2ePlan, measure)+openGates, args...)
}

func startPlan(
	t *testing.T,
	text string,
	args ...string,
) (cmd *exec.Cmd, root string, output *safeBuffer) {
	t.Helper()
	return startPlanWith(t, nil, text, args...)
}

// startPlanWith is startPlan with further variables in the program's environment, as NAME=VALUE.
func startPlanWith(
	t *testing.T,
	env []string,
	text string,
	args ...string,
) (cmd *exec.Cmd, root string, output *safeBuffer) {
	t.Helper()
	root = reachable(t)
	planFile := filepath.Join(root, "plan.yaml")
	writeText(t, planFile, text)
	args = append(inStore(root, args[0], args[1:]...), planFile)
	cmd, output = command(builtProgram(t), args...)
	cmd.Env = append(cmd.Env, env...)
	failure.None(t, cmd.Start())
	return cmd, root, output
}

// command prepares the program; its output goes to one buffer.
func command(path string, args ...string) (*exec.Cmd, *safeBuffer) {
	cmd := exec.Command(path, args...)
	// a rating would take 20 s in every fresh store
	cmd.Env = append(os.Environ(), "PLIMSOLL_CALIBRATE=false")
	output := new(safeBuffer)
	cmd.Stdout, cmd.Stderr = output, output
	return cmd, output
}

// builtProgram returns the path of the program.
func builtProgram(t *testing.T) string {
	t.Helper()
	path, err := program.Build()
	failure.None(t, err)
	return path
}

// launch starts the program.
func launch(t *testing.T, args ...string) (*exec.Cmd, *safeBuffer) {
	t.Helper()
	cmd, output := command(builtProgram(t), args...)
	failure.None(t, cmd.Start())
	return cmd, output
}

// inStore returns a verb's arguments with the store of a test, below root.
func inStore(root, verb string, args ...string) []string {
	return append([]string{verb, "-store", filepath.Join(root, "store")}, args...)
}

// storeOf opens the store of a test, below root.
func storeOf(t *testing.T, root string) *store.Store {
	t.Helper()
	return storetest.At(t, filepath.Join(root, "store"))
}

// nobodySurvives fails where a process names the directory.
func nobodySurvives(t *testing.T, root string) {
	t.Helper()
	if left := program.Survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
}

// wait waits for the program's end, with a deadline, and returns its exit status.
func wait(t *testing.T, cmd *exec.Cmd, limit time.Duration, output *safeBuffer) int {
	t.Helper()
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		t.Fatalf("the program had not ended after %v; its output:\n%s", limit, output.String())
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	failure.None(t, err)
	return 0
}

// One run on each database leaves what a person looks for: a sealed record whose users, messages
// and series are whole, and neither a process nor a secret. That on PostgreSQL has its users in two
// processes, is asked by a client of Prometheus while it lasts, and writes its series to another
// server too.
func TestRunLeavesARun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	has := map[string]bool{}
	t.Run("engines", func(t *testing.T) {
		for _, engine := range []string{"postgresql", "mysql"} {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				names := leavesARun(t, engine)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(has, names)
			})
		}
	})
	checkDashboards(t, has)
}

// leavesARun carries out a run on a database and returns the metrics that it has.
func leavesARun(t *testing.T, engine string) map[string]bool {
	t.Helper()
	wide := engine == "postgresql"
	outside := &receiver{runs: map[string]bool{}}
	srv := httptest.NewServer(outside)
	defer srv.Close()
	text := fmt.Sprintf(e2ePlan, "5s") + openGates
	// its logs may hold no secret either
	args := []string{"run", "-json", "-database", engine, fmt.Sprintf("-keep=%v", wide)}
	if wide {
		text += "placement: {processes: 2}\n"
		args = append(
			args,
			"-serve",
			"127.0.0.1:0",
			"-remote-write",
			srv.URL+"/write?key=s3cret-key",
		)
	}
	cmd, root, output := startPlanWith(
		t,
		[]string{"PLIMSOLL_REMOTE_WRITE_TOKEN=s3cret-token"},
		text,
		args...)
	var secrets []string
	for deadline := time.Now().Add(90 * time.Second); len(secrets) == 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		secrets = secretsOfChildren(cmd.Process.Pid)
	}
	if len(secrets) < 2 {
		t.Errorf("the test found %d secrets to look for", len(secrets))
	}
	if wide {
		underWay(t, output)
	}
	status := wait(t, cmd, 150*time.Second, output)
	// A host that stalls may void the run in spite of open gates; it must not fail.
	if status != exit.OK && status != exit.Invalid {
		t.Fatalf("exit status %d\n%s", status, output.String())
	}
	got := shownIn(t, output.String())
	ops := map[string]evidence.ShownOp{}
	for _, o := range got.Ops {
		ops[o.Name] = o
		if o.Errors > 0 {
			t.Errorf("%s: %d errors: %v", o.Name, o.Errors, o.Class)
		}
	}
	if ops["post"].Count < 20 || ops["delivery"].Count == 0 {
		t.Errorf("%d posts, %d deliveries", ops["post"].Count, ops["delivery"].Count)
	}
	if got.Manifest.State != record.Sealed || len(got.Changed) > 0 {
		t.Errorf("state %s, changed %v", got.Manifest.State, got.Changed)
	}
	for _, f := range got.Validity.Findings {
		if f.Gate == record.CrashGate || f.Gate == record.PanicGate {
			t.Errorf("nothing crashed: %+v", f)
		}
	}
	for _, g := range got.Validity.Gates {
		if strings.Contains(g.Why, "nothing reads it") {
			t.Errorf("gate %s has no reading: %s", g.Name, g.Why)
		}
	}
	r, events := onlyRun(t, root)
	hasSeries(t, filepath.Join(r.Dir, record.SeriesDir), map[string]string{
		"postgresql": `plimsoll_pg_connections{role="db",instance="db-0"}`,
		"mysql":      `mysql_global_status_threads_connected{role="db",instance="db-0"}`,
	}[engine], `go_goroutines{role="app",instance="app-0"}`, `container_cpu_usage_seconds_total{role="app"}`)
	all, err := r.Merged(0, time.Hour)
	failure.None(t, err)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(name string) bool {
		return strings.HasPrefix(name, workload.Setup)
	}) {
		t.Error("no operation of the audit is recorded")
	}
	nobodySurvives(t, root)
	if there := files.IsDir(filepath.Join(root, "store", "state")); there != wide {
		t.Errorf("-keep=%v: the state directory is there: %v", wide, there)
	}
	secrets = append(secrets, "s3cret-token", "s3cret-key")
	noSecrets(t, filepath.Join(root, "store"), secrets)
	for _, s := range secrets {
		if strings.Contains(output.String(), s) {
			t.Error("a secret was printed")
		}
	}
	if wide {
		inTwoProcesses(t, r, events)
		writtenOutside(t, root, outside)
	}
	return namesOf(t, r.Dir)
}

// hasSeries looks for at least three samples of each series in a run's block.
func hasSeries(t *testing.T, dir string, names ...string) {
	t.Helper()
	db, err := series.Open(dir)
	failure.None(t, err)
	defer db.Close()
	for _, name := range names {
		res, err := db.Query(t.Context(), "count_over_time("+name+"[10m]) >= 3", time.Now())
		if err != nil || len(res) != 1 {
			t.Errorf(
				"%s in the run: %v, %v; want one series of at least three samples",
				name,
				res,
				err,
			)
		}
	}
}

// secretsOfChildren reads the secrets that the program gave to its server: the DSN's password and
// the administrator's.
func secretsOfChildren(parent int) []string {
	var out []string
	for pid := range childrenOf(parent) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		for kv := range bytes.SplitSeq(environ, []byte{0}) {
			if v, ok := bytes.CutPrefix(kv, []byte("REFCHAT_DSN=")); ok {
				if m := regexp.MustCompile(`://[^:]+:([^@]+)@`).FindSubmatch(v); m != nil {
					out = append(out, string(m[1]))
				}
			}
			if v, ok := bytes.CutPrefix(kv, []byte("REFCHAT_ADMIN_PASSWORD=")); ok {
				out = append(out, string(v))
			}
		}
	}
	return out
}

// noSecrets greps all files of a store, except for the databases' own data, in which the server
// keeps verifiers.
func noSecrets(t *testing.T, root string, secrets []string) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count++
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return nil
	})
	if err != nil || count < 5 {
		t.Errorf("looked through %d files: %v", count, err)
	}
}

// Whenever the interrupt comes, users, servers and databases end within 10 s, nothing survives, and
// a run that had begun is readable and not valid.
func TestInterruptAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		when func(output string) bool
		runs int // at least
	}{
		{"at once", func(string) bool { return true }, 0},
		{"resetting", func(o string) bool { return strings.Contains(o, "resetting") }, 0},
		{"measure", func(o string) bool { return strings.Contains(o, " measure ") }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, root, output := startProgram(t, "60s", "run")
			for deadline := time.Now().Add(90 * time.Second); !tt.when(output.String()) && time.Now().Before(deadline); {
				time.Sleep(20 * time.Millisecond)
			}
			failure.None(t, cmd.Process.Signal(os.Interrupt))
			// Before the program has asked for signals, the first one ends it at once (-1).
			if status := wait(t, cmd, 2*time.Minute, output); status != exit.OfSignal(
				syscall.SIGINT,
			) &&
				!(status == -1 && tt.name == "at once") {
				t.Errorf("exit status %d\n%s", status, output.String())
			}
			nobodySurvives(t, root)
			st := storeOf(t, root)
			entries, warnings, err := st.List(context.Background())
			if err != nil || len(warnings) > 0 || len(entries) < tt.runs {
				t.Fatalf("%d runs, warnings %v, %v", len(entries), warnings, err)
			}
			for _, e := range entries {
				if e.Valid || e.State != record.Interrupted {
					t.Errorf("run %s: valid %v, state %s", e.ID, e.Valid, e.State)
				}
			}
		})
	}
}

// One block of everything: two arms, both tests, report, and the same report again from the store.
// The number of users that the pilot finds is in the comparison and in the plan of every run, which
// is the plan with the number written into it; the file of the plan goes on with it.
func TestCompareEndToEnd(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("[postgresql, mysql]", "[postgresql]", "users: 10", "users: auto", "max_users: 12", "max_users: 90").
		Replace(fmt.Sprintf(e2ePlan, "2s")) +
		openGates
	cmd, root, output := startPlan(t, text, "compare")
	status := wait(t, cmd, 8*time.Minute, output)
	if status != exit.Inconclusive && status != exit.Invalid {
		t.Fatalf("exit status %d for one block\n%s", status, output.String())
	}
	said := regexp.MustCompile(`bounded\.users: PostgreSQL auto → (\d+): [a-z]+ uses \d+ % of its cores`).
		FindStringSubmatch(output.String())
	if said == nil {
		t.Fatalf("no number of users:\n%s", output)
	}
	dir, c, runs := duetOf(t, root, output)
	if l := c.UserLevels; len(l) != 1 || fmt.Sprint(l[0].Users) != said[1] ||
		l[0].Engine != plan.PostgreSQL {
		t.Errorf("levels %+v, want %s users", l, said[1])
	}
	file, err := known().Parse([]byte(text))
	failure.None(t, err)
	stored, err := known().Parse([]byte(c.Plan))
	failure.None(t, err)
	if p := dialects.WithDefaultRules(file.WithUsersOf(stored)); p.Digest() != c.PlanDigest {
		t.Errorf(
			"the file of the plan has another digest with the number:\n%s\nand the comparison's:\n%s",
			p,
			c.Plan,
		)
	}
	for _, f := range []string{"report.md", "report-full.md", "report.html", "report.json", "comparison.json"} {
		if fi, err := os.Stat(filepath.Join(dir, f)); err != nil || fi.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	for _, r := range runs {
		if m := r.Manifest; m.PlanDigest != c.PlanDigest ||
			!strings.Contains(m.Plan, "\n  users: "+said[1]+"\n") {
			t.Errorf("run %s has the plan %s:\n%s", m.ID, m.PlanDigest, m.Plan)
		}
		if !r.Validity.Valid {
			continue
		}
		g, err := r.Graphs()
		if err != nil || g == nil {
			t.Fatalf("run %s kept no graphs (%v)", r.Manifest.ID, err)
		}
		p, err := plan.Parse([]byte(r.Manifest.Plan))
		if err != nil || g.Definition != catalog().Definition(r.Manifest, p.Workload.Pace) {
			t.Errorf("run %s kept graphs that its report does not use (%v)", r.Manifest.ID, err)
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, "report.md"))
	failure.None(t, err)
	again := exec.Command(cmd.Path, "report", "-store", filepath.Join(root, "store"), c.ID)
	out, _ := again.CombinedOutput()
	after, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("rendering again gave another report (%v)\n%s", err, out)
	}
	if again.ProcessState.ExitCode() != status {
		t.Errorf("report exits with %d, compare did with %d", again.ProcessState.ExitCode(), status)
	}
	nobodySurvives(t, root)
}

// shownIn returns the run that run -json has printed behind its talk.
func shownIn(t *testing.T, output string) (got evidence.Shown) {
	t.Helper()
	i := strings.Index(output, "\n{")
	if i < 0 {
		t.Fatalf("no JSON in\n%s", output)
	}
	failure.None(t, json.NewDecoder(strings.NewReader(output[i:])).Decode(&got))
	return got
}
