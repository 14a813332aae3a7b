package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plimsoll/cmd/exit"
)

// built is the directory of the program that program has built; empty before.
var built string

func TestMain(m *testing.M) {
	status := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(status)
}

// program builds the program, once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-newsfeed-")
	if err != nil {
		return "", err
	}
	built = dir
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "plimsoll")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// openGates are limits that no busy host reaches: tests are about the course of a comparison, not
// its numbers.
const openGates = `
gates: {lag: {red: 60s}, late: {red: 100%}, users: {red: 1%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 60s}, pause: {red: 60s}, gc: {red: 100%}, steal: {amber: 100%, red: 100%}, target_steal: {amber: 100%, red: 100%},
  others: {amber: 100%, red: 100%}, throttled: {red: 100%}, wait: {red: 100%}, inbox: {red: 60s}, memory: {red: 100%}, ports: {red: 100%}, bursts: {red: 1000x}, little: {red: 100%}}
`

// ran carries out a command line.
func ran(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestCommandLine: the program has the verbs of plimsoll and one more, whose help is data and whose
// mistakes have a line each.
func TestCommandLine(t *testing.T) {
	status, help, _ := ran(t, "help")
	for _, verb := range []string{"\n  compare ", "\n  refchat ", "\n  newsfeed "} {
		if status != exit.OK || !strings.Contains(help, verb) {
			t.Errorf("status %d, help without %q:\n%s", status, verb, help)
		}
	}
	for _, of := range [][]string{{"newsfeed"}, {"newsfeed", "store"}, {"newsfeed", "perf"}} {
		_, want, _ := ran(t, append([]string{"help"}, of...)...)
		status, out, errs := ran(t, append(of, "-h")...)
		if status != exit.OK || errs != "" || out != want ||
			!strings.Contains(out, "usage: ") && !strings.HasPrefix(out, "Usage of ") {
			t.Errorf("%q: status %d, stderr %q, stdout\n%s\nwant\n%s", of, status, errs, out, want)
		}
		for line := range strings.Lines(out) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 {
				t.Errorf("%q: a line is too long: %q", of, line)
			}
		}
	}
	for line, want := range map[string]string{
		"newsfeed -bogus":      "plimsoll newsfeed: usage: flag provided but not defined: -bogus\n",
		"newsfeed store x":     "plimsoll newsfeed: usage: unexpected argument \"x\"\n",
		"newsfeed perf -bogus": "plimsoll newsfeed: usage: flag provided but not defined: -bogus\n",
	} {
		if status, out, errs := ran(t, strings.Fields(line)...); status != exit.Usage ||
			out != "" ||
			errs != want {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant\n%s", line, status, out, errs, want)
		}
	}
}

// TestExamplesAreGood checks each plan of this module.
func TestExamplesAreGood(t *testing.T) {
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) < 4 {
		t.Fatal(examples, err)
	}
	for _, file := range examples {
		if status, out, errs := ran(t, "plan", "check", file); status != exit.OK {
			t.Errorf("%s: status %d\n%s%s", file, status, out, errs)
		}
	}
}
