package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/newsfeed"
	"plimsoll/record"
)

const feedPlan = `
name: feed
seed: 7
target: {driver: newsfeed}
database: {engine: postgresql}
workload: {behavior: newsfeed, params: {preset: mixed-10}}
bounded: {users: 10, ramp: 500ms, settle: 500ms, measure: 2s}
`

var readBack = regexp.MustCompile(`(\d+) of (\d+)\n`)

// TestTheNewsFeedRuns deploys the service with all its stores, loads it, reads everything back and
// leaves nothing behind. The host is rated first, and the run uses the rating.
func TestTheNewsFeedRuns(t *testing.T) {
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "feed.yaml")
	if err := os.WriteFile(plan, []byte(feedPlan), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "run", "-store", dir, plan)
	var talk strings.Builder
	cmd.Stderr = &talk
	// A busy host is not a fault of the feed.
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exit.Invalid {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "manifest.json"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %v, %v: want one", runs, err)
	}
	raw, err := os.ReadFile(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Target struct {
			Companions map[string]struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for role, name := range map[string]string{
		"cache":  "Redis",
		"wide":   "built-in, in the place of Cassandra",
		"search": "built-in, in the place of OpenSearch",
		"bus":    "built-in, in the place of Kafka",
	} {
		if c := m.Target.Companions[role]; c.Name != name || c.Version == "" {
			t.Errorf("the %s is %+v, want %s with its version", role, c, name)
		}
	}
	checkFeedRun(t, filepath.Dir(runs[0]))
	if r, err := record.Open(filepath.Dir(runs[0])); err != nil {
		t.Error(err)
	} else if i := slices.IndexFunc(r.Validity.Gates, func(g record.GateOutcome) bool {
		return g.Name == "headroom"
	}); i < 0 || r.Validity.Gates[i].Value == nil || *r.Validity.Gates[i].Value <= 0 {
		t.Errorf("the run does not use the host's rating: %+v", r.Validity.Gates)
	}
	show := exec.CommandContext(
		ctx,
		exe,
		"show",
		"-store",
		dir,
		filepath.Base(filepath.Dir(runs[0])),
	)
	text, err := show.CombinedOutput()
	if err != nil && show.ProcessState.ExitCode() != exit.Invalid {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, say := range []string{"participant", "befriend", "story", "search", "newsfeed searchers"} {
		if !strings.Contains(string(text), say) {
			t.Errorf("show does not speak of %s:\n%s", say, text)
		}
	}
	if m := readBack.FindStringSubmatch(string(text)); m == nil || m[1] != m[2] || m[1] == "0" {
		t.Errorf("not all stories were read back:\n%s", text)
	}
}

// checkFeedRun requires that the stores of a run hold the acknowledged rows, and that the service's
// telemetry is whole and agrees with the users.
func checkFeedRun(t *testing.T, dir string) {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Validity.Findings {
		if f.Gate == "rows" || f.Gate == "telemetry" {
			t.Errorf("finding: %s %s", f.Gate, f.Text)
		}
	}
	u, err := r.Users()
	if err != nil || u == nil || u.Audit == nil || len(u.Audit.Rows) != 6 {
		t.Fatalf("%+v, %v: want six counts of rows", u, err)
	}
	for _, c := range u.Audit.Rows {
		if !c.Right() || c.Actual < 1 {
			t.Errorf("%v", c)
		}
	}
	told, err := r.Telemetry()
	if err != nil || told == nil || told.Taken < 100 || told.Missing != 0 || len(told.Left) != 0 {
		t.Fatalf("telemetry %+v, %v", told, err)
	}
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		t.Fatal("not measured")
	}
	client, err := r.Merged(ph.From, ph.To)
	if err != nil {
		t.Fatal(err)
	}
	server, err := r.MergedTelemetry(ph.From, ph.To)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"participant", "befriend", "story", "search"} {
		c, s := client[op], server[op]
		if c == nil || s == nil {
			t.Errorf("%s: client %v, server %v", op, c != nil, s != nil)
			continue
		}
		if x, y := float64(c.Count()), float64(s.Count()); x < 0.9*y || y < 0.9*x ||
			s.Response.Mean() >= c.Response.Mean() {
			t.Errorf(
				"%s: %v requests of %v by the users, %v of %v by the service",
				op,
				x,
				c.Response.Mean(),
				y,
				s.Response.Mean(),
			)
		}
	}
}

const variantsPlan = `
name: variants
seed: 7
target: {driver: newsfeed}
database: {engine: postgresql}
workload: {behavior: newsfeed}
bounded: {users: 3, ramp: 500ms, settle: 500ms, measure: 6s}
compare: {arms: {base: {database: mysql, version: A}, postgresql: {version: B}}, mode: sequence, blocks: 1, margin: {throughput(story): 5%}}
` + openGates

// TestArmsOnTwoDatabases compares an arm on MySQL with one on PostgreSQL, and the report sets them
// beside the study.
func TestArmsOnTwoDatabases(t *testing.T) {
	t.Parallel()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "variants.yaml")
	if err := os.WriteFile(plan, []byte(variantsPlan), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "compare", "-calibrate=false", "-store", dir, plan)
	out, err := cmd.CombinedOutput()
	// One block; a busy host is not a fault of ours.
	if status := cmd.ProcessState.ExitCode(); status != exit.Inconclusive &&
		status != exit.Invalid {
		t.Fatalf("status %d, %v\n%s", status, err, out)
	}
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	engines := map[string]string{}
	valid := true
	for _, m := range runs {
		r, err := record.Open(filepath.Dir(m))
		if err != nil {
			t.Fatal(err)
		}
		engines[r.Manifest.Arm] = r.Manifest.Engine
		valid = valid && r.Validity.Valid
	}
	if engines["base"] != "mysql" || engines["postgresql"] != "postgresql" || len(engines) != 2 {
		t.Errorf("arms ran on %v", engines)
	}
	texts, err := filepath.Glob(filepath.Join(dir, "comparisons", "*", "report-full.md"))
	if err != nil || len(texts) != 1 {
		t.Fatalf("reports %v, %v", texts, err)
	}
	text, err := os.ReadFile(texts[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"throughput(story)"}
	if valid {
		want = append(
			want,
			"## Beside the study",
			"15,502 to 13,961",
			"### Little's law",
			"### Client and server",
			"### Rows in the stores",
			"study-summary-throughput",
			"in 2 of 2 runs throughput",
		)
	}
	for _, g := range newsfeed.Dialect.Graphs {
		if !valid {
			break
		}
		if !g.Own {
			continue
		}
		b, err := os.ReadFile(
			filepath.Join(filepath.Dir(texts[0]), "graphs", "target_bounded_0_"+g.Name+".svg"),
		)
		if err != nil || strings.Contains(string(b), "no data") {
			t.Errorf("graph %s: %v, or it has no data", g.Name, err)
		}
	}
	for _, w := range want {
		if !strings.Contains(string(text), w) {
			t.Errorf("the report does not say %q:\n%.3000s", w, text)
		}
	}
}

func TestTheNewsFeedNeedsADatabase(t *testing.T) {
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "feed.yaml")
	if err := os.WriteFile(plan, []byte(strings.Replace(feedPlan, "database: {engine: postgresql}\n", "", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "run", "-store", dir, plan)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exit.Usage ||
		!strings.Contains(string(out), "database: {engine: postgresql}") {
		t.Errorf(
			"status %d, want %d and the remedy:\n%s",
			cmd.ProcessState.ExitCode(),
			exit.Usage,
			out,
		)
	}
}
