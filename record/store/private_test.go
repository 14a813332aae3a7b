package store

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// TestARunIsItsUsersAlone walks a store that was made under a umask that lets all users read new
// files.
func TestARunIsItsUsersAlone(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // no test of this package is parallel
	root := filepath.Join(t.TempDir(), "store")
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a1", false)
	put(t, s, "b1", true)
	if _, _, err := s.List(context.Background()); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		others := fi.Mode().Perm() & 0o077
		if path == root {
			others &= 0o066 // a database's user may pass through, and sees nothing
		}
		if others != 0 {
			t.Errorf("%s has the mode %v", path, fi.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
