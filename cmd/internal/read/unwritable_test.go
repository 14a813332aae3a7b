package read

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
)

// A reading is what a verb prints about a store, and its status.
type reading struct {
	status int
	out    string
}

// readings runs the verbs that must show the contents of a store, also of one that cannot be
// written. It returns their output without the lines on where a report was written, and their
// errors.
func readings(t *testing.T, root, id string) (all map[string]reading, errOut map[string]string) {
	t.Helper()
	runs, err := os.ReadDir(filepath.Join(root, "runs"))
	failure.None(t, err)
	all, errOut = map[string]reading{}, map[string]string{}
	for _, one := range []struct {
		verb verbtest.Verb
		args string
	}{
		{Ls, ""}, {Ls, "-json"}, {Ls, "-aa"}, {Report, "last"}, {Judge, id}, {Show, runs[0].Name()},
	} {
		args := append(strings.Fields(one.args), "-store", root)
		status, out, errs := verbtest.Run(t, one.verb, args...)
		kept := ""
		for line := range strings.Lines(out) {
			if !strings.Contains(line, "report.") {
				kept += line
			}
		}
		all[one.args], errOut[one.args] = reading{status, kept}, errs
	}
	return all, errOut
}

// TestUnwritableStoreIsRead: ls, show, judge and report print the same of a store that cannot be
// written. A report that was asked for elsewhere, and cannot be written there, fails.
func TestUnwritableStoreIsRead(t *testing.T) {
	made := t.TempDir()
	_, id := keptComparison(t, made, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	was, _ := readings(t, made, id)
	for args, r := range was {
		if r.status == exit.Tool || r.status == exit.Usage || r.out == "" {
			t.Fatalf("%q: status %d, %q", args, r.status, r.out)
		}
	}
	const unlisted = "the list was made without it"
	for name, tt := range map[string]struct {
		spoil      func(t *testing.T, root, id string)
		ls, report string
	}{
		"read-only":  {makeReadOnly, "", "the report is shown and was not written"},
		"full":       {fillUp, unlisted, "no space left on device; the report is shown and was not written"},
		"in the way": {blockFiles, unlisted, "; the report is shown and was not written"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if name == "full" { // only root can make one
				mount(t, "plimsoll-test", root, "tmpfs", 0, "size=64m")
			}
			failure.None(t, os.CopyFS(root, os.DirFS(made)))
			tt.spoil(t, root, id)
			now, errOut := readings(t, root, id)
			if !maps.Equal(now, was) {
				t.Errorf("now:\n%.800v\nbefore:\n%.800v\nerrors: %q", now, was, errOut)
			}
			if !strings.Contains(errOut[""], tt.ls) || !strings.Contains(errOut["last"], tt.report) {
				t.Errorf("ls: %q\nreport last: %q", errOut[""], errOut["last"])
			}
		})
	}
	out := t.TempDir()
	blockGraphs(t, out)
	if status, _, errOut := verbtest.Run(t, Report, "-store", made, "-out", out, id); status != exit.Tool ||
		!strings.Contains(errOut, "report graphs/") {
		t.Errorf("a report elsewhere: status %d, %q", status, errOut)
	}
}

// mount mounts a file system until the test ends. Without the right to do so the test is skipped,
// and fails where CI runs it.
func mount(t *testing.T, source, at, kind string, flags uintptr, data string) {
	t.Helper()
	err := unix.Mount(source, at, kind, flags, data)
	if err == nil {
		t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("not allowed to mount: %v", err)
	}
	t.Skipf("not allowed to mount: %v", err)
}

// makeReadOnly makes a directory and all below it read-only until the test ends. Root is not held
// by the modes of files, and has a mount of its own for it.
func makeReadOnly(t *testing.T, root, _ string) {
	t.Helper()
	if os.Geteuid() == 0 {
		mount(t, root, root, "", unix.MS_BIND, "")
		mount(t, "", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		return
	}
	chmod := func(dirs, files fs.FileMode) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			mode := files
			if d.IsDir() {
				mode = dirs
			}
			return os.Chmod(path, mode)
		})
	}
	chmod(0o555, 0o444)
	t.Cleanup(func() { chmod(0o755, 0o644) })
}

// fillUp takes the rest of a store's file system, as if the store had not been listed before.
func fillUp(t *testing.T, root, _ string) {
	t.Helper()
	_ = os.RemoveAll(filepath.Join(root, "index.json"))
	f, err := os.Create(filepath.Join(root, "filler"))
	if err != nil {
		return // not even a name is left
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// blockFiles leaves no place for the graphs of a report, nor for the index: for no user.
func blockFiles(t *testing.T, root, id string) {
	t.Helper()
	blockGraphs(t, filepath.Join(root, "comparisons", id))
	index := filepath.Join(root, "index.json")
	_ = os.Remove(index)
	failure.None(t, os.MkdirAll(filepath.Join(index, "in the way"), 0o755))
}

// blockGraphs puts a directory that takes no file from any user, root neither, in the place of a
// report's graphs.
func blockGraphs(t *testing.T, report string) {
	t.Helper()
	graphs := filepath.Join(report, "graphs")
	failure.None(t, os.RemoveAll(graphs))
	failure.None(t, os.Symlink("/sys", graphs))
	if err := os.WriteFile(filepath.Join(graphs, "file"), nil, 0o600); err == nil {
		t.Fatalf("a file in /sys: %v", err)
	}
}
