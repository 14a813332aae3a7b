// Package program builds the program as it is shipped, for tests that run it with its children.
package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// began is the directory of the test's package.
var began, _ = os.Getwd()

// builtIn is the directory of the program that Build has built; empty before.
var builtIn string

// Build builds the program, once for all tests of a package, and returns its path. It is safe for
// concurrent use.
var Build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-test-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "plimsoll")
	out, err := exec.Command(filepath.Join(root(), "scripts", "build.sh"), path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// root returns the root of the repository.
func root() string {
	dir := began
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "scripts", "build.sh")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return began
}

// Remove removes the program if it was built. A TestMain calls it when all tests have ended.
func Remove() {
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
}

// Survivors returns the processes whose command line, directory or environment names root.
func Survivors(root string) map[int]string {
	out := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		if pid == os.Getpid() {
			continue
		}
		for _, f := range []string{"cmdline", "environ"} {
			if b, err := os.ReadFile(filepath.Join(d, f)); err == nil &&
				bytes.Contains(b, []byte(root)) {
				line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
				out[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
			}
		}
	}
	return out
}
