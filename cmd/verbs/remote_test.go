package verbs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/rig"
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

// An agent ends well when it is asked to.
func TestAgentEnds(t *testing.T) {
	agent, output := startProbes(t, "127.0.0.1:1", filepath.Join(t.TempDir(), "fleet.json"))
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(output.String(), "no coordinator"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the agent does not wait:\n%s", output.String())
		}
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := wait(t, agent, 2*time.Minute, output); status != rig.ExitOK {
		t.Errorf("exit status %d\n%s", status, output.String())
	}
}
