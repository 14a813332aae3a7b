package sources

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/probe"
)

// Host returns the role and instance of the hosts that a source reads, by its name: the host of an
// agent, or the hosts that a Prometheus server watches. It is false for sources of other kinds.
func Host(name string) (role, instance string, ok bool) {
	if role, instance, ok = ofAgentProbe(name); ok {
		return role, instance, true
	}
	role, ok = strings.CutPrefix(name, prometheusPrefix)
	return role, role + "-" + probe.PrometheusInstance, ok
}

// ofAgentProbe returns the role and instance of an agent, by the name of its probe.
func ofAgentProbe(name string) (role, instance string, ok bool) {
	instance, ok = strings.CutPrefix(name, plan.ProbeAgent+" ")
	if i := strings.LastIndexByte(instance, '-'); ok && i > 0 {
		return instance[:i], instance, true
	}
	return "", "", false
}

// AgentSteal returns the keys of the samples of steal on the hosts that have an agent, except the
// hosts of users.
func AgentSteal(runner *probe.Runner) (keys []string) {
	for _, st := range runner.Status() {
		if role, instance, ok := ofAgentProbe(st.Name); ok && role != "generator" {
			keys = append(
				keys,
				fmt.Sprintf("plimsoll_cpu_steal_ratio{instance=%q,role=%q}", instance, role),
			)
		}
	}
	return keys
}

// clockBound is the greatest distance of another host's clock at which its log files fit a run to
// the second that they are read by.
const clockBound = 500 * time.Millisecond

// ClockFindings names the agents whose clocks are not this host's. Series do not depend on them:
// see watch/probe/agent.
func ClockFindings(runner *probe.Runner) (out []record.Finding) {
	for _, st := range runner.Status() {
		role, instance, ok := ofAgentProbe(st.Name)
		if !ok {
			continue
		}
		of := fmt.Sprintf("{instance=%q,role=%q}", instance, role)
		offset, _, known := runner.Last("plimsoll_agent_clock_offset_seconds" + of)
		way, _, _ := runner.Last("plimsoll_agent_round_trip_seconds" + of)
		if !known { // it has no data, which is a separate finding
			continue
		}
		if f, bad := clockFinding(instance, offset, way/2); bad {
			out = append(out, f)
		}
	}
	return out
}

// clockFinding judges a clock that is ahead by an offset, give or take within, both in seconds.
func clockFinding(instance string, offset, within float64) (f record.Finding, bad bool) {
	f = record.Finding{
		Gate:  "clock of agent",
		Level: record.Amber,
		Value: offset,
		Limit: clockBound.Seconds(),
		Unit:  "s",
	}
	which := "ahead of"
	if offset < 0 {
		which = "behind"
	}
	switch {
	case math.Abs(offset) > clockBound.Seconds():
		f.Text = fmt.Sprintf("the clock of %s is %.3f s %s this host's (±%.3f s): "+
			"series are stored by this host's and stay right, but log files there do not fit the run; "+
			"let both follow NTP, as chrony does", instance, math.Abs(offset), which, within)
	case within > clockBound.Seconds():
		f.Value = within
		f.Text = fmt.Sprintf(
			"the clock of %s can only be compared to ±%.3f s, so slow are its answers",
			instance,
			within,
		)
	default:
		return f, false
	}
	return f, true
}
