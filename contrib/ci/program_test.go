package ci

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/program"
)

func TestMain(m *testing.M) {
	status := m.Run()
	program.Remove()
	os.Exit(status)
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
