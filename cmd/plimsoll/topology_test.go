package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/target/lab/nginx"
	"plimsoll/watch/series"
)

// withNginx is where nginx is missing: an error in CI, which installs it.
func withNginx(t *testing.T) {
	t.Helper()
	if _, err := nginx.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

const topologyPlan = `
name: topology
seed: 7
target:
  driver: refchat
  args: ["-hash=bcrypt:4"]
  topology: {apps: 2, proxy: nginx}
database: {engine: postgresql}
workload: {behavior: poster, share: 50%, with: {mattermost: 50%}, pace: 0.1, params: {channels: "4", speed: "10"}}
bounded: {users: 30, ramp: 500ms, settle: 500ms, measure: 4s}
`

// TestProxyBeforeTwoApps: through a proxy both servers get the load and hold WebSockets, by their own counters, no
// message is lost between them, and the proxy's own figures are in the run.
func TestProxyBeforeTwoApps(t *testing.T) {
	withNginx(t)
	cmd, root, output := startPlan(t, topologyPlan, "run")
	// A busy machine may void the run.
	if status := wait(t, cmd, 2*time.Minute, output); status != rig.ExitOK && status != rig.ExitInvalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	r, _ := onlyRun(t, root)
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	value := func(query string) float64 {
		res, err := db.Query(t.Context(), query, time.Now())
		if err != nil || len(res) != 1 {
			t.Errorf("%s: %v, %v; want one value", query, res, err)
			return 0
		}
		return res[0].Value
	}
	for _, app := range []string{"app-0", "app-1"} {
		if got := value(`max_over_time(mattermost_http_websockets_total{instance="` + app + `"}[10m])`); got < 1 || got > 29 {
			t.Errorf("%s held %v WebSockets of 30", app, got)
		}
	}
	requests := func(app string) float64 {
		return value(`max_over_time(mattermost_http_requests_total{instance="` + app + `"}[10m]) - min_over_time(mattermost_http_requests_total{instance="` + app + `"}[10m])`)
	}
	if a, b := requests("app-0"), requests("app-1"); a < 50 || b < 50 || a/(a+b) < 0.4 || a/(a+b) > 0.6 {
		t.Errorf("%v and %v requests", a, b)
	}
	if got := value(`max_over_time(nginx_http_requests_total{role="proxy", instance="proxy-0"}[10m])`); got < 100 {
		t.Errorf("the proxy counted %v requests", got)
	}
	if got := value(`count(count by (upstream) (max_over_time(plimsoll_proxy_upstream_requests_total{role="proxy", code="2xx"}[10m])))`); got != 2 {
		t.Errorf("the proxy's log names %v upstreams, want 2", got)
	}
	u, err := r.Users()
	if err != nil || u == nil || u.Whole.Acked < 20 || u.Whole.Lost > 0 {
		t.Errorf("messages %+v, %v: want some, and none lost", u, err)
	}
	if left := survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
}

const replicaPlan = `
name: replica
seed: 7
target:
  driver: refchat
  args: ["-hash=bcrypt:4"]
  topology: {replicas: 1}
database: {engine: postgresql}
workload: {behavior: poster, share: 50%, with: {mattermost: 50%}, pace: 0.1, params: {channels: "4", speed: "10"}}
bounded:
  users: 12
  ramp: 500ms
  settle: 500ms
  measure: 12s
  slo: ["promql: max(plimsoll_replication_lag_seconds) < 1.5"]
unbounded: {max_users: 20, window: 1s, budget: 10s}
`

// TestReplicaFallsBehind: the server reads from the replica, and a replica that replays nothing for five seconds is
// in the run, and named by the rule that it breaks.
func TestReplicaFallsBehind(t *testing.T) {
	cmd, root, output := startPlan(t, replicaPlan, "run")
	for end := time.Now().Add(90 * time.Second); !strings.Contains(output.String(), " measure "); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("not measured\n%s", output)
		}
	}
	pid := replayer(root)
	if pid == 0 {
		_ = cmd.Process.Kill()
		t.Fatal("no process replays in the replica")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // of the measured phase
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// A busy machine may void the run, which comes before its rules.
	status := wait(t, cmd, 2*time.Minute, output)
	if status != rig.ExitSLO && status != rig.ExitInvalid {
		t.Errorf("exit status %d\n%s", status, output)
	}
	if !strings.Contains(output.String(), "plimsoll_replication_lag_seconds") {
		t.Errorf("the broken rule is not named\n%s", output)
	}
	r, _ := onlyRun(t, root)
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		`max_over_time(plimsoll_replication_lag_seconds{role="replica", instance="replica-0"}[10m]) >= 3`,
		`max_over_time(refchat_replica_statements_total{role="app"}[10m]) >= 10`,
	} {
		if res, err := db.Query(t.Context(), query, time.Now()); err != nil || len(res) != 1 {
			t.Errorf("%s: %v, %v; want one value", query, res, err)
		}
	}
	if left := survivors(root); len(left) > 0 {
		t.Errorf("processes survived: %v", left)
	}
}

// replayer returns the process that replays the log in the replica below root; 0 without one.
func replayer(root string) int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		title, err := os.ReadFile(filepath.Join(d, "cmdline"))
		at, _ := os.Readlink(filepath.Join(d, "cwd"))
		if err == nil && strings.Contains(string(title), "startup recovering") && strings.HasPrefix(at, root) && strings.Contains(at, "replica-0") {
			pid, _ := strconv.Atoi(filepath.Base(d))
			return pid
		}
	}
	return 0
}
