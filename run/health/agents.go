package health

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/run/trial"
	"plimsoll/watch/probe"
)

// agents are the processes that have the users. Without any, this process has them.
type agents struct {
	// hosts are the other hosts that have them, agent k the host k mod their number; none for this
	// one.
	hosts  []*agentsHost
	clocks func() time.Duration
	// sample returns the last sample of a metric of one of many agents, which have no series each;
	// nil when they have.
	sample func(agent int, metric string) (v float64, at time.Time, ok bool)
}

// An agentsHost is another host that has users.
type agentsHost struct {
	cores   int // that its agents may use
	foreign moving
	drops   drops
}

// ofRole returns the key of a series with a role.
func ofRole(metric, role string) string { return fmt.Sprintf("%s{role=%q}", metric, role) }

// agentSample returns the last sample of a process that has users, by its key without the label of
// the process.
func (h *GateReader) agentSample(k int, key string) (v float64, at time.Time, ok bool) {
	if h.agents.sample != nil {
		return h.agents.sample(k, key)
	}
	l := fleet.Label(k)
	if own, labeled := strings.CutSuffix(key, "}"); labeled {
		return h.last(fmt.Sprintf("%s,%s=%q}", own, l.Name, l.Value))
	}
	return h.last(fmt.Sprintf("%s{%s=%q}", key, l.Name, l.Value))
}

// agent reads a sample of one process, times scale.
func (h *GateReader) agent(k int, metric string, scale float64) trial.Reading {
	v, at, ok := h.agentSample(k, metric)
	return h.reading(metric, v*scale, at, ok)
}

// ofUsers reads a sample of the processes that have the users, combined.
func (h *GateReader) ofUsers(metric string, scale float64,
	combine func(a, b float64) float64) trial.Reading {
	if h.of.Agents == 0 {
		return h.read(metric, scale)
	}
	all := h.agent(0, metric, scale)
	for k := 1; k < h.of.Agents; k++ {
		all = both(all, h.agent(k, metric, scale), combine)
	}
	return all
}

// newest returns the date of the newest sample of the processes that have the users.
func (h *GateReader) newest(metric string) (newest time.Time) {
	if _, at, ok := h.last(metric); ok {
		newest = at
	}
	for k := range h.of.Agents {
		if _, at, ok := h.agentSample(k, metric); ok && at.After(newest) {
			newest = at
		}
	}
	return newest
}

// clockOffset is 0 for users in the process that judges: they have one clock.
func (h *GateReader) clockOffset() trial.Reading {
	if h.agents.clocks == nil {
		return trial.Reading{}
	}
	return trial.Reading{Value: h.agents.clocks().Seconds() * 1e3}
}

// worstHost returns the greatest of the readings of the hosts that have the users. Each host sends
// its samples through its first process, whose number is the host's.
func (h *GateReader) worstHost(of func(*GateReader, int) trial.Reading) trial.Reading {
	worst := of(h, 0)
	for host := 1; host < len(h.agents.hosts); host++ {
		worst = both(worst, of(h, host), math.Max)
	}
	return worst
}

// sumOf adds up a sample of the processes of a host.
func (h *GateReader) sumOf(host int, metric string) (all trial.Reading) {
	for k := host; k < h.of.Agents; k += len(h.agents.hosts) {
		all = both(all, h.agent(k, metric, 1), sum)
	}
	return all
}

func (h *GateReader) cpuOf(host int) trial.Reading {
	cores := max(h.agents.hosts[host].cores, 1)
	return both(h.sumOf(host, seriesCPU), trial.Reading{Value: float64(cores)}, percent)
}

func (h *GateReader) hottestCoreOf(host int) trial.Reading {
	return h.agent(host, ofRole("plimsoll_cpu_busy_hottest_ratio", "host"), 100)
}

func (h *GateReader) stealOf(host int) trial.Reading {
	return h.agent(host, ofRole("plimsoll_cpu_steal_ratio", "host"), 100)
}

func (h *GateReader) memoryOf(host int) trial.Reading {
	return usedMemory(func(key string, scale float64) trial.Reading {
		return h.agent(host, key, scale)
	})
}

func (h *GateReader) portsInUseOf(host int) trial.Reading {
	used := both(h.sumOf(host, seriesFiles), h.agent(host, seriesTimeWait, 1), sum)
	return both(used, h.agent(host, probe.PortsOfHost, 1), percent)
}

// othersOf returns the share of the cores of a host that neither agents nor the hypervisor took, as
// a mean like the gate others of the target's cores.
func (h *GateReader) othersOf(host int) trial.Reading {
	busy := ofRole("plimsoll_cpu_busy_ratio", "host")
	own := both(h.agent(host, ofRole("plimsoll_process_cpu_ratio", probe.AgentsRole), 1),
		h.agent(host, probe.CoresOfHost, 1), percent)
	now := both(h.agent(host, busy, 100), own, difference)
	now = both(now, h.stealOf(host), difference)
	if now.Why != "" {
		return now
	}
	taken := &h.agents.hosts[host].foreign
	if _, at, _ := h.agentSample(host, busy); taken.fresh(at) {
		taken.add(now.Value)
	}
	return taken.positive()
}
