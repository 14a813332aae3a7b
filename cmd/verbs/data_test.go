package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/datasets"
	"plimsoll/internal/failure"
	"plimsoll/target"
)

// dataVerb runs plimsoll data and returns its status and output.
func dataVerb(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return ranWith(t, append([]string{"data"}, args...)...)
}

// reachable makes a directory that database servers, which run as other users, can pass through.
func reachable(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // a TempDir is closed to other users
	dir, err := os.MkdirTemp("", "plimsoll-data-")
	failure.None(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	failure.None(t, os.Chmod(dir, 0o755))
	return dir
}

// TestDataEndToEnd makes a dump, checks it, runs a test on it, keeps the state after the run,
// restores it, and breaks it.
func TestDataEndToEnd(t *testing.T) {
	t.Parallel()
	const engine = "postgresql" // each has its test in reference/dataset/dump
	dir := reachable(t)
	made := filepath.Join(dir, "made")
	ok := func(args ...string) string {
		t.Helper()
		status, out, errs := dataVerb(t, args...)
		if status != exit.OK {
			t.Fatalf("data %v: status %d\n%s%s", args, status, out, errs)
		}
		return out
	}
	var list []datasets.Made
	if err := json.Unmarshal([]byte(ok("generate", "tiny", "-engine", engine, "-posts=3000", "-o", made, "-json", "-hash=bcrypt:4")), &list); err != nil ||
		len(list) != 1 {
		t.Fatalf("%v: %+v", err, list)
	}
	if d := list[0]; d.Result.Rows["posts"] != 3000 || d.Bytes == 0 || len(d.Digest) != 64 {
		t.Errorf("made %+v", d)
	}
	if out := ok("verify", made); !strings.Contains(out, "is what its manifest says") {
		t.Errorf("verify says %q", out)
	}
	if out := ok("info", made); !strings.Contains(out, "3,000 rows") {
		t.Errorf("info says %q", out)
	}
	runOn(t, dir, engine, made)
	kept := filepath.Join(dir, "kept")
	ok("snapshot", filepath.Join(dir, "store", "state", engine, engine), kept)
	ok("verify", kept)
	var r datasets.Restored
	if err := json.Unmarshal([]byte(ok("restore", "-plain", "-json", kept, filepath.Join(dir, "back"))), &r); err != nil ||
		r.Restore <= 0 ||
		r.Reset <= 0 ||
		r.Copy <= 0 {
		t.Errorf("restored %+v: %v", r, err)
	}
	// One byte of the largest file.
	path := filepath.Join(kept, largest(t, kept))
	b, err := os.ReadFile(path)
	failure.None(t, err)
	b[len(b)/3] ^= 4
	failure.None(t, os.WriteFile(path, b, 0o600))
	if status, out, _ := dataVerb(t, "verify", "-files", kept); status != exit.Tool ||
		!strings.Contains(out, "other contents") {
		t.Errorf("a flipped byte: status %d, %q", status, out)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".dataset-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	nobodySurvives(t, dir)
}

// runOn carries out a short bounded test on a dump.
func runOn(t *testing.T, dir, engine, dump string) {
	t.Helper()
	plan := filepath.Join(dir, "plan.yaml")
	failure.None(t, os.WriteFile(plan, []byte(`
name: filled
target: {driver: refchat, dataset: `+dump+`, args: ["-hash=bcrypt:4"]}
database: {engine: `+engine+`}
workload: {behavior: mattermost, share: 50%, with: {poster: 50%}, pace: 0.1, params: {speed: "0.2"}}
bounded: {users: 8, ramp: 1s, settle: 1s, measure: 2s}
`), 0o644))
	cmd, output := launch(t, inStore(dir, "run", "-keep", "-json", plan)...)
	// A busy machine may void the run.
	if status := wait(t, cmd, 2*time.Minute, output); status != exit.OK && status != exit.Invalid {
		t.Fatalf("run: status %d\n%s", status, output.String())
	}
	got := shownIn(t, output.String())
	var d target.Description
	if err := json.Unmarshal(got.Manifest.Target, &d); err != nil ||
		!strings.HasPrefix(d.Dataset, "tiny: 100 users, 3,000 posts, seed 1, sha256 ") {
		t.Errorf("the manifest says dataset %q: %v", d.Dataset, err)
	}
	for _, o := range got.Ops {
		if o.Errors > 0 {
			t.Errorf("%s: %d errors: %v", o.Name, o.Errors, o.Class)
		}
	}
}

// largest returns the path of a dump's largest file.
func largest(t *testing.T, dump string) (name string) {
	t.Helper()
	var size int64
	err := filepath.WalkDir(
		filepath.Join(dump, "data"),
		func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if fi, err := e.Info(); err == nil && fi.Size() > size {
				size, name = fi.Size(), path
			}
			return nil
		},
	)
	failure.None(t, err)
	rel, err := filepath.Rel(dump, name)
	failure.None(t, err)
	return rel
}
