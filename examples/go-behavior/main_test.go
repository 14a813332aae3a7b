package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
)

// TestMain is the program where the test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("GO_BEHAVIOR_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestGoBehavior builds the server, carries the plan out for a shorter time, and reads the run.
func TestGoBehavior(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "server"), "../rooms/server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer("ramp: 5s, settle: 5s, measure: 30s", "ramp: 1s, settle: 1s, measure: 3s").
		Replace(string(text))
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(short), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "run", "-calibrate=false", "-store", dir, "-json", "plan.yaml")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GO_BEHAVIOR_PROGRAM=1")
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	// A busy host is not a fault of the behavior.
	if code := cmd.ProcessState.ExitCode(); err != nil && code != exit.Invalid && code != exit.SLO {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	var run struct {
		Operations []struct {
			Name          string
			Count, Errors uint64
		}
		Users struct {
			Messages struct{ Acked, Seen, Lost, Duplicated, Misordered int64 } `json:"messages_whole_run"`
		}
	}
	if err := json.Unmarshal(out, &run); err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, o := range run.Operations {
		counts[o.Name] = o.Count
		if o.Errors > 0 {
			t.Errorf("%s: %d errors", o.Name, o.Errors)
		}
	}
	if counts["say"] == 0 || counts["delivery"] < 5*counts["say"] {
		t.Errorf("operations %v, want about nine deliveries of each message", counts)
	}
	if m := run.Users.Messages; m.Acked == 0 || m.Seen < 5*m.Acked || m.Lost+m.Duplicated+m.Misordered > 0 {
		t.Errorf("messages %+v", m)
	}
}
