package verbs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/cmd/exit"
)

// readings are the verbs that must show the contents of a store, even if it cannot be written.
func readings(id string) [][]string {
	return [][]string{
		{"ls"},
		{"ls", "-json"},
		{"ls", "-aa"},
		{"report", "last"},
		{"judge", id},
		{"show", "20260504-093000-stored"},
	}
}

// sameReadings runs the verbs on a store that can be written and then, after spoil, once more: they
// print the same, with the same status.
func sameReadings(t *testing.T, root, id string, spoil func()) (errors []string) {
	t.Helper()
	type reading struct {
		status int
		out    string
	}
	read := func(args []string) (reading, string) {
		if args[0] == "show" { // of several runs that begin so, the first
			entries, err := os.ReadDir(filepath.Join(root, "runs"))
			if err != nil {
				t.Fatal(err)
			}
			args = []string{"show", entries[0].Name()}
		}
		status, out, errOut := inStore(t, root, args...)
		kept := []string{}
		for line := range strings.Lines(out) { // the screen ends with where the report was written
			if !strings.Contains(line, "report.") {
				kept = append(kept, line)
			}
		}
		return reading{status, strings.Join(kept, "")}, errOut
	}
	var was []reading
	for _, args := range readings(id) {
		r, _ := read(args)
		if r.status == exit.Tool || r.status == exit.Usage || r.out == "" {
			t.Fatalf("%s: status %d, %q", args, r.status, r.out)
		}
		was = append(was, r)
	}
	spoil()
	for i, args := range readings(id) {
		r, errOut := read(args)
		if r != was[i] {
			t.Errorf(
				"%s: status %d, before %d; %q\nnow:\n%.400s\nbefore:\n%.400s",
				args,
				r.status,
				was[i].status,
				errOut,
				r.out,
				was[i].out,
			)
		}
		errors = append(errors, errOut)
	}
	return errors
}

// A store on a read-only file system is read: ls, show, judge and report print the same as
// elsewhere. Root is not held by the modes of files, and has a mount of its own for it.
func TestReadOnlyStoreIsRead(t *testing.T) {
	root := t.TempDir()
	_, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	errors := sameReadings(t, root, id, func() { makeReadOnly(t, root) })
	if !strings.Contains(errors[3], "the report is shown and was not written") {
		t.Errorf("report last: %q", errors[3])
	}
}

// makeReadOnly makes a directory and all below it read-only until the test ends.
func makeReadOnly(t *testing.T, root string) {
	t.Helper()
	if os.Geteuid() == 0 {
		err := unix.Mount(root, root, "", unix.MS_BIND, "")
		if err == nil {
			t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
			err = unix.Mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
		}
		if err != nil {
			noMount(t, err)
		}
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

// noMount ends a test that has no right to mount: it is skipped, and fails where CI runs it.
func noMount(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("not allowed to mount: %v", err)
	}
	t.Skipf("not allowed to mount: %v", err)
}

// A store on a full file system is read. Only root can make one; the first failure on one, of the
// report's own files, is in the next test for all users.
func TestFullStoreIsRead(t *testing.T) {
	root, made := t.TempDir(), t.TempDir()
	if err := unix.Mount("plimsoll-test", root, "tmpfs", 0, "size=64m"); err != nil {
		noMount(t, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	_, id := keptComparison(t, made, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	if err := os.CopyFS(root, os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	errors := sameReadings(t, root, id, func() {
		// as if the store had not been listed before
		_ = os.RemoveAll(filepath.Join(root, "index.json"))
		fill(t, root)
	})
	if !strings.Contains(
		errors[3],
		"no space left on device; the report is shown and was not written",
	) ||
		!strings.Contains(errors[0], "the list was made without it") {
		t.Errorf("ls: %q\nreport last: %q", errors[0], errors[3])
	}
}

// fill takes the rest of a file system.
func fill(t *testing.T, root string) {
	t.Helper()
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

// noGraphs puts a directory that takes no file from any user, root neither, in the place of a
// report's graphs.
func noGraphs(t *testing.T, report string) {
	t.Helper()
	graphs := filepath.Join(report, "graphs")
	if err := os.RemoveAll(graphs); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/sys", graphs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(graphs, "file"), nil, 0o600); err == nil {
		t.Fatalf("a file in /sys: %v", err)
	}
}

// The same for all users: not all of the report's files can be written, and the index cannot be
// opened.
func TestReportThatCannotBeWrittenIsShown(t *testing.T) {
	root := t.TempDir()
	st, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	errors := sameReadings(t, root, id, func() {
		noGraphs(t, st.ComparisonDir(id))
		index := filepath.Join(root, "index.json")
		_ = os.Remove(index)
		if err := os.MkdirAll(filepath.Join(index, "in the way"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(errors[3], "; the report is shown and was not written") ||
		!strings.Contains(errors[0], "the list was made without it") {
		t.Errorf("ls: %q\nreport last: %q", errors[0], errors[3])
	}
}

// A report that was asked for elsewhere, and cannot be written there, fails.
func TestReportElsewhereThatCannotBeWrittenFails(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	_, id := keptComparison(t, root, keptShape{seconds: 60, handlers: 0, methods: 0, ops: 20})
	noGraphs(t, out)
	if status, _, errOut := inStore(t, root, "report", "-out", out, id); status != exit.Tool ||
		!strings.Contains(errOut, "report graphs/") {
		t.Errorf("status %d, %q", status, errOut)
	}
}
