package verbs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// startProbes starts an agent that has no users and the role proxy, of a coordinator at an address.
func startProbes(t *testing.T, addr, keys string, args ...string) (cmd *exec.Cmd, output *safeBuffer) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(filepath.Dir(keys), "watcher.nk")
	if out, err := exec.Command(path, "fleet", "-fleet-keys", keys, "-new-token", token).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd, output = command(path, append([]string{"agent", "-join", "nats://" + addr, "-token-file", token, "-role", "proxy"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, output
}

// unwrapped returns an output without its line breaks, for texts that are wrapped on the screen.
func unwrapped(output *safeBuffer) string { return strings.Join(strings.Fields(output.String()), " ") }

// silence returns the finding about a source that has no data, of the level.
func silence(r *record.Run, level string) string {
	for _, f := range r.Validity.Findings {
		if f.Gate == "signals" && f.Level == level {
			return f.Text
		}
	}
	return ""
}

// A run that watches another host has its numbers; when the agent there is killed, the run is invalid and names the
// agent.
func TestRunLosesAnAgent(t *testing.T) {
	t.Parallel()
	keys, addr := filepath.Join(t.TempDir(), "fleet.json"), fmt.Sprint("127.0.0.1:", freePort(t))
	agent, _ := startProbes(t, addr, keys, "-cpus", "0")
	cmd, root, output := startPlan(t, `
name: watched
target: {driver: refnull}
workload: {behavior: poster, pace: 0.1}
bounded: {users: 5, ramp: 1s, settle: 1s, measure: 9s}
probes: [{kind: agent, role: proxy}]
`, "run", "-fleet-listen", addr, "-fleet-keys", keys)
	until(t, output, " measure ")
	time.Sleep(500 * time.Millisecond) // some samples more; how many does not matter
	if err := agent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	if status := wait(t, cmd, time.Minute, output); status != exit.Invalid {
		t.Errorf("exit status %d, want %d\n%s", status, exit.Invalid, output.String())
	}
	r, _ := onlyRun(t, root)
	if f := silence(r, record.Red); !strings.HasPrefix(f, "agent proxy-0 has had no data since ") || !strings.Contains(f, "does plimsoll agent -join run there?") || !strings.Contains(unwrapped(output), f) {
		t.Errorf("findings %+v\n%s", r.Validity.Findings, output.String())
	}
	db, err := series.Open(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first, _, _ := db.Bounds()
	for _, expr := range []string{
		`count(node_load1{role="proxy",instance="proxy-0"}) == 1`, `count(node_load1{role=""}) == 1`, `count(node_load1) == 2`,
		`count(count by (cpu) (node_cpu_seconds_total{role="proxy"})) == 1`, `plimsoll_cpu_busy_ratio{role="proxy",instance="proxy-0"}`,
		`abs(plimsoll_agent_clock_offset_seconds) < 1`, `plimsoll_probe_up{probe="agent proxy-0"} == 1`, `plimsoll_probe_up{probe="host",role="proxy"} == 1`,
	} {
		if res, err := db.Query(t.Context(), expr, first.Add(2500*time.Millisecond)); err != nil || len(res) != 1 {
			t.Errorf("%s: %d results, %v", expr, len(res), err)
		}
	}
}
