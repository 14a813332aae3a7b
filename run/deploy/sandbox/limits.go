package sandbox

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"plimsoll/plan"
	"plimsoll/target/lab"
	"plimsoll/target/lab/cgroup"
	"plimsoll/watch/probe"
)

// quotaPeriod is the period of a CPU quota in container engines.
const quotaPeriod = 100 * time.Millisecond

// turnPeriod is the period of the quota of a target that takes turns, and turnQuota the least CPU
// time that a period has. The kernel fills quotas up in real time, also while a target is paused,
// so that each turn begins with a whole one. Of a quota q in a period T, a turn has q(1-q)T more
// than its share: with the usual period and q = 90 %, turns of 200 ms have 94.5 %.
const (
	turnPeriod = 10 * time.Millisecond
	turnQuota  = 2 * time.Millisecond
)

// periodOf returns the period of a quota of cores.
func periodOf(cores float64, turns bool) time.Duration {
	if !turns {
		return quotaPeriod
	}
	return min(max(turnPeriod, time.Duration(float64(turnQuota)/cores)), quotaPeriod)
}

// enclose makes the control group where limits, pauses or the CPU time of roles need one.
//
// Limits need it. Without it, signals pause programs and the process table counts their time. So
// none is made where it would only count, and would change how the host shares the CPU, or take a
// container out of the group of its engine.
func (h *Sandbox) enclose() (err error) {
	limited := h.Deployment.Limited()
	ofApp := limited && h.Deployment.Of == plan.OfApp
	if !limited {
		countsFreely := cgroup.Passive() && !h.Deployment.Contained()
		if os.Geteuid() != 0 || !h.Pausable && !countsFreely {
			return nil
		}
		_, _ = cgroup.Sweep() // a group that stays is not in the way of this one
	}
	name := fmt.Sprintf("target-%d-%s", h.Index, rand.Text()[:6])
	if h.group, err = cgroup.Create(name); err != nil {
		return err
	}
	// In one hierarchy, probes look for the statistics of a limit of the whole, which the
	// statistics of a part are not.
	if !h.group.OneHierarchy() || !limited || ofApp && h.Pausable {
		h.parted = (h.Pausable || cgroup.Passive()) && h.group.Account() == nil
	}
	// Without parts, programs that are frozen together would be limited together.
	if h.Pausable && (!ofApp || h.parted) {
		h.freezes = h.group.Freezable() == nil
	}
	if !limited && !h.freezes && !h.parted {
		err, h.group = h.group.Remove(), nil
	}
	return err
}

// part returns the group of a role's programs; nil: they are in none.
func (h *Sandbox) part(role string) *cgroup.Group {
	if h.group != nil && h.parted {
		return h.group.Part(role)
	}
	return h.group
}

// join puts a program of a role that has just started into its group.
func (h *Sandbox) join(role string, pid int) error {
	// Without parts and freezing, the group is there for the limit alone.
	onlyApp := !h.parted && !h.freezes && h.Deployment.Of == plan.OfApp
	if onlyApp && role != "app" {
		return nil
	}
	group := h.part(role)
	if h.parted {
		if err := group.Account(); err != nil {
			return err
		}
	}
	return group.Add(pid)
}

// CPU returns the reading of the CPU time of a role; nil where its programs are in no group of
// their own.
func (h *Sandbox) CPU(role string) func() (probe.CPUTime, error) {
	if h == nil || !h.parted {
		return nil
	}
	group := h.group.Part(role)
	return func() (probe.CPUTime, error) {
		t, err := group.CPUTime()
		return probe.CPUTime{Total: t.Total, User: t.User, System: t.System}, err
	}
}

// limit limits the control group by the deployment.
func (h *Sandbox) limit() error {
	d := h.Deployment
	group := h.group
	whose := "server and stores together"
	if d.Of == plan.OfApp {
		group, whose = h.part("app"), "the server alone"
	}
	h.described["limits"] = whose
	if d.CPUs > 0 {
		all := len(h.Targets)
		if all == 0 {
			own, err := lab.AllowedCPUs(0)
			if err != nil {
				return err
			}
			all = len(own)
		}
		cores := d.CPUs * float64(all)
		period := periodOf(cores, h.Pausable)
		if err := group.CPU(cores, period); err != nil {
			return err
		}
		h.described["cpu quota"] = fmt.Sprintf("%.4g of %d cores, in each %v", cores, all, period)
	}
	if !h.BoundsMemory {
		return nil
	}
	if d.Memory > 0 {
		h.described["memory limit"] = d.Memory.String()
	}
	return group.Memory(int64(d.Memory))
}
