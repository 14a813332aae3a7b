package verbs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/contenders"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// visitor is a script of which every twentieth iteration throws, and every second check fails.
const visitor = `
import http from "k6/http";
import { check, sleep } from "k6";
export function setup() { return { room: "lobby", token: "not-to-be-shown" }; }
export function teardown(data) { http.post("/closed/" + data.room); }
let n = 0;
export default function (data) {
  const r = http.get(__ENV.BASE_URL + "/rooms?in=" + data.room + __ENV.SUFFIX);
  check(r, { "is 200": (r) => r.status === 200, "is even": () => n % 2 === 0 });
  n++;
  if (THROWS) { throw new Error("one of twenty"); }
  sleep(0.05);
}
`

// writeVisitor writes the script, which throws under a condition, and returns its path.
func writeVisitor(t *testing.T, throws string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "visitor.js")
	writeText(t, file, strings.Replace(visitor, "THROWS", throws, 1))
	return file
}

// red returns the names of the red gates of a run, with their texts.
func red(r *record.Run) map[string]string {
	out := map[string]string{}
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red {
			out[f.Gate] = f.Text
		}
	}
	return out
}

// TestScriptAtAnAddress: a server of which nothing is known but its address is loaded by a script.
// Its users in two processes share one setup, the checks are counted, and exceptions void the run.
func TestScriptAtAnAddress(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rooms" && r.URL.RawQuery != "in=lobby-east" || r.Method == http.MethodPost {
			select {
			case asked <- r.Method + " " + r.URL.String():
			default:
			}
		}
		if r.URL.Path != "/rooms" {
			http.NotFound(w, r) // also the page "/"
		}
	}))
	defer server.Close()
	text := fmt.Sprintf(`
name: scripted
target: {driver: external, url: %q}
placement: {processes: 2}
workload: {script: %q, params: {SUFFIX: "-east"}}
bounded: {users: 6, ramp: 100ms, settle: 100ms, measure: 2s, slo: ["rate(failed_checks) < 60%%", "p99(GET /rooms) < 5s"]}
`, server.URL, writeVisitor(t, "n % 20 === 0"))
	cmd, root, output := startPlan(t, text+openGates, "run")
	if status := wait(t, cmd, 2*time.Minute, output); status != exit.Invalid {
		t.Errorf("status %d, want %d\n%s", status, exit.Invalid, output)
	}
	r, events := onlyRun(t, root)
	if text := red(r)["script"]; !strings.Contains(text, "default: visitor.js:11: one of twenty") {
		t.Errorf("red %v", red(r))
	}
	if n := len(joined(t, events)); n != 2 {
		t.Errorf("%d processes", n)
	}
	s := r.Manifest.Script
	if s == nil || s.Setup != `{"room":"lobby","token":"***"}` || !strings.Contains(r.Manifest.Plan, s.Digest) {
		t.Errorf("the manifest has %+v", s)
	}
	m, err := r.Merged(0, time.Hour)
	failure.None(t, err)
	even, all := m[workload.Check+"is even"], m[workload.Check+"is 200"]
	if all == nil || even == nil || all.Errors() > 0 || even.Classes[measure.Script] == 0 || even.Errors() == even.Count() {
		t.Errorf("checks %+v, %+v", all, even)
	}
	close(asked)
	var rest []string
	for at := range asked {
		rest = append(rest, at)
	}
	if !slices.Equal(rest, []string{"POST /closed/lobby"}) {
		t.Errorf("besides the users' requests, the server was asked %q", rest)
	}
	for _, want := range []string{"exceptions: ", "check: is even: ", "checks: 1 of 2 always held"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
}

// TestScriptOfAURL: -script needs no plan. The options of the script say how many users there are.
func TestScriptOfAURL(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "visitor.js")
	writeText(t, file, "export const options = { vus: 2, duration: \"2s\", thresholds: { checks: [\"rate>0.1\"] } };\n"+
		strings.Replace(visitor, "THROWS", "false", 1))
	saved := filepath.Join(dir, "plans", "plan.yaml")
	failure.None(t, os.Mkdir(filepath.Dir(saved), 0o755))
	cmd, output := launch(t, inStore(dir, "run", "-script", file, "-save", saved, server.URL)...)
	// The server answers 404 to all: the rule of failed operations breaks, or is not judged of few.
	if status := wait(t, cmd, time.Minute, output); status == exit.Usage || status == exit.Tool {
		t.Errorf("status %d\n%s", status, output)
	}
	if text := readText(t, saved); !strings.Contains(text, "  script: "+file+" ") || strings.Contains(text, "bounded") {
		t.Errorf("the plan is\n%s", text)
	}
	r, _ := onlyRun(t, dir)
	if ph, _ := r.Manifest.Phase("measure"); ph.Users != 2 || ph.To-ph.From != 2*time.Second ||
		!strings.Contains(r.Manifest.Plan, "rate(failed_checks) < 90%") {
		t.Errorf("the phase %+v of the plan\n%s", ph, r.Manifest.Plan)
	}
	if !strings.Contains(output.String(), "GET /rooms") {
		t.Errorf("no operation in\n%s", output)
	}
}

// TestCompareProgramsByAScript: two programs of anybody take turns, and each gets its port in PORT.
func TestCompareProgramsByAScript(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	dir := t.TempDir()
	var names [2]string
	for i, name := range []string{"old", "new"} {
		names[i] = filepath.Join(dir, name)
		text := fmt.Sprintf("#!/bin/sh\nexec %s refnull -listen 127.0.0.1:$PORT\n", path)
		failure.None(t, os.WriteFile(names[i], []byte(text), 0o755))
	}
	src, err := contenders.Plan(t.Context(), names, dir, writeVisitor(t, "false"))
	failure.None(t, err)
	short := strings.NewReplacer("bounded: {users: auto, measure: auto}", "bounded: {users: 6, ramp: 500ms, settle: 500ms, measure: 3s}",
		"compare:\n", "compare:\n  blocks: 1\n  retry: 0s\n").Replace(src)
	cmd, root, output := startPlan(t, short+openGates, "compare")
	if status := wait(t, cmd, 2*time.Minute, output); status != exit.Inconclusive {
		t.Errorf("status %d, want %d of a single block\n%s", status, exit.Inconclusive, output)
	}
	dir, c, _ := duetOf(t, root, output)
	text := readText(t, filepath.Join(dir, "report-full.md"))
	for _, want := range []string{"GET /rooms", "Checks", "is even"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the report", want)
		}
	}
	if c.Mode != plan.ModeDuet {
		t.Errorf("mode %s", c.Mode)
	}
}
