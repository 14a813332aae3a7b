package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/run/bisect"
)

// history makes a repository of commits whose builds are this program, from one of them on with a
// slowdown.
func history(t *testing.T, commits, slow int) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		failure.Lacks(t, "git", err)
	}
	path := builtProgram(t)
	dir = t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir,
			"-c", "user.name=A Person", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	for i := range commits {
		fault := ""
		if i+1 >= slow {
			fault = "-delay=20ms"
		}
		writeText(t, filepath.Join(dir, "make"), fmt.Sprintf("# build %d\nprintf '#!/bin/sh\\n"+
			"exec %s \"$@\" %s\\n' > $1\nchmod 755 $1\n", i+1, path, fault))
		git("add", "--all")
		git("commit", "--quiet", "-m", fmt.Sprintf("change %d", i+1))
	}
	return dir
}

// bisectPlan compares in turns, on a server that has no database.
const bisectPlan = `
name: tried
target: {driver: refnull}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 6, ramp: 0s, settle: 1s, measure: 2s}
compare: {arms: {base: {}, new: {}}, mode: duet, slice: 100ms, retry: 0s}
` + openGates

// TestBisectIsCutAndGoesOn: builds of commits are made and measured, and what was measured before a
// signal counts when the same command is given again.
func TestBisectIsCutAndGoesOn(t *testing.T) {
	t.Parallel()
	args := []string{"bisect", "-endpoint", "typical(op)", "-source", history(t, 4, 3), "-good", "main~3", "-bad", "main",
		"-build", "sh {source}/make {program}"}
	cmd, root, output := startPlan(t, bisectPlan, args...)
	until(t, output, "block 2/6  ")
	failure.None(t, cmd.Process.Signal(syscall.SIGINT))
	if status := wait(t, cmd, 3*time.Minute, output); status != exit.OfSignal(syscall.SIGINT) {
		t.Errorf("status %d of a signal\n%s", status, output)
	}
	for _, want := range []string{"making build 4 of 4", "not over after 1 blocks", "the same command goes on with it"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	if strings.Contains(output.String(), "find in four of five cases") { // a step does not foretell
		t.Errorf("foresight of a step in\n%s", output)
	}
	store := filepath.Join(root, "store")
	args = append(args, "-budget", "1ns", "-store", store, filepath.Join(root, "plan.yaml"))
	next, said := launch(t, args...)
	if status := wait(t, next, 3*time.Minute, said); status != exit.Inconclusive ||
		!strings.Contains(said.String(), "not over after 1 blocks: its budget was used up") ||
		strings.Contains(said.String(), "making build") {
		t.Errorf("status %d\n%s", status, said)
	}
	all, _ := filepath.Glob(filepath.Join(store, "bisections", "*", bisect.File))
	if len(all) != 1 {
		t.Fatalf("%q\n%s", all, output)
	}
	text, err := os.ReadFile(all[0])
	failure.None(t, err)
	var r bisect.Record
	failure.None(t, json.Unmarshal(text, &r))
	if len(r.Steps) != 1 || !r.Steps[0].Cut || len(r.Steps[0].Ratios) != 1 || r.Steps[0].Ratios[0] < 0.1 {
		t.Errorf("%+v", r.Steps)
	}
	report, err := os.ReadFile(filepath.Join(filepath.Dir(all[0]), bisect.ReportFile))
	failure.None(t, err)
	if !strings.Contains(string(report), "| 1 | ends | 4 | 1 | 1 | +") {
		t.Errorf("%s", report)
	}
	nothingLeft(t, root, cmd.Process.Pid, nil)
}
