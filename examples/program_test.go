package examples

import (
	"os"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/internal/program"
)

func TestMain(m *testing.M) {
	status := m.Run()
	program.Remove()
	os.Exit(status)
}

// needsRoot fails under CI without root, and skips elsewhere.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		failure.Lacks(t, "the cluster needs root")
	}
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
