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
	"plimsoll/internal/failure"
	"plimsoll/load/engine/calibration"
)

// An agent with -calibrate rates its host before it joins, when its store has no rating of it. A
// rating that is broken off is none, and leaves no null server behind.
func TestAgentRatesItsHost(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	store := t.TempDir()
	token := filepath.Join(store, "ann.nk")
	if out, err := exec.Command(path, "fleet", "-store", filepath.Join(store, "keys"), "-new-token", token).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	door := fmt.Sprintf("nats://127.0.0.1:%d", freePort(t)) // nobody is there
	cmd, output := command(
		path, "agent", "-join", door, "-token-file", token, "-store", store, "-calibrate")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	failure.None(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended
	null := 0
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		joins := strings.Contains(output.String(), "agent ann: build ")
		for pid, line := range childrenOf(cmd.Process.Pid) {
			if strings.Contains(line, " refnull -listen ") {
				null = pid
			}
		}
		if joins || null > 0 && strings.Contains(output.String(), "calibrating: ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it neither rates nor joins:\n%s", output.String())
		}
	}
	failure.None(t, cmd.Process.Signal(syscall.SIGTERM))
	if status := wait(t, cmd, 2*time.Minute, output); status != exit.OK {
		t.Errorf("exit status %d\n%s", status, output.String())
	}
	if null == 0 {
		t.Errorf("it has not begun to rate its host\n%s", output.String())
	} else if _, err := os.Stat(fmt.Sprintf("/proc/%d", null)); err == nil {
		t.Error("the null server is still there")
	}
	if _, err := os.Stat(filepath.Join(store, calibration.File)); !os.IsNotExist(err) {
		t.Errorf("the file of ratings: %v", err)
	}
}
