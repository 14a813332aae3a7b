package probe

import (
	"fmt"
	"strconv"
	"strings"
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
		c.unread(f)
		return
	}
	all := caps&(capSysAdmin|capPerfmon) != 0
	symbols := c.read("proc/sys/kernel/kptr_restrict") == "0" || caps&capSyslog != 0
	if all && symbols {
		f.Have += ", with the right to sample all processes"
	} else if restrict := c.read("proc/sys/kernel/kptr_restrict"); !symbols {
		f.Have = fmt.Sprintf("%s, kptr_restrict %s", f.Have, strings.TrimSpace(restrict))
	}
	c.judge((all || level <= 0) && symbols, Advice, f)
}
