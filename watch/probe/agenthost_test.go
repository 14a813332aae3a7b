package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

// A host sends what its gates need, its TCP counters and nothing of single cores.
func TestAgentsHostIsSampled(t *testing.T) {
	a, err := NewAgentHost("/proc/self/exe")
	failure.None(t, err)
	defer a.Close()
	// no process here is an agent, which the probe reports
	samples, _ := a.Sample(t.Context(), time.Now())
	for _, want := range []string{"node_memory_MemTotal_bytes", "node_sockstat_TCP_tw", "node_netstat_Tcp_RetransSegs",
		PortsOfHost, CoresOfHost} {
		if !slices.ContainsFunc(samples, func(s series.Sample) bool { return s.Name == want }) {
			t.Errorf("%s is not among %d samples", want, len(samples))
		}
	}
	if len(samples) > 150 || slices.ContainsFunc(samples, func(s series.Sample) bool {
		return s.Name == "node_cpu_seconds_total"
	}) {
		t.Errorf("%d samples are sent", len(samples))
	}
	own, err := os.Stat("/proc/self/exe")
	failure.None(t, err)
	if slices.Contains(agentsOf(own), os.Getpid()) {
		t.Error("a program that is no agent counts as one")
	}
}

// copyOf copies a program.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	failure.None(t, err)
	failure.None(t, os.WriteFile(to, b, 0o700))
}

// The agents of a program are its processes, also when a new build has taken the place of its file.
func TestAgentsOfAReplacedProgram(t *testing.T) {
	shell, err := exec.LookPath("sh")
	failure.None(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	copyOf(t, shell, file)
	failure.None(t, os.WriteFile(filepath.Join(dir, "agent"), []byte("read line\n"), 0o600))
	in, end, err := os.Pipe()
	failure.None(t, err)
	defer in.Close()
	p, err := lab.Start(t.Context(), lab.Spec{
		Path:  file,
		Args:  []string{"agent"},
		Dir:   dir,
		Stdin: in,
	})
	failure.None(t, err)
	own, err := os.Stat(file)
	failure.None(t, err)
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen")
	}
	copyOf(t, shell, file+".new")
	failure.None(t, os.Rename(file+".new", file))
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen when its file was replaced")
	}
	failure.None(t, end.Close())
	<-p.Done()
}
