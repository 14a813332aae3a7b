package lab

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
)

// A program whose file was replaced starts itself, and not what has taken its place.
func TestAReplacedProgramStartsItself(t *testing.T) {
	exe, err := os.Executable()
	failure.None(t, err)
	other := filepath.Join(t.TempDir(), "other")
	failure.None(t, os.WriteFile(other, []byte("#!/bin/sh\necho another program\n"), 0o700))
	for _, tt := range []struct{ file, want string }{{exe, exe}, {other, RunningProgram}, {other + "-gone", RunningProgram}} {
		if got := unlessReplaced(tt.file); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.file, got, tt.want)
		}
	}
	r, w, err := os.Pipe()
	failure.None(t, err)
	defer r.Close()
	p, err := Start(t.Context(), Spec{
		Path:   unlessReplaced(other),
		Args:   []string{"-test.list", "^TestAReplacedProgramStartsItself$"},
		Stdout: w,
	})
	w.Close()
	failure.None(t, err)
	out, err := io.ReadAll(r)
	<-p.Done()
	if err != nil || p.Err() != nil || string(out) != "TestAReplacedProgramStartsItself\n" {
		t.Errorf("it has printed %q: %v, %v", out, err, p.Err())
	}
}
