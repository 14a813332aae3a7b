package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/failure"
	"plimsoll/record"
)

const crashPlan = `
name: crash
target: {driver: refchat, args: ["-hash=bcrypt:4"ARGS]}
database: {engine: [postgresql]}
workload: {behavior: poster, pace: 0.05, params: {channels: "2"}}
bounded: {users: 6, ramp: 500ms, settle: 500ms, measure: 3s}
` + openGates

// crashedRun returns the directory of the only run in a store, when it is there.
func crashedRun(root string) string {
	dirs, _ := filepath.Glob(filepath.Join(root, "store", "runs", "*"))
	if len(dirs) != 1 {
		return ""
	}
	return dirs[0]
}

// atPhase waits until a run is in a phase.
func atPhase(t *testing.T, root, phase string, output *safeBuffer) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(crashedRun(root), record.EventsFile))
		if err == nil && bytes.Contains(b, []byte(`"kind":"phase"`)) &&
			bytes.Contains(b, []byte(`"phase":"`+phase+`"`)) {
			return
		}
	}
	t.Fatalf("no phase %s\n%s", phase, output.String())
}

// childrenOf returns the processes whose parent is pid, with their command lines.
func childrenOf(pid int) map[int]string {
	out := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		out[child] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
	}
	return out
}

// journaled returns the process that a run's deployment has started under a name.
func journaled(t *testing.T, root, journal string) int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "store", "state", "*", journal))
	more, _ := filepath.Glob(filepath.Join(root, "store", "state", "*", "*", journal))
	var text []byte
	var live []int // the newest is last: others may have come and gone since it began
	for _, f := range append(files, more...) {
		b, err := os.ReadFile(f)
		failure.None(t, err)
		text = append(text, b...)
		for line := range bytes.Lines(b) {
			var l struct {
				PID   int  `json:"pid"`
				Ended bool `json:"ended"`
			}
			failure.None(t, json.Unmarshal(line, &l))
			if !l.Ended {
				live = append(live, l.PID)
				continue
			}
			live = slices.DeleteFunc(live, func(pid int) bool { return pid == l.PID })
		}
	}
	if len(live) == 0 {
		t.Fatalf("no process in %s of %q:\n%s", journal, files, text)
	}
	return live[len(live)-1]
}

// A target that crashes in the measured phase, and goes on or not, makes a run that is not valid,
// by the target's doing, and the finding quotes the line of the log. Before, a backend of
// PostgreSQL that was killed, with a recovery in the server's log, left a valid run and status 0.
func TestACrashInTheMeasuredPhaseVoidsTheRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args string
		do         func(t *testing.T, root string)
		want       []string // in one finding each
	}{
		{"a backend of PostgreSQL is killed", "", func(t *testing.T, root string) {
			killed := false
			for pid, line := range childrenOf(journaled(t, root, "postgresql.journal")) {
				// "postgres: USER DATABASE HOST(PORT) STATE"
				if strings.Contains(line, " chat ") && !killed {
					killed = true
					failure.None(t, syscall.Kill(pid, syscall.SIGKILL))
				}
			}
			if !killed {
				t.Fatal("PostgreSQL has no backend of the database")
			}
		}, []string{"was terminated by signal 9: Killed", "db postgres: the database server recovered from a crash", "; reinitializing"}},
		{"the server is killed", "", func(t *testing.T, root string) {
			failure.None(t, syscall.Kill(journaled(t, root, "app.journal"), syscall.SIGSEGV))
		}, []string{"app app-0: plimsoll ended: exit status 2", "app app-0: it crashed"}},
		{"a request panics and the server goes on", `, "-fault=panic:10%@createPost"`, func(*testing.T, string) {},
			[]string{"panic serving 127.0.0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, root, output := startPlan(t, strings.Replace(crashPlan, "ARGS", tt.args, 1), "run")
			atPhase(t, root, "measure", output)
			tt.do(t, root)
			status := wait(t, cmd, 2*time.Minute, output)
			r, err := record.Open(crashedRun(root))
			failure.None(t, err)
			if status != exit.Invalid && status != exit.SLO || r.Validity.Valid ||
				record.CauseOf(r.Validity) != record.ByTarget {
				t.Errorf(
					"status %d, valid %v, by %q\n%s",
					status,
					r.Validity.Valid,
					record.CauseOf(r.Validity),
					output.String(),
				)
			}
			var texts []string
			for _, f := range r.Validity.Findings {
				if f.Gate == record.CrashGate && f.Level == record.Red {
					texts = append(texts, f.Text)
				}
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(texts, func(s string) bool {
					return strings.Contains(s, want)
				}) {
					t.Errorf("no finding has %q: %q", want, texts)
				}
			}
			if len(texts) > 9 {
				t.Errorf("%d findings", len(texts))
			}
			b, err := os.ReadFile(filepath.Join(r.Dir, record.EventsFile))
			if err != nil || !bytes.Contains(b, []byte(`"kind":"crash"`)) {
				t.Errorf("no event of it: %v", err)
			}
		})
	}
}

// A verb that panics ends with the status of a tool that failed, and prints where; 2 stays bad
// usage.
func TestAVerbThatPanicsEndsWithStatusOne(t *testing.T) {
	var stderr bytes.Buffer
	a := &app.App{
		Stdin:  strings.NewReader(""),
		Stdout: panicking{},
		Stderr: &stderr,
		Env:    os.Getenv,
	}
	if status := run(t.Context(), a, []string{"version"}); status != exit.Tool ||
		!strings.Contains(stderr.String(), "panic in the verb version: no room") ||
		!strings.Contains(stderr.String(), "goroutine") {
		t.Errorf("status %d\n%s", status, stderr.String())
	}
	stderr.Reset()
	a = &app.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Env: os.Getenv}
	if status := run(t.Context(), a, []string{"version", "-what"}); status != exit.Usage {
		t.Errorf("status %d of bad usage", status)
	}
	if status := run(t.Context(), a, []string{"version"}); status != exit.OK {
		t.Errorf("status %d", status)
	}
	a.Caught.Add() // in a request, a user or a probe
	if status := run(t.Context(), a, []string{"version"}); status != exit.Tool {
		t.Errorf("status %d after a panic that a boundary caught", status)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic(errors.New("no room")) }
