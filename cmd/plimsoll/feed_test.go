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

// TestTheNewsFeedRuns deploys the service with all its stores, loads it, reads everything back and leaves nothing behind.
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
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exitInvalid { // a busy host is no fault of the feed
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
	for role, name := range map[string]string{"cache": "Redis", "wide": "built-in, in the place of Cassandra", "search": "built-in, in the place of OpenSearch", "bus": "built-in, in the place of Kafka"} {
		if c := m.Target.Companions[role]; c.Name != name || c.Version == "" {
			t.Errorf("the %s is %+v, want %s with its version", role, c, name)
		}
	}
	show := exec.CommandContext(ctx, exe, "show", "-store", dir, filepath.Base(filepath.Dir(runs[0])))
	text, err := show.CombinedOutput()
	if err != nil && show.ProcessState.ExitCode() != exitInvalid {
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

func TestSettingsBelongToOneKindOfServer(t *testing.T) {
	for _, c := range []struct {
		behaviors []string
		params    map[string]string
		say       string
	}{
		{[]string{"newsfeed"}, map[string]string{"preset": "mixed-10"}, ""},
		{[]string{"newsfeed"}, map[string]string{"channels": "3"}, "channels is unknown"},
		{[]string{"poster"}, map[string]string{"preset": "mixed-10"}, "preset is unknown"},
		{[]string{"poster", "mattermost"}, map[string]string{"channels": "3"}, ""},
		{[]string{"newsfeed", "poster"}, nil, "do not go together"},
	} {
		err := checkSettings(c.behaviors, c.params)
		if (err == nil) != (c.say == "") || err != nil && !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v with %v: %v, want %q", c.behaviors, c.params, err, c.say)
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
	if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "database: {engine: postgresql}") {
		t.Errorf("status %d, want %d and the remedy:\n%s", cmd.ProcessState.ExitCode(), exitUsage, out)
	}
}
