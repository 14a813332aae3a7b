package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/target"
	"plimsoll/target/container"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

const deployedFeed = `
name: deployed
seed: 7
target: {driver: newsfeed}
database: {engine: postgresql}
workload: {behavior: newsfeed, params: {preset: mixed-10}}
bounded: {users: 5, ramp: 500ms, settle: 500ms, measure: 2s}
` + openGates + `
compare:
  arms:
    base: {}
    bridge: {deployment: {network: bridge, cpus: 50%}}
    host: {deployment: {network: host}}
  blocks: 1
`

// TestDeploymentsAnswerAlike is the sixth oracle of the news feed: without a container, behind a
// bridge and with the host's network the same session gets the same bytes. All six programs run in
// each, and none is left when plimsoll is killed.
func TestDeploymentsAnswerAlike(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("deployments need root")
		}
		t.Skip("deployments need root")
	}
	if _, err := container.FindPodman(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, arm := range []string{"base", "bridge", "host"} {
		state, kill := up(t, exe, deployedFeed, "-arm", arm)
		got := feedSession(t, state)
		if want == nil {
			want = got
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s answers\n%s\nand base\n%s", arm, got[i], want[i])
			}
		}
		for _, role := range []string{"app", "db", "cache", "wide", "search", "bus"} {
			if len(state.Processes[role]) == 0 || !state.Processes[role][0].Alive() {
				t.Errorf("%s: %s: processes %v", arm, role, state.Processes[role])
			}
		}
		kill()
	}
}

// up starts a plan's target. kill kills plimsoll, and waits until all programs of the target have
// ended.
func up(t *testing.T, exe, text string, args ...string) (state target.StateFile, kill func()) {
	t.Helper()
	//nolint:usetesting // the database runs as a user of its own, who must be able to pass through it
	dir, err := os.MkdirTemp("", "plimsoll-feed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		exe,
		append(append([]string{"target", "up", "-store", dir}, args...), file)...)
	var talk lab.Transcript
	cmd.Stdout, cmd.Stderr = &talk, &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if state, err = target.Load(filepath.Join(dir, "target")); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("plimsoll ended: %v\n%s", err, talk.String())
		default:
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("not up: %v\n%s", err, talk.String())
		}
	}
	return state, func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		for role, ids := range state.Processes {
			for _, id := range ids {
				for end := time.Now().Add(20 * time.Second); id.Alive(); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("the %s, process %d, survived plimsoll", role, id.PID)
					}
				}
			}
		}
	}
}

// feedSession plays a script against a news feed in its network, and returns each answer with
// status and type.
func feedSession(t *testing.T, state target.StateFile) (answers []string) {
	t.Helper()
	own := netns.Of(state.Owner.PID)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{DialContext: own.Dial, DisableKeepAlives: true},
	}
	ask := func(method, path, body string) (string, string) {
		req, err := http.NewRequestWithContext(
			t.Context(),
			method,
			state.URLs[0]+path,
			strings.NewReader(body),
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(
			"%s %s: %d %s %s",
			method,
			path,
			resp.StatusCode,
			resp.Header.Get("Content-Type"),
			b,
		), string(b)
	}
	for _, step := range []struct{ method, path, body string }{
		{"POST", "/participant", `{"name":"Zoë \"quoted\""}`},
		{"POST", "/participant", `{"name":"b"}`},
		{"POST", "/participant", `{"name":"c"}`},
		{"GET", "/participant/1", ""},
		{"GET", "/participant/99", ""},
		{"POST", "/participant/1/friends", `{"from":"/participant/1","to":"/participant/2"}`},
		{"POST", "/friends/new", `{"from":1,"to":3}`},
		{"GET", "/participant/2/friends", ""},
		{"GET", "/friends/1", ""},
		{"POST", "/participant/1/outbound", `{"from":"/participant/1","subject":"s","story":"once upon a zebra"}`},
		{"POST", "/participant/2/outbound", `{"from":"/participant/2","subject":"s","story":"` + strings.Repeat("long ", 4000) + `"}`},
		{"POST", "/participant/2/outbound", `{"from":"/participant/1","subject":"s","story":"not mine"}`},
		{"POST", "/participant", `{`},
		{"GET", "/participant/1/outbound", ""},
		{"GET", "/participant/2/inbound", ""},
		{"GET", "/participant/1/inbound", ""},
		{"GET", "/inbound/3", ""},
		{"GET", "/outbound?keywords=zebra", ""},
	} {
		answer, body := ask(step.method, step.path, step.body)
		// The index follows within about a second.
		for deadline := time.Now().Add(15 * time.Second); strings.Contains(step.path, "keywords") && strings.TrimSpace(body) == "[]" && time.Now().Before(deadline); {
			time.Sleep(100 * time.Millisecond)
			answer, body = ask(step.method, step.path, step.body)
		}
		answers = append(answers, answer)
	}
	if first, last := answers[0], answers[len(answers)-1]; !strings.Contains(first, ": 200 ") ||
		!strings.Contains(last, "/participant/1") {
		t.Errorf("the session begins with %s and ends with %s", first, last)
	}
	return answers
}
