package postgresql

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/target/lab"
)

// A data directory of another program is made again. When that is cut short, no mark shows it as
// finished.
func TestUnfinishedDataHasNoMark(t *testing.T) {
	dir := t.TempDir()
	space, err := lab.NewSpace(t.Context(), dir, 0, lab.Plain)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{conf: Config{Dir: dir}, dir: dir, space: space, bin: "/nowhere"}
	mark := filepath.Join(dir, settingsFile)
	if err := os.WriteFile(mark, []byte("another program"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.data(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.initdb(t.Context()); err == nil {
		t.Fatal("a program that is none made a data directory")
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the mark of the program before is there (%v)", err)
	}
}
