package process_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/process"
)

// TestFilesOfTheProgram: what a run has uploaded is gone at the next one, and what the provisioning
// did is not.
func TestFilesOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	put := func(names ...string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(dir, name)
			failure.None(
				t,
				errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)),
			)
		}
	}
	conf := process.Config{
		Files: []string{"files", "none"},
		Provision: func(context.Context, target.Endpoint) error {
			put("files/day/a")
			return nil
		},
	}
	ctx, dep := deploy(t, conf, spec(dir, ""))
	for range 2 {
		put("files/b", "files/day/c", "files/next/deep/d", "own")
		failure.None(t, errors.Join(
			os.Symlink(outside, filepath.Join(dir, "files", "link")),
			os.WriteFile(filepath.Join(outside, "x"), nil, 0o644),
		))
		failure.None(t, dep.Reset(ctx))
		var got []string
		failure.None(t, filepath.WalkDir(
			filepath.Join(dir, "files"),
			func(path string, _ fs.DirEntry, err error) error {
				name, _ := filepath.Rel(dir, path)
				got = append(got, name)
				return err
			},
		))
		if want := []string{"files", "files/day", "files/day/a"}; !slices.Equal(got, want) {
			t.Errorf("after a reset there is %v, want %v", got, want)
		}
		for _, path := range []string{filepath.Join(dir, "own"), filepath.Join(outside, "x")} {
			failure.None(t, failure.Of(os.Stat(path)))
		}
	}
}
