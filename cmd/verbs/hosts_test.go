package verbs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/internal/program"
	"plimsoll/record"
	"plimsoll/target/lab/netns"
	"plimsoll/watch/series"
)

const hostsPlan = `
name: hosts
seed: 7
target:
  driver: refchat
  args: ["-hash=bcrypt:4"]
  topology: {apps: 2, proxy: nginx, replicas: 1, hosts: netns, links: {all: {rate: 1Gbit/s}}}
database: {engine: postgresql}
workload: {behavior: poster, share: 50%, with: {mattermost: 50%}, pace: 0.1, params: {channels: "4", speed: "10"}}
bounded:
  users: 30
  ramp: 500ms
  settle: 500ms
  measure: 14s
  slo: ["promql: max(max_over_time(plimsoll_replication_lag_seconds[$window])) < 2"]
unbounded: {max_users: 40, window: 1s, budget: 10s} # run has no search; its rules look back over this window
` + openGates

// TestHostsOfTheirOwn: servers, proxy, database and replica are network namespaces, and the
// replica's replay is stopped for ten seconds. Both servers get the same load and hold WebSockets
// by their own counters, no message is lost between them, each host counts its own segments and
// sockets, and the run names the hosts' addresses. The lag is in its series, its graphs and its
// pages, and the rule that it breaks names the replica. Nothing is left when the program ends, or
// is killed.
func TestHostsOfTheirOwn(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	withNginx(t)
	before := links(t)
	cmd, root, output := startPlan(t, hostsPlan, "run", "-calibrate=false")
	marks := []string{fmt.Sprintf("plimsoll-%d-", cmd.Process.Pid)}
	inner := 0
	for end := time.Now().Add(time.Minute); inner == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		inner = isolatedIn(root)
	}
	marks = append(marks, fmt.Sprintf("plimsoll-%d-", inner))
	atPhase(t, root, "measure", output)
	pid := replayer(root)
	if pid == 0 {
		_ = cmd.Process.Kill()
		t.Fatal("no process replays in the replica")
	}
	failure.None(t, syscall.Kill(pid, syscall.SIGSTOP))
	// Of the measured phase: the lag is seen for seconds before the end, also where a busy machine
	// takes some to get here.
	time.Sleep(10 * time.Second)
	failure.None(t, syscall.Kill(pid, syscall.SIGCONT))
	// A busy machine may void the run, which comes before its rules.
	if status := wait(t, cmd, 2*time.Minute, output); status != exit.SLO && status != exit.Invalid {
		t.Fatalf("exit status %d\n%s", status, output)
	}
	if !strings.Contains(
		output.String(),
		"rule broken: promql: max(max_over_time(plimsoll_replication_lag_seconds[$window])) < 2: ",
	) ||
		!strings.Contains(output.String(), " (replica-0, worst ") {
		t.Errorf("the broken rule or the replica is not named\n%s", output)
	}
	r, _ := onlyRun(t, root)
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	failure.None(t, err)
	defer db.Close()
	value := func(query string) float64 {
		res, err := db.Query(t.Context(), query, time.Now())
		if err != nil || len(res) != 1 {
			t.Errorf("%s: %v, %v; want one value", query, res, err)
			return 0
		}
		return res[0].Value
	}
	grown := func(name, labels string) float64 {
		of := name + "{" + labels + "}[10m]"
		return value("max_over_time(" + of + ") - min_over_time(" + of + ")")
	}
	requests := func(app string) float64 {
		return grown("mattermost_http_requests_total", fmt.Sprintf("instance=%q", app))
	}
	if a, b := requests("app-0"), requests("app-1"); a < 50 || b < 50 || a/(a+b) < 0.48 ||
		a/(a+b) > 0.52 {
		t.Errorf("%v and %v requests, want halves within 2 points", a, b)
	}
	for _, instance := range []string{"app-0", "app-1", "proxy-0", "db-0", "replica-0"} {
		of := fmt.Sprintf("instance=%q", instance)
		if sent := grown("node_netstat_Tcp_OutSegs", of); sent < 20 {
			t.Errorf("%s sent %v segments", instance, sent)
		}
		if carried := grown("node_network_transmit_bytes_total", of+fmt.Sprintf(", device=%q", netns.HostDevice)); carried < 1000 {
			t.Errorf("the link of %s carried %v bytes", instance, carried)
		}
	}
	// The users' own side is this program's network, with its end of their link.
	if sent := grown("node_network_transmit_bytes_total", `instance="", device="lan0"`); sent < 1000 {
		t.Errorf("the users sent %v bytes over their link", sent)
	}
	// 30 users with HTTP, and 15 of them with WebSockets, reach the proxy alone.
	if open := value(`max_over_time(node_netstat_Tcp_CurrEstab{role="proxy", instance="proxy-0"}[10m])`); open < 20 {
		t.Errorf("the proxy had %v connections open", open)
	}
	d, ok := evidence.TargetOf(r.Manifest)
	if !ok || len(d.Hosts) != 5 || d.Hosts[3].Name != "db-0" || d.Links != "all rate 1Gbit/s" {
		t.Errorf("described as %+v, links %q", d.Hosts, d.Links)
	}
	if len(d.URLs) != 1 || !strings.HasPrefix(d.URLs[0], "http://"+d.Hosts[2].Addr+":") {
		t.Errorf("users had %v, want the proxy at %s", d.URLs, d.Hosts[2].Addr)
	}
	bothServe(t, value)
	u, err := r.Users()
	if err != nil || u == nil || u.Whole.Acked < 20 || u.Whole.Lost > 0 {
		t.Errorf("messages %+v, %v: want some, and none lost", u, err)
	}
	lagShown(t, r)
	gone(t, root, marks)

	// It is killed as soon as there are hosts: four without the replica, and a switch.
	cmd, root, output = startPlan(
		t,
		strings.Replace(hostsPlan, "replicas: 1, ", "", 1),
		"target",
		"up",
	)
	there := []string{}
	for end := time.Now().Add(time.Minute); len(there) < 5 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		marks = []string{
			fmt.Sprintf("plimsoll-%d-", cmd.Process.Pid),
			fmt.Sprintf("plimsoll-%d-", isolatedIn(root)),
		}
		there, _ = filepath.Glob("/run/netns/" + marks[1] + "*")
	}
	if len(there) < 5 {
		t.Errorf("there are %v, want four hosts and their switch\n%s", there, output)
	}
	failure.None(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, root, marks)
	if after := links(t); after != before {
		t.Errorf("this host had the devices\n%s\nand has\n%s", before, after)
	}
}

// isolatedIn returns the program that carries a verb out in a network of its own; 0 while there is
// none.
func isolatedIn(root string) int {
	own, _ := os.Readlink("/proc/self/ns/net")
	for pid, line := range program.Survivors(root) {
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && at != own &&
			(strings.Contains(line, " run -store") || strings.Contains(line, " target -store")) {
			return pid
		}
	}
	return 0
}

// gone waits until no namespace and no control group of these marks is there, and no process below
// root.
func gone(t *testing.T, root string, marks []string) {
	t.Helper()
	left := func() []string {
		all := named(marks)
		for pid, line := range program.Survivors(root) {
			all = append(all, fmt.Sprint(pid, " ", line))
		}
		return all
	}
	for end := time.Now().Add(20 * time.Second); len(left()) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if l := left(); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
}

// links lists this host's network devices of plimsoll.
func links(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ip", "-o", "link").Output()
	failure.None(t, err)
	var own []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " lan") || strings.Contains(line, "plimsoll") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}
