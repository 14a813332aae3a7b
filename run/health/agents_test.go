package health

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/fleet"
	"plimsoll/watch/probe"
)

// ofHost is the key of a series of an agent; role is "" for none.
func ofHost(metric, role string, agent int) string {
	l := fleet.Label(agent)
	if role == "" {
		return fmt.Sprintf("%s{%s=%q}", metric, l.Name, l.Value)
	}
	return fmt.Sprintf("%s{role=%q,%s=%q}", metric, role, l.Name, l.Value)
}

// The gates of two hosts with two processes each read the worst host, by the samples that their
// agents send. The second host has eight cores, of which the agent may use four: the share that
// others take counts all eight.
func TestHealthOfAgentsHosts(t *testing.T) {
	now := time.Now()
	samples := map[string]float64{}
	last := func(key string) (float64, time.Time, bool) { v, ok := samples[key]; return v, now, ok }
	h := newHealth(last, clock.New(now), nil, false)
	h.of.Agents, h.agents.hosts = 4, []*agentsHost{{cores: 2}, {cores: 4}}
	// processes 0 and 2 are on the first
	for k, v := range []struct{ cpu, open float64 }{{0.5, 100}, {1, 200}, {0.7, 300}, {1, 400}} {
		samples[ofHost("plimsoll_generator_cpu_ratio", "", k)] = v.cpu
		samples[ofHost("plimsoll_generator_open_fds", "", k)] = v.open
	}
	if rd := h.Health(0, 0)["steal"]; !strings.Contains(
		rd.Why,
		"no sample of plimsoll_cpu_steal_ratio",
	) ||
		rd.Inapplicable {
		t.Errorf("an agent that sends nothing of its host: %+v", rd)
	}
	for i, v := range []struct{ busy, hottest, steal, agents, cores, free, tw, ports float64 }{
		{0.8, 0.9, 0.01, 1.3, 2, 6, 100, 1000},
		{0.7, 0.95, 0.03, 2.2, 8, 2, 600, 10_000},
	} {
		maps.Copy(samples, map[string]float64{
			ofHost("plimsoll_cpu_busy_ratio", "host", i):              v.busy,
			ofHost("plimsoll_cpu_busy_hottest_ratio", "host", i):      v.hottest,
			ofHost("plimsoll_cpu_steal_ratio", "host", i):             v.steal,
			ofHost("plimsoll_process_cpu_ratio", probe.AgentsRole, i): v.agents,
			ofHost(probe.CoresOfHost, "", i):                          v.cores,
			ofHost("node_memory_MemAvailable_bytes", "", i):           v.free,
			ofHost("node_memory_MemTotal_bytes", "", i):               8,
			ofHost("node_sockstat_TCP_tw", "", i):                     v.tw,
			ofHost(probe.PortsOfHost, "", i):                          v.ports,
		})
	}
	got := h.Health(0, 0)
	for range meanLeast - 1 {
		if rd := got["others"]; !strings.Contains(rd.Why, "too few") {
			t.Errorf("others at first: %+v", rd)
		}
		h.Health(0, 0) // one sample counts once
		now = now.Add(time.Second)
		got = h.Health(0, 0)
	}
	for name, want := range map[string]float64{
		"cpu":    60,
		"core":   95,
		"steal":  3,
		"memory": 75,
		"ports":  50,
		"others": 39.5,
	} {
		if rd := got[name]; rd.Why != "" || rd.Value < want-1e-6 || rd.Value > want+1e-6 {
			t.Errorf("%s: %+v, want %v", name, rd, want)
		}
	}
}
