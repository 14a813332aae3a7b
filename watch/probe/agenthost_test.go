package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

// A host sends what its gates need, its TCP counters and nothing of single cores.
func TestAgentsHostIsSampled(t *testing.T) {
	a, err := NewAgentHost("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(agentsOf(own), os.Getpid()) {
		t.Error("a program that is no agent counts as one")
	}
}

// copyOf copies a program.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

// The agents of a program are its processes, also when a new build has taken the place of its file.
func TestAgentsOfAReplacedProgram(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	copyOf(t, shell, file)
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("read line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p, err := lab.Start(t.Context(), lab.Spec{
		Path:  file,
		Args:  []string{"agent"},
		Dir:   dir,
		Stdin: in,
	})
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen")
	}
	copyOf(t, shell, file+".new")
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(agentsOf(own), p.PID()) {
		t.Error("the agent is not seen when its file was replaced")
	}
	if err := end.Close(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}
