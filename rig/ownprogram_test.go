package rig

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/target/lab"
)

// A program whose file was replaced starts itself, and not what has taken its place.
func TestAReplacedProgramStartsItself(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho another program\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, want string }{{exe, exe}, {other, runningProgram}, {other + "-gone", runningProgram}} {
		if got := unlessReplaced(tt.file); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.file, got, tt.want)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := lab.Start(t.Context(), lab.Spec{Path: unlessReplaced(other), Args: []string{"-test.list", "^TestAReplacedProgramStartsItself$"}, Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	<-p.Done()
	if err != nil || p.Err() != nil || string(out) != "TestAReplacedProgramStartsItself\n" {
		t.Errorf("it has printed %q: %v, %v", out, err, p.Err())
	}
}
