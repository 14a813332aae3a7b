package database_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// A data directory of another program is made again. When that is cut short, no mark shows it as
// finished.
func TestUnfinishedDataHasNoMark(t *testing.T) {
	dir := t.TempDir()
	other, err := lab.PrivateDir(dir, 65534) // where a server that is not root has its state
	if os.Geteuid() != 0 {
		other, err = dir, nil
	}
	failure.None(t, err)
	mark := filepath.Join(other, "mark")
	failure.None(t, os.WriteFile(mark, []byte("another program"), 0o644))
	none := database.Product{
		Title: "a server", Kind: "none", Mark: "mark",
		Find: func(context.Context) (database.Programs, error) {
			return database.Programs{Name: "none", Path: "/bin/false", Dir: "/"}, nil
		},
		Init: func(*database.View) (lab.Spec, error) { return lab.Spec{Path: "/bin/false"}, nil },
	}
	if _, err := database.Start(t.Context(), none, database.Config{Dir: dir}); err == nil {
		t.Fatal("a program that is none made a data directory")
	}
	failure.Gone(t, mark)
}
