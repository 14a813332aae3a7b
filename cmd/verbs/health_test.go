package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/target/lab"
)

// runBeside runs a short plan against the null server, calls during with the program's number once users come, and
// returns the findings.
func runBeside(t *testing.T, core int, during func(pid int)) (v record.Validity, status int) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := fmt.Sprintf("name: beside\ntarget: {driver: refnull}\nplacement: {generator: [%d], target: [0]}\nworkload: {behavior: poster, pace: 0.1}\nbounded: {users: 20, ramp: 1s, settle: 1s, measure: 4s}\ngates: {fds_free: {amber: 1000, red: 500}}\n", core)
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "run", "-json", "-store", filepath.Join(dir, "store"), filepath.Join(dir, "plan.yaml"))
	cmd.Env = append(os.Environ(), "PLIMSOLL_CALIBRATE=false")
	var out, talk safeBuffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if during != nil {
		for i := 0; i < 600 && !strings.Contains(talk.String(), "ramp"); i++ {
			time.Sleep(50 * time.Millisecond)
		}
		during(cmd.Process.Pid)
	}
	status = wait(t, cmd, time.Minute, &talk)
	var s shown
	if err := json.Unmarshal([]byte(out.String()), &s); err != nil {
		t.Fatalf("%v, status %d: %s", err, status, talk.String())
	}
	return s.Validity, status
}

func reds(v record.Validity) []string {
	var names []string
	for _, f := range v.Findings {
		if f.Level == record.Red {
			names = append(names, f.Gate)
		}
	}
	return names
}

// otherCore returns a core for the generator that is not the target's.
func otherCore(t *testing.T) int {
	t.Helper()
	cpus, err := lab.AllowedCPUs(0)
	if err != nil || runtime.NumCPU() < 2 || len(cpus) < 2 || cpus[0] != 0 {
		const why = "generator and target need a core each; with one, no gate of a core of its own can be read"
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return cpus[len(cpus)-1]
}

// The plan requires 500 files left; here they are used up when the run has begun.
func TestFewFilesMakeARunInvalid(t *testing.T) {
	v, status := runBeside(t, otherCore(t), func(pid int) {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 400, Max: 400}, nil); err != nil {
			t.Error(err)
		}
	})
	if status != rig.ExitInvalid || !slices.Contains(reds(v), "fds_free") {
		t.Errorf("status %d, red %v; want %d and fds_free", status, reds(v), rig.ExitInvalid)
	}
}

func TestAHogBesideTheGeneratorMakesARunInvalid(t *testing.T) {
	core := otherCore(t)
	hog := exec.Command("taskset", "-c", fmt.Sprint(core), "sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = hog.Process.Kill() // a loop keeps nothing
		_ = hog.Wait()
	}()
	v, status := runBeside(t, core, nil)
	if status != rig.ExitInvalid || !slices.Contains(reds(v), "core") {
		t.Errorf("status %d, red %v; want %d and core", status, reds(v), rig.ExitInvalid)
	}
}
