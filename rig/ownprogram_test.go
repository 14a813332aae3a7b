package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/target/lab"
)

// copyOf copies a program.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

// The agents of a program are its processes, also when a new build has taken the place of its file.
func TestAgentsOfAReplacedProgram(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	copyOf(t, shell, file)
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("read line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := lab.Start(t.Context(), lab.Spec{Path: file, Args: []string{"agent"}, Dir: dir, Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen")
	}
	copyOf(t, shell, file+".new")
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen when its file was replaced")
	}
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}
