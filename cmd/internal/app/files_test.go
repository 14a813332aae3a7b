package app

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

	"plimsoll/internal/failure"
)

// Commands that write one report at once do not share a temporary file: each write succeeds, the
// report is whole, and neither it nor a failed write leaves anything beside it, or touches what
// another program is writing there. The modes of reports are those of their directory.
func TestReportsAreWrittenAtOnce(t *testing.T) {
	for mode, most := range map[fs.FileMode]fs.FileMode{0o755: 0o644, 0o700: 0o600} {
		dir := filepath.Join(t.TempDir(), "reports")
		failure.None(t, os.Mkdir(dir, mode))
		path := filepath.Join(dir, "report.md")
		other := filepath.Join(dir, "report.md.part")
		taken := filepath.Join(dir, "taken.md")
		failure.None(t,
			errors.Join(os.WriteFile(other, []byte("half a rep"), 0o600), os.Mkdir(taken, 0o755)))
		text := func(i int) string { return strings.Repeat(fmt.Sprintln("line of", i), 10000) }
		const writers = 8
		errs := make([]error, writers)
		var inside, done sync.WaitGroup
		inside.Add(writers)
		for i := range writers {
			done.Go(func() {
				errs[i] = WriteFile(path, func(w io.Writer) error {
					inside.Done()
					inside.Wait()
					_, err := io.WriteString(w, text(i))
					return err
				})
			})
		}
		done.Wait()
		b, err := os.ReadFile(path)
		fi, err2 := os.Stat(path)
		failure.None(t, errors.Join(append(errs, err, err2)...))
		whole := false
		for i := range writers {
			whole = whole || string(b) == text(i)
		}
		if got := fi.Mode().Perm(); !whole || got&^most != 0 || got&0o400 == 0 {
			t.Errorf(
				"the report of %d bytes is of none of the writers, or has the mode %v, want at most %v",
				len(b),
				got,
				most,
			)
		}
		if err := WriteFile(taken, func(io.Writer) error { return nil }); err == nil {
			t.Error("a directory was replaced")
		}
		if b, err := os.ReadFile(other); err != nil || string(b) != "half a rep" {
			t.Errorf("the other's file: %q, %v", b, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
			t.Errorf("%v, %v, want the report, the other's file and the directory", entries, err)
		}
	}
}
