package probe

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// An AgentHost samples the host of an agent for a coordinator on another host: CPU time and steal,
// memory, the counters of TCP, and the CPU time of agents. It is for one goroutine.
type AgentHost struct {
	host   *HostProbe
	agents *ProcessProbe
	ports  float64
}

const (
	// AgentsRole is the role of all agents of a host, and of their processes with users.
	AgentsRole = "agents"
	// PortsOfHost is the series of the number of ports that connections of a host may have.
	PortsOfHost = "plimsoll_host_ephemeral_ports"
	// CoresOfHost is the series of the number of cores of a host. Its CPU time is the time of all
	// of them, while an agent may be bound to some.
	CoresOfHost = "plimsoll_host_cores"
)

// sentOfHost are the prefixes of the series that a host sends: the readings of its gates, and its
// TCP counters. Series of single cores and disks stay there.
var sentOfHost = []string{
	"plimsoll_cpu_", "node_memory_MemAvailable", "node_memory_MemTotal", "node_load1",
	"node_netstat_", "node_sockstat_", "plimsoll_process_cpu_ratio",
}

// NewAgentHost opens the probes of this host. Its agents are the processes of the program file.
func NewAgentHost(program string) (*AgentHost, error) {
	host, err := NewHost(HostOptions{})
	if err != nil {
		return nil, err
	}
	own, err := os.Stat(program)
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	a := &AgentHost{
		host:   host,
		agents: NewProcess(AgentsRole, func() []int { return agentsOf(own) }),
	}
	if l, err := ReadLimits(); err == nil { // else the gate ports is not measured
		a.ports = float64(l.Ports())
	}
	return a, nil
}

// Close closes the probes.
func (a *AgentHost) Close() { _ = errors.Join(a.host.Close(), a.agents.Close()) }

// Sample reads the probes. One that has failed is left out: a gate without its signal is not green.
func (a *AgentHost) Sample(ctx context.Context, at time.Time) (out []series.Sample, err error) {
	idle := series.Label{Name: "mode", Value: "idle"}
	cores := 0
	for _, p := range []Probe{a.host, a.agents} {
		samples, perr := p.Sample(ctx, at)
		err = errors.Join(err, perr)
		for _, s := range samples {
			if s.Name == "node_cpu_seconds_total" && slices.Contains(s.Labels, idle) {
				cores++
			}
			isSent := func(prefix string) bool { return strings.HasPrefix(s.Name, prefix) }
			if slices.ContainsFunc(sentOfHost, isSent) {
				s.Labels = slices.Clone(s.Labels)
				out = append(out, s)
			}
		}
	}
	if cores > 0 {
		out = append(out, series.Sample{Name: CoresOfHost, Value: float64(cores)})
	}
	if a.ports > 0 {
		out = append(out, series.Sample{Name: PortsOfHost, Value: a.ports})
	}
	return out, err
}

// agentsOf returns the processes of a program file that are agents or have users of one: several
// agents of a host do not disturb each other more than processes of one do. Another file may have
// taken the place of the program's.
func agentsOf(program os.FileInfo) (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		if is, err := os.Stat(dir + "/exe"); err != nil || !os.SameFile(is, program) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline") // of one that has ended
		if args := strings.Split(string(line), "\x00"); len(args) > 1 && args[1] == "agent" {
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
