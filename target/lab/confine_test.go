package lab

import (
	"os/exec"
	"slices"
	"testing"

	"plimsoll/internal/failure"
)

// A server of others is kept on some cores while it is measured, and runs where it ran before when
// that ends.
func TestConfine(t *testing.T) {
	all, err := AllowedCPUs(0)
	if err != nil || len(all) < 2 {
		t.Skipf("this host has the CPUs %v; want two: %v", all, err)
	}
	cmd := exec.Command("/bin/sleep", "60")
	failure.None(t, cmd.Start())
	pids := []int{cmd.Process.Pid}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	was, err := AllowedCPUs(pids[0])
	failure.None(t, err)
	c, err := Confine(pids, was[:1])
	failure.None(t, err)
	if now, err := AllowedCPUs(pids[0]); err != nil || !slices.Equal(now, was[:1]) {
		t.Errorf("confined to %v, %v; want %v", now, err, was[:1])
	}
	failure.None(t, c.End(append(pids, 1<<22)))
	if now, err := AllowedCPUs(pids[0]); err != nil || !slices.Equal(now, was) {
		t.Errorf("afterwards on %v, %v; want %v", now, err, was)
	}
}
