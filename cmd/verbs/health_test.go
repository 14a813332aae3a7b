package verbs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/target/lab"
)

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

// A run whose generator shares its core with a program that never waits is not valid.
func TestAHogBesideTheGeneratorMakesARunInvalid(t *testing.T) {
	core := otherCore(t)
	hog := exec.Command("taskset", "-c", fmt.Sprint(core), "sh", "-c", "while :; do :; done")
	failure.None(t, hog.Start())
	defer func() {
		_ = hog.Process.Kill() // a loop keeps nothing
		_ = hog.Wait()
	}()
	cmd, root, output := startPlan(
		t,
		fmt.Sprintf(
			"name: beside\ntarget: {driver: refnull}\nplacement: {generator: [%d], target: [0]}\n"+
				"workload: {behavior: poster, pace: 0.1}\nbounded: {users: 20, ramp: 1s, settle: 1s, measure: 4s}\n",
			core,
		),
		"run",
	)
	status := wait(t, cmd, time.Minute, output)
	r, _ := onlyRun(t, root)
	red := slices.ContainsFunc(r.Validity.Findings, func(f record.Finding) bool {
		return f.Gate == "core" && f.Level == record.Red
	})
	if status != exit.Invalid || !red {
		t.Errorf(
			"status %d, findings %+v; want %d and core",
			status,
			r.Validity.Findings,
			exit.Invalid,
		)
	}
}
