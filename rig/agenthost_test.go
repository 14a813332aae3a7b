package rig

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/fleet"
	"plimsoll/target/lab"
	"plimsoll/watch/series"
)

// ofHost is the key of a series of an agent; role is "" for none.
func ofHost(metric, role string, agent int) string {
	l := fleet.Label(agent)
	if role == "" {
		return fmt.Sprintf("%s{%s=%q}", metric, l.Name, l.Value)
	}
	return fmt.Sprintf("%s{role=%q,%s=%q}", metric, role, l.Name, l.Value)
}

// The gates of two hosts with two processes each are those of the worst, by the samples that their agents send. The
// second host has eight cores, of which the agent may use four: what others take is a part of all eight.
func TestHealthOfAgentsHosts(t *testing.T) {
	now := time.Now()
	samples := map[string]float64{}
	last := func(key string) (float64, time.Time, bool) { v, ok := samples[key]; return v, now, ok }
	h := newHealth(last, clock.New(now), nil, false)
	h.agents, h.hosts = 4, []int{2, 4}
	for k, v := range []struct{ cpu, open float64 }{{0.5, 100}, {1, 200}, {0.7, 300}, {1, 400}} { // processes 0 and 2 are on the first
		samples[ofHost("plimsoll_generator_cpu_ratio", "", k)] = v.cpu
		samples[ofHost("plimsoll_generator_open_fds", "", k)] = v.open
	}
	if rd := h.Health(0, 0)["steal"]; !strings.Contains(rd.Why, "no sample of plimsoll_cpu_steal_ratio") || rd.Inapplicable {
		t.Errorf("an agent that sends nothing of its host: %+v", rd)
	}
	for i, v := range []struct{ busy, hottest, steal, agents, cores, free, tw, ports float64 }{
		{0.8, 0.9, 0.01, 1.3, 2, 6, 100, 1000},
		{0.7, 0.95, 0.03, 2.2, 8, 2, 600, 10_000},
	} {
		maps.Copy(samples, map[string]float64{
			ofHost("plimsoll_cpu_busy_ratio", "host", i): v.busy, ofHost("plimsoll_cpu_busy_hottest_ratio", "host", i): v.hottest,
			ofHost("plimsoll_cpu_steal_ratio", "host", i): v.steal, ofHost("plimsoll_process_cpu_ratio", agentsRole, i): v.agents,
			ofHost(coresOfHost, "", i):                      v.cores,
			ofHost("node_memory_MemAvailable_bytes", "", i): v.free, ofHost("node_memory_MemTotal_bytes", "", i): 8,
			ofHost("node_sockstat_TCP_tw", "", i): v.tw, ofHost(portsOfHost, "", i): v.ports,
		})
	}
	got := h.Health(0, 0)
	for range othersLeast - 1 {
		if rd := got["others"]; !strings.Contains(rd.Why, "too few") {
			t.Errorf("others at first: %+v", rd)
		}
		h.Health(0, 0) // one sample counts once
		now = now.Add(time.Second)
		got = h.Health(0, 0)
	}
	for name, want := range map[string]float64{"cpu": 60, "core": 95, "steal": 3, "memory": 75, "ports": 50, "others": 39.5} {
		if rd := got[name]; rd.Why != "" || rd.Value < want-1e-6 || rd.Value > want+1e-6 {
			t.Errorf("%s: %+v, want %v", name, rd, want)
		}
	}
}

// A host sends what its gates need, its TCP counters and nothing of single cores.
func TestAgentsHostIsSampled(t *testing.T) {
	a, err := watchHost()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	samples, _ := a.sample(t.Context(), time.Now()) // no process here is an agent, which the probe reports
	for _, want := range []string{"node_memory_MemTotal_bytes", "node_sockstat_TCP_tw", "node_netstat_Tcp_RetransSegs",
		portsOfHost, coresOfHost} {
		if !slices.ContainsFunc(samples, func(s series.Sample) bool { return s.Name == want }) {
			t.Errorf("%s is not among %d samples", want, len(samples))
		}
	}
	if len(samples) > 150 || slices.ContainsFunc(samples, func(s series.Sample) bool { return s.Name == "node_cpu_seconds_total" }) {
		t.Errorf("%d samples are sent", len(samples))
	}
	own, err := os.Stat(lab.RunningProgram)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(agentsOf(own), os.Getpid()) {
		t.Error("a program that is no agent counts as one")
	}
}
