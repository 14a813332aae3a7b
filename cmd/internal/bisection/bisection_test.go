package bisection

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
)

const refused = `
name: tried
target: {driver: refnull}
workload: {behavior: poster, pace: 0.02}
bounded: {users: 6, ramp: 0s, settle: 1s, measure: 2s}
compare: {arms: {base: {}, new: {}}, mode: duet, slice: 100ms, retry: 0s}
`

// TestBisectRefuses: a range that cannot be searched is bad usage, before anything is made.
func TestBisectRefuses(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		failure.Lacks(t, "git", err)
	}
	repo := t.TempDir()
	commit := []string{"commit", "--quiet", "--allow-empty", "-m", "a change"}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, commit, commit} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo,
			"-c", "user.name=A Person", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	root := t.TempDir()
	file := filepath.Join(root, "plan.yaml")
	failure.None(t, os.WriteFile(file, []byte(refused), 0o600))
	const build = "b {commit} {dir}"
	between := func(good, bad, build string) []string {
		return []string{"-good", good, "-bad", bad, "-build", build, file}
	}
	for want, args := range map[string][]string{
		"want -good, -bad":                  {file},
		"the only argument is a plan":       {"-good", "main~1", "-bad", "main", "a", file},
		"want {commit} or {source}":         between("main~1", "main", "make {dir}"),
		"is not an ancestor of":             between("main", "main~1", build),
		"has no revision v1":                between("v1", "main", build),
		"-build goes with -good and -bad":   {"-build", build, "a", "b", file},
		"-endpoint p95(nothing)":            {"-endpoint", "p95(nothing)", "a", "b", file},
		"both ends of the range are needed": between("main~1", "main", "false {commit} {dir}"),
	} {
		args = append([]string{"-store", filepath.Join(root, "store"), "-source", repo}, args...)
		if status, _, errs := verbtest.Run(t, Bisect, args...); status != exit.Usage ||
			!strings.Contains(errs, want) {
			t.Errorf("%q: status %d, no %q in\n%s", args, status, want, errs)
		}
	}
}
