package probe

import (
	"strconv"
)

// The capabilities (capabilities(7)) with which a program may sample all processes, and see the
// addresses of the kernel's functions.
const (
	capSysAdmin = 1 << 21
	capSyslog   = 1 << 34
	capPerfmon  = 1 << 38
)

// profiling checks whether a comparison on this host can sample the call stacks of its servers.
func (c *chart) profiling() {
	if !c.is("app", "db") {
		return
	}
	paranoid := c.read("proc/sys/kernel/perf_event_paranoid")
	f := HostFinding{
		Check: "profiling",
		Have:  "perf_event_paranoid " + paranoid,
		Want:  "perf_event_paranoid 0 and kptr_restrict 0, or root",
		Why: "where a comparison cannot sample call stacks, it names no function behind a " +
			"difference in cost; at 1 and 2, it samples only processes that it started",
		Fix: "sysctl -w kernel.perf_event_paranoid=0 kernel.kptr_restrict=0",
	}
	level, err := strconv.Atoi(paranoid)
	caps, capsErr := strconv.ParseUint(lineOf(c.read("proc/self/status"), "CapEff"), 16, 64)
	if err != nil || capsErr != nil {
		c.unknown(f, unread)
		return
	}
	all := caps&(capSysAdmin|capPerfmon) != 0
	restrict := c.read("proc/sys/kernel/kptr_restrict")
	symbols := restrict == "0" || caps&capSyslog != 0
	if all && symbols {
		f.Have += ", with the right to sample all processes"
	} else if !symbols {
		f.Have += ", kptr_restrict " + restrict
	}
	c.judge((all || level <= 0) && symbols, Advice, f)
}
