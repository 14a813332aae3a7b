package rig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// A kept dump is found again with the same password of its users alone, and its name does not hold it.
func TestDumpsOfPasswords(t *testing.T) {
	a, b := ofPassword("correct horse"), ofPassword("battery staple")
	if ofPassword("") != "" || a == b || a != ofPassword("correct horse") || strings.Contains(a, "horse") || len(a) != 5 {
		t.Errorf("%q, %q", a, b)
	}
}

// The database of a halted deployment is not read: its next reset would change the files meanwhile.
func TestSnapshotOfAHaltedDeployment(t *testing.T) {
	deployed, into := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	state := filepath.Join(deployed, "postgresql")
	if err := errors.Join(os.MkdirAll(filepath.Join(state, "data"), 0o755), os.WriteFile(filepath.Join(state, "data", "PG_VERSION"), []byte("1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	held, err := process.Claim(t.Context(), deployed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := quietMaker().Snapshot(t.Context(), state, "chat", into); !errors.Is(err, lab.ErrInUse) {
		t.Errorf("while another program has it: %v, want ErrInUse", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := quietMaker().Snapshot(t.Context(), state, "chat", into); err == nil || errors.Is(err, lab.ErrInUse) { // no server has this version
		t.Errorf("after it: %v", err)
	}
}
