package verbs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Commands that write one report at once do not share a temporary file: each write succeeds, the report is whole, and
// neither it nor a failed write leaves anything beside it.
func TestReportsAreWrittenAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	text := func(i int) string { return strings.Repeat(fmt.Sprintln("line of", i), 10000) }
	const writers = 8
	errs := make([]error, writers)
	var inside, done sync.WaitGroup
	inside.Add(writers)
	for i := range writers {
		done.Go(func() {
			errs[i] = writeFile(path, func(w io.Writer) error {
				inside.Done()
				inside.Wait()
				_, err := io.WriteString(w, text(i))
				return err
			})
		})
	}
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := false
	for i := range writers {
		whole = whole || string(b) == text(i)
	}
	if !whole {
		t.Errorf("the report of %d bytes is of none of the writers", len(b))
	}
	if err := os.Mkdir(filepath.Join(dir, "taken.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "taken.md"), func(io.Writer) error { return nil }); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v, want the report and the directory", entries, err)
	}
}

// What another program is writing beside a report is left alone, and the modes of reports are those of their directory.
func TestReportLeavesOthersFiles(t *testing.T) {
	for mode, want := range map[fs.FileMode]fs.FileMode{0o755: 0o644, 0o700: 0o600} {
		dir := filepath.Join(t.TempDir(), "reports")
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "report.md.part")
		if err := os.WriteFile(other, []byte("half a rep"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "report.md")
		if err := writeFile(path, func(w io.Writer) error { _, err := io.WriteString(w, "whole\n"); return err }); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(other); err != nil || string(b) != "half a rep" {
			t.Errorf("the other's file: %q, %v", b, err)
		}
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got&^want != 0 || got&0o400 == 0 {
			t.Errorf("in a directory of mode %v: %v, want at most %v", mode, got, want)
		}
	}
}
