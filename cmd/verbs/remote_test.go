package verbs

import (
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/program"
)

// startProbes starts an agent that has no users and the role proxy, of a coordinator at an address.
func startProbes(t *testing.T, addr, keys string, args ...string) (cmd *exec.Cmd, output *safeBuffer) {
	t.Helper()
	path, err := program.Build()
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
