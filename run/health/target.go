package health

import (
	"fmt"
	"math"
	"time"

	"plimsoll/run/trial"
)

// A target has the last readings of the target's cores.
type target struct {
	foreign moving // percentages of its cores that others took
	stolen  moving // percentages of its cores that the hypervisor took
	packets softirq
}

// A softirq is the time that cores spent in soft interrupts so far, in seconds.
type softirq struct {
	seconds float64
	at      time.Time
}

// targetSteal returns the share of the target's cores that the hypervisor took: on this host where
// the target has its own cores, and on its other hosts that have a probe; of several hosts the
// worst.
func (h *GateReader) targetSteal() trial.Reading {
	var keys []string
	if len(h.of.TargetCores) > 0 {
		keys = append(keys, ofRole("plimsoll_cpu_steal_ratio", "target"))
	}
	if h.of.Steal != nil {
		keys = append(keys, h.of.Steal()...)
	}
	if len(keys) == 0 {
		if h.generator.role == "" {
			return trial.NoNeed("generator and target share their cores; see steal")
		}
		return trial.Unread("the target's cores are not seen from here; " +
			"a probe of kind agent on its host would see them")
	}
	now, newest := trial.Reading{}, time.Time{}
	for _, key := range keys {
		now = both(now, h.read(key, 100), math.Max)
		if _, at, _ := h.last(key); at.After(newest) {
			newest = at
		}
	}
	if now.Why != "" {
		return now
	}
	if h.target.stolen.fresh(newest) {
		h.target.stolen.add(now.Value)
	}
	return h.target.stolen.mean()
}

// others returns the share of the target's cores that other processes took, interrupts included:
// beyond it, neither latency nor capacity is the target's own.
func (h *GateReader) others() trial.Reading {
	t := &h.target
	switch {
	case len(h.of.TargetCores) == 0:
		return trial.Unread("the target has no cores of its own on this host")
	case len(h.of.TargetRoles) == 0:
		return trial.Unread("not all processes of a target that others started are known")
	}
	used := trial.Reading{}
	for _, role := range h.of.TargetRoles {
		used = both(used, h.read(ofRole("plimsoll_process_cpu_ratio", role), 1), sum)
	}
	busy := ofRole("plimsoll_cpu_busy_ratio", "target")
	now := both(h.read(busy, 1), used, func(busy, used float64) float64 {
		return 100 * (busy - used/float64(len(h.of.TargetCores)))
	})
	if now.Why != "" {
		return now
	}
	// The cores count stolen time as busy; steal has a separate gate.
	if stolen := h.read(ofRole("plimsoll_cpu_steal_ratio", "target"), 100); stolen.Why == "" {
		now.Value -= stolen.Value
	}
	if _, at, _ := h.last(busy); t.foreign.fresh(at) {
		if own, ok := h.packets(); ok {
			t.foreign.add(now.Value - own)
		}
	}
	return t.foreign.positive()
}

// packets returns the share of the target's cores that went to its packets in soft interrupts since
// the sample before, in percent; 0 without wires. It is not known at first.
func (h *GateReader) packets() (percent float64, known bool) {
	t := &h.target
	if !h.of.Wired {
		return 0, true
	}
	now := softirq{}
	for _, core := range h.of.TargetCores {
		v, at, ok := h.last(fmt.Sprintf(`node_cpu_seconds_total{cpu="%d",mode="softirq"}`, core))
		if !ok {
			return 0, false
		}
		now.seconds += v
		now.at = at
	}
	was := t.packets
	t.packets = now
	if was.at.IsZero() || !now.at.After(was.at) {
		return 0, false
	}
	seconds := now.at.Sub(was.at).Seconds() * float64(len(h.of.TargetCores))
	return 100 * (now.seconds - was.seconds) / seconds, true
}
