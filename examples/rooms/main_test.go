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

// TestMain is the program where the tests start it.
func TestMain(m *testing.M) {
	if os.Getenv("ROOMS_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// program runs this program in a directory and returns what it prints, and its exit status.
func program(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROOMS_PROGRAM=1")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the status says it
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// edited writes the plan with other texts into a directory that has the server.
func edited(t *testing.T, oldnew ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile("go.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.NewReplacer(oldnew...).Replace(string(text))
	if err := os.WriteFile(filepath.Join(dir, "go.yaml"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "chat"), "./server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestRoomsInGo carries the plan out for a shorter time, as its comment says, and reads the run.
func TestRoomsInGo(t *testing.T) {
	t.Parallel()
	dir := edited(t, "users: 200", "users: 60", "ramp: 5s", "ramp: 1s", "settle: 5s", "settle: 1s",
		"measure: 1m", "measure: 4s", "params: {", "pace: 0.2, params: {")
	out, talk, status := program(t, dir, "run", "-calibrate=false", "-store", dir, "-json", "go.yaml")
	// A busy host is not a fault of the behavior.
	if status != exit.OK && status != exit.Invalid && status != exit.SLO {
		t.Fatalf("status %d\n%s", status, talk)
	}
	var run struct {
		Operations []struct {
			Name          string
			Count, Errors uint64
		}
		Users struct {
			Messages struct{ Acked, Seen, Lost, Duplicated, Misordered int64 } `json:"messages_whole_run"`
			Audit    struct{ Expected, Readable, Missing int64 }
			Mixes    []struct{ Behavior string }
		}
	}
	if err := json.Unmarshal([]byte(out), &run); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts := map[string]uint64{}
	for _, o := range run.Operations {
		counts[o.Name] = o.Count
		if o.Errors > 0 {
			t.Errorf("%s: %d errors", o.Name, o.Errors)
		}
	}
	for _, name := range new(behavior).Operations() {
		if counts[name] == 0 {
			t.Errorf("nobody did %s: %v", name, counts)
		}
	}
	if counts["delivery"] < 10*counts["say"] {
		t.Errorf("operations %v, want about nineteen deliveries of each message", counts)
	}
	u := run.Users
	if m := u.Messages; m.Acked == 0 || m.Lost+m.Duplicated+m.Misordered > 0 {
		t.Errorf("messages %+v", m)
	}
	if a := u.Audit; a.Expected != u.Messages.Acked || a.Readable != a.Expected || a.Missing > 0 {
		t.Errorf("audit %+v of %d messages", a, u.Messages.Acked)
	}
	if len(u.Mixes) != 1 || u.Mixes[0].Behavior != "rooms" {
		t.Errorf("mixes %+v", u.Mixes)
	}
}

func TestSettingsOfRooms(t *testing.T) {
	t.Parallel()
	dir := edited(t, `members: "20"`, `members: "0", size: "3"`, "p99(say)", "p99(shout)")
	_, talk, status := program(t, dir, "plan", "check", "go.yaml")
	if status != exit.Usage || !strings.Contains(talk, `"0": want a number above 0`) ||
		!strings.Contains(talk, "shout") {
		t.Errorf("status %d, want each mistake:\n%s", status, talk)
	}
}
