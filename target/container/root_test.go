package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
)

// TestRootHasTheLibrariesOfADynamicProgram covers dynamic programs: plimsoll itself is static, but
// a server under test need not be.
func TestRootHasTheLibrariesOfADynamicProgram(t *testing.T) {
	program, err := exec.LookPath("ls")
	if err != nil {
		t.Skip(err)
	}
	libs, err := libraries(program)
	failure.None(t, err)
	if len(libs) == 0 {
		t.Skipf("%s is static here", program)
	}
	root := filepath.Join(t.TempDir(), "rootfs")
	inside, err := makeRoot(root, program, "/state")
	if err != nil || inside != "/bin/ls" {
		t.Fatalf("the program is %q inside, %v", inside, err)
	}
	for _, name := range append(libs, inside) {
		if fi, err := os.Stat(filepath.Join(root, name)); err != nil || !fi.Mode().IsRegular() ||
			fi.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyPrograms(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	failure.None(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	_, err := makeRoot(filepath.Join(dir, "rootfs"), script)
	failure.Says(t, err, "only programs")
}
