//go:build full

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/target/lab"
)

const feedFullPlan = `
name: feed-full
seed: 7
target: {driver: newsfeed, profile: full}
database: {engine: postgresql}
workload: {behavior: newsfeed, params: {preset: mixed-10}}
bounded: {users: 10, ramp: 500ms, settle: 5s, measure: 5s}
compare: {arms: {base: {}, new: {args: [-index=commit]}}, mode: sequence, blocks: 1}
` + openGates

// TestFullNewsFeedCompared compares two arms of the service with real Cassandra, OpenSearch and
// Kafka: every story of every run is read back, nothing fails, the report names the stores, and
// nothing is left running.
func TestFullNewsFeedCompared(t *testing.T) {
	exe, dir, plan := fullPlan(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "compare", "-store", dir, plan)
	var talk strings.Builder
	cmd.Stderr = &talk
	err := cmd.Run()
	// The verdict of one block, and a busy host, are not faults of the feed.
	if code := cmd.ProcessState.ExitCode(); code == exit.Tool || code == exit.Usage {
		t.Fatalf("status %d, %v\n%s", code, err, talk.String())
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "manifest.json"))
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %v, %v: want two", runs, err)
	}
	for _, name := range runs {
		checkFullRun(ctx, t, exe, dir, name)
	}
	reports, err := filepath.Glob(filepath.Join(dir, "comparisons", "*", "report-full.md"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("reports %v, %v: want one", reports, err)
	}
	report, err := os.ReadFile(reports[0])
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\|\s*Other stores.*$`).FindString(string(report))
	for _, say := range []string{"bus: Kafka 3.9.1", "cache: Redis ", "search: OpenSearch 2.19.2", "wide: Cassandra 5.0.4", "commitlog_sync=periodic"} {
		if !strings.Contains(row, say) {
			t.Errorf("the row of the other stores lacks %q: %s", say, row)
		}
	}
	t.Log(row)
}

// fullPlan writes the plan of these tests.
func fullPlan(t *testing.T) (exe, dir, plan string) {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	plan = filepath.Join(dir, "feed.yaml")
	if err := os.WriteFile(plan, []byte(feedFullPlan), 0o644); err != nil {
		t.Fatal(err)
	}
	return exe, dir, plan
}

// checkFullRun checks one run: the stores behind the service, and that every acknowledged story is
// there.
func checkFullRun(ctx context.Context, t *testing.T, exe, dir, manifest string) {
	t.Helper()
	raw, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Target struct {
			Companions map[string]lab.ProgramInfo
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]string{
		"wide":   "Cassandra 5.0.4",
		"search": "OpenSearch 2.19.2",
		"bus":    "Kafka 3.9.1",
	} {
		if c := m.Target.Companions[role]; c.Name+" "+c.Version != want ||
			c.Settings["heap"] == "" {
			t.Errorf("the %s is %+v, want %s", role, c, want)
		}
	}
	show := exec.CommandContext(
		ctx,
		exe,
		"show",
		"-store",
		dir,
		filepath.Base(filepath.Dir(manifest)),
	)
	text, err := show.CombinedOutput()
	if err != nil && show.ProcessState.ExitCode() != exit.Invalid {
		t.Fatalf("%v\n%s", err, text)
	}
	if m := readBack.FindStringSubmatch(string(text)); m == nil || m[1] != m[2] || m[1] == "0" {
		t.Errorf("not all stories were read back:\n%s", text)
	}
	t.Logf("%s", text)
}

// TestFullNewsFeedDiesWithPlimsoll kills plimsoll with SIGKILL while the whole system is up: none
// of its processes stays.
func TestFullNewsFeedDiesWithPlimsoll(t *testing.T) {
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	state, kill := up(t, exe, feedFullPlan, "-database", "postgresql")
	for _, role := range []string{"app", "db", "cache", "wide", "search", "bus"} {
		if len(state.Processes[role]) == 0 || !state.Processes[role][0].Alive() {
			t.Errorf("%s: processes %v", role, state.Processes[role])
		}
	}
	kill()
}
