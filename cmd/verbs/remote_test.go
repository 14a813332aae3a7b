package verbs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/watch/series"
)

const probeToken = "geheim-0123456789abcdef"

// startProbes starts "agent -probe" and returns the contents of its ready line.
func startProbes(t *testing.T, tokenFile string, args ...string) (cmd *exec.Cmd, output *safeBuffer, url, fingerprint string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd, output = command(path, append([]string{"agent", "-probe", "-listen", "127.0.0.1:0", "-token-file", tokenFile, "-role", "proxy"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if n, _ := fmt.Sscanf(output.String(), "plimsoll agent: ready url=%s role=proxy fingerprint=%s\n", &url, &fingerprint); n == 2 {
			return cmd, output, url, fingerprint
		}
		if time.Now().After(deadline) {
			t.Fatalf("the agent is not ready:\n%s", output.String())
		}
	}
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
// agent. The token is nowhere.
func TestRunLosesAnAgent(t *testing.T) {
	t.Parallel()
	tokenFile := filepath.Join(t.TempDir(), "probe.token")
	if err := os.WriteFile(tokenFile, []byte(probeToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent, said, url, fingerprint := startProbes(t, tokenFile, "-cpus", "0")
	cmd, root, output := startPlan(t, fmt.Sprintf(`
name: watched
target: {driver: refnull}
workload: {behavior: poster, pace: 0.1}
bounded: {users: 5, ramp: 1s, settle: 1s, measure: 9s}
probes: [{kind: agent, role: proxy, url: %q, token: "${FILE:%s}", fingerprint: %q}]
`, url, tokenFile, fingerprint), "run")
	until(t, output, " measure ")
	time.Sleep(500 * time.Millisecond) // some samples more; how many does not matter
	if err := agent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	if status := wait(t, cmd, time.Minute, output); status != rig.ExitInvalid {
		t.Errorf("exit status %d, want %d\n%s", status, rig.ExitInvalid, output.String())
	}
	r, _ := onlyRun(t, root)
	if f := silence(r, record.Red); !strings.HasPrefix(f, "agent proxy-0 has had no data since ") || !strings.Contains(f, "does plimsoll agent -probe run there?") || !strings.Contains(unwrapped(output), f) {
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
	noSecrets(t, filepath.Join(root, "store"), []string{probeToken})
	if all := output.String() + said.String(); strings.Contains(all, "geheim") {
		t.Errorf("the token was printed:\n%s", all)
	}
}

// An agent ends well when it is asked to.
func TestAgentEnds(t *testing.T) {
	tokenFile := filepath.Join(t.TempDir(), "probe.token")
	if err := os.WriteFile(tokenFile, []byte(probeToken), 0o600); err != nil {
		t.Fatal(err)
	}
	agent, output, _, _ := startProbes(t, tokenFile)
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, agent, 2*time.Minute, output); status != rig.ExitOK {
		t.Errorf("exit status %d\n%s", status, output.String())
	}
}

// Flags that an agent requires, and those that it refuses.
func TestAgentFlags(t *testing.T) {
	dir := t.TempDir()
	token, open := filepath.Join(dir, "token"), filepath.Join(dir, "open")
	for file, mode := range map[string]os.FileMode{token: 0o600, open: 0o644} {
		if err := os.WriteFile(file, []byte(probeToken), mode); err != nil {
			t.Fatal(err)
		}
	}
	right := []string{"-probe", "-listen", "127.0.0.1:0", "-role", "proxy", "-token-file", token}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":        {nil, "what is this agent for? -join: users of runs on another host; -stdio: users of a run on this host; -probe:"},
		"both":           {[]string{"-probe", "-stdio"}, "choose one"},
		"no address":     {[]string{"-probe"}, "-listen is missing"},
		"no token":       {[]string{"-probe", "-listen", "127.0.0.1:0"}, "-token-file is missing"},
		"no role":        {[]string{"-probe", "-listen", "127.0.0.1:0", "-token-file", token}, "-role is missing"},
		"all addresses":  {slices.Concat(right, []string{"-listen", ":9443"}), "names no host"},
		"open token":     {slices.Concat(right, []string{"-token-file", open}), "has mode 0644, so others may read or change it; run: chmod 600"},
		"no such core":   {slices.Concat(right, []string{"-cpus", "4000"}), "there is no CPU 4000"},
		"no cores":       {slices.Concat(right, []string{"-cpus", "a"}), "want a form such as 0-3,8"},
		"no such device": {slices.Concat(right, []string{"-nic", "nix0"}), "there is no device nix0"},
		"bad process":    {slices.Concat(right, []string{"-pid", "app"}), "want ROLE=FILE or ROLE=NUMBER"},
		"reserved role":  {slices.Concat(right, []string{"-pid", "host=1"}), `role "host" of processes is reserved`},
		"half a pair":    {slices.Concat(right, []string{"-cert", token}), "-cert and -key come together"},
		"no certificate": {slices.Concat(right, []string{"-cert", token, "-key", token}), "to make them: openssl req -x509"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := ranWith(t, append([]string{"agent"}, c.args...)...)
			if status != rig.ExitUsage || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "geheim") {
				t.Errorf("status %d, want %d and %q:\n%s%s", status, rig.ExitUsage, c.want, out, errs)
			}
		})
	}
}
