package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/run/trial"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// An agentHost samples the host of an agent for a coordinator on another: its CPU time and steal, its memory, the
// counters of its TCP, and the CPU time of agents. It is for one goroutine.
type agentHost struct {
	host   *probe.HostProbe
	agents *probe.ProcessProbe
	ports  float64
}

const (
	// agentsRole is the role of all agents of a host, and of their processes with users.
	agentsRole = "agents"
	// portsOfHost is the series of the number of ports that connections of a host may have.
	portsOfHost = "plimsoll_host_ephemeral_ports"
	// coresOfHost is the series of the number of cores of a host, of all of which its CPU time is: an agent may be
	// bound to some of them.
	coresOfHost = "plimsoll_host_cores"
)

// sentOfHost are the beginnings of the names of those series of a host that are sent: what its gates read, and its TCP
// counters. Those of single cores and disks stay there.
var sentOfHost = []string{"plimsoll_cpu_", "node_memory_MemAvailable", "node_memory_MemTotal", "node_load1", "node_netstat_", "node_sockstat_", "plimsoll_process_cpu_ratio"}

// watchHost opens the probes of this host.
func watchHost() (*agentHost, error) {
	host, err := probe.NewHost(probe.HostOptions{})
	if err != nil {
		return nil, err
	}
	own, err := os.Stat(lab.RunningProgram)
	if err != nil {
		return nil, errors.Join(err, host.Close())
	}
	return &agentHost{host: host, agents: probe.NewProcess(agentsRole, func() []int { return agentsOf(own) }), ports: ephemeralPorts()}, nil
}

func (a *agentHost) close() { _ = errors.Join(a.host.Close(), a.agents.Close()) }

// sample reads the probes. One that has failed is left out: a gate without its signal is not green.
func (a *agentHost) sample(ctx context.Context, at time.Time) (out []series.Sample, err error) {
	cores := 0
	for _, p := range []probe.Probe{a.host, a.agents} {
		samples, perr := p.Sample(ctx, at)
		err = errors.Join(err, perr)
		for _, s := range samples {
			if s.Name == "node_cpu_seconds_total" && slices.Contains(s.Labels, series.Label{Name: "mode", Value: "idle"}) {
				cores++
			}
			for _, begin := range sentOfHost {
				if strings.HasPrefix(s.Name, begin) {
					out = append(out, series.Sample{Name: s.Name, Labels: append([]series.Label(nil), s.Labels...), Value: s.Value})
					break
				}
			}
		}
	}
	if cores > 0 {
		out = append(out, series.Sample{Name: coresOfHost, Value: float64(cores)})
	}
	if a.ports > 0 {
		out = append(out, series.Sample{Name: portsOfHost, Value: a.ports})
	}
	return out, err
}

// agentsOf returns the processes of a program file that are agents or have users of one: several agents of a host do
// not disturb each other more than processes of one do. Another file may have taken the place of the program's.
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

// ephemeralPorts is the number of ports that connections of this host may have; 0 if it is not known.
func ephemeralPorts() float64 {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range") // without it the gate ports is not measured
	var from, to float64
	if n, _ := fmt.Sscan(string(b), &from, &to); n == 2 && to >= from {
		return to - from + 1
	}
	return 0
}

// ofRole is the key of a series with a role, which the first of a host's processes sends for the host.
func ofRole(metric, role string) string { return fmt.Sprintf("%s{role=%q}", metric, role) }

// elsewhere replaces the readings of this host by those of the hosts that have the users, the worst of each.
func (h *health) elsewhere(out map[string]trial.Reading) {
	var all map[string]trial.Reading
	for i, cores := range h.hosts {
		cpu, open := trial.Reading{}, trial.Reading{}
		for k := i; k < h.agents; k += len(h.hosts) {
			cpu = both(cpu, h.agent(k, "plimsoll_generator_cpu_ratio", 100/float64(max(cores, 1))), sum)
			open = both(open, h.agent(k, "plimsoll_generator_open_fds", 1), sum)
		}
		one := func(key string, scale float64) trial.Reading { return h.agent(i, key, scale) }
		host := map[string]trial.Reading{
			"cpu":    cpu,
			"core":   one(ofRole("plimsoll_cpu_busy_hottest_ratio", "host"), 100),
			"steal":  one(ofRole("plimsoll_cpu_steal_ratio", "host"), 100),
			"others": h.othersOf(i),
			"drops":  h.droppedOf(i),
			"memory": usedMemory(one),
			"ports": both(both(open, one("node_sockstat_TCP_tw", 1), sum), one(portsOfHost, 1),
				func(n, of float64) float64 { return 100 * n / of }),
		}
		if all == nil {
			all = host
			continue
		}
		for name, rd := range host {
			all[name] = both(all[name], rd, math.Max)
		}
	}
	maps.Copy(out, all)
	out["throttled"] = trial.Reading{Why: "the users are on other hosts, whose CPU quotas are not seen here; plimsoll doctor there examines them", Inapplicable: true}
}

// othersOf is the share of the cores of an agent's host that neither agents nor the hypervisor took: a mean as that of
// the gate others of the target's cores is.
func (h *health) othersOf(host int) trial.Reading {
	busy := ofRole("plimsoll_cpu_busy_ratio", "host")
	less := func(a, b float64) float64 { return a - b }
	own := both(h.agent(host, ofRole("plimsoll_process_cpu_ratio", agentsRole), 100), h.agent(host, coresOfHost, 1),
		func(used, of float64) float64 { return used / of })
	now := both(h.agent(host, busy, 100), own, less)
	now = both(now, h.agent(host, ofRole("plimsoll_cpu_steal_ratio", "host"), 100), less)
	if now.Why != "" {
		return now
	}
	if h.foreignOf == nil {
		h.foreignOf = make([]lately, len(h.hosts))
	}
	took := &h.foreignOf[host]
	if _, at, _ := h.agentSample(host, busy); took.fresh(at) {
		took.add(now.Value)
	}
	return took.foreignMean()
}
