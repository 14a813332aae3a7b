package agents_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// root is the repository, relative to the directory in which go test runs this package.
const root = "../.."

// patience bounds every program that a test starts.
const patience = 2 * time.Minute

// absent ends a test that needs a tool which is not here: it fails where CI is true, and is skipped
// elsewhere.
func absent(t *testing.T, tool string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s, and CI is true: scripts/setup.sh installs it", tool)
	}
	t.Skipf("no %s on this host: scripts/setup.sh installs it", tool)
}

// program returns the path of an installed program.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		absent(t, name)
	}
	return path
}

// tool returns the path of a file that scripts/setup.sh puts below .plimsoll/tools.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".plimsoll", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		absent(t, name)
	}
	return path
}

// run carries out a program and returns its standard output, and that with the errors after it.
func run(t *testing.T, name string, args ...string) (stdout, all string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	return out.String(), out.String() + errs.String(), err
}
