package probe

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// clockSources holds our knowledge of the kernel's clock sources.
var clockSources = map[string]struct {
	good bool
	why  string
}{
	"tsc":                         {true, ""},
	"arch_sys_counter":            {true, ""},
	"kvm-clock":                   {true, ""}, // read without a system call, like tsc
	"hyperv_clocksource_tsc_page": {true, ""},
	"xen":                         {false, "every reading is a system call"},
	"hpet": {
		false,
		"every reading is a system call and an access to a slow device",
	},
	"acpi_pm": {
		false,
		"every reading is a system call and an access to a slow device",
	},
	"jiffies":         {false, "it has steps of milliseconds"},
	"refined-jiffies": {false, "it has steps of milliseconds"},
}

const clockDir = "sys/devices/system/clocksource/clocksource0"

func (c *chart) clock() {
	have := c.read(clockDir + "/current_clocksource")
	known, ok := clockSources[have]
	f := HostFinding{Check: "clock source", Have: have, Want: "tsc, or the hypervisor's page of it"}
	switch {
	case have == "":
		c.unknown(f, unread)
	case !ok:
		c.unknown(f, have)
	default:
		f.Why = known.why + "; a generator reads the clock several times for each operation"
		if there := strings.Fields(c.read(clockDir + "/available_clocksource")); slices.Contains(
			there,
			"tsc",
		) {
			f.Fix = "echo tsc >/" + clockDir + "/current_clocksource"
		}
		bad := Advice
		if c.is("agent") {
			bad = Problem
		}
		c.judge(known.good, bad, f)
	}
	synced, err := c.synced()
	f = HostFinding{
		Check: "clock synchronization",
		Have:  "synchronized",
		Want:  "synchronized",
		Why:   "times of several hosts are put side by side in one report",
		Fix:   "timedatectl set-ntp true  # or: systemctl enable --now chrony",
	}
	if err != nil {
		c.unknown(f, unread+": "+err.Error())
		return
	}
	if !synced {
		f.Have = "not synchronized, as far as the kernel knows"
	}
	c.judge(synced, Advice, f)
}

// processor checks the settings that let a core change its speed.
func (c *chart) processor() {
	governors := map[string]int{}
	cpus, _ := fs.Glob(c.files, "sys/devices/system/cpu/cpu[0-9]*")
	for _, cpu := range cpus {
		if g := c.read(path.Join(cpu, "cpufreq/scaling_governor")); g != "" {
			governors[g]++
		}
	}
	if len(governors) == 0 {
		c.unknown(HostFinding{Check: "CPU governor"},
			"no frequency scaling to be seen; in a virtual machine it is the host's")
	} else {
		var have []string
		for g, n := range governors {
			have = append(have, fmt.Sprintf("%s on %d cores", g, n))
		}
		slices.Sort(have)
		c.judge(len(governors) == 1 && governors["performance"] > 0, Advice, HostFinding{
			Check: "CPU governor",
			Have:  strings.Join(have, ", "),
			Want:  "performance",
			Why:   "a core that sleeps between requests wakes up slow: latency at low load is that of the governor",
			Fix:   "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
		})
	}
	f := HostFinding{
		Check: "turbo",
		Want:  "off for comparisons",
		Why:   "speed then depends on how warm the package is and what the neighbors do; runs differ by more than releases",
	}
	turbo := func(off bool, fix string) {
		f.Have = map[bool]string{true: "off", false: "on"}[off]
		f.Fix = fix
		c.judge(off, Advice, f)
	}
	switch off, boost := c.read("sys/devices/system/cpu/intel_pstate/no_turbo"), c.read("sys/devices/system/cpu/cpufreq/boost"); {
	case off != "":
		turbo(off == "1", "echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo")
	case boost != "":
		turbo(boost == "0", "echo 0 >/sys/devices/system/cpu/cpufreq/boost")
	default:
		f.Why = ""
		c.unknown(f, "cannot be read here")
	}
}

// memory checks huge pages and swap.
func (c *chart) memory() {
	if thp := chosen(c.read("sys/kernel/mm/transparent_hugepage/enabled")); thp != "" &&
		c.is("db", "app") {
		c.judge(thp != "always", Advice, HostFinding{
			Check: "transparent huge pages",
			Have:  thp,
			Want:  "madvise or never",
			Why:   "a database then stalls while the kernel puts pages together (PostgreSQL, MySQL and Redis advise against \"always\")",
			Fix:   "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled",
		})
	}
	mem := c.read("proc/meminfo")
	if lineOf(mem, "SwapTotal") == "" {
		c.unknown(HostFinding{Check: "swap"}, unread)
		return
	}
	total, free := kib(lineOf(mem, "SwapTotal")), kib(lineOf(mem, "SwapFree"))
	f := HostFinding{
		Check: "swap",
		Have:  "none",
		Want:  "none in use",
		Why:   "memory that was swapped out comes back as latency, of the target or of the generator",
		Fix:   "swapoff -a",
	}
	if total > 0 {
		f.Have = fmt.Sprintf("%d of %d MiB used", (total-free)>>20, total>>20)
	}
	bad := Advice
	if total-free > total/10 {
		bad = Problem
	}
	c.judge(total == free, bad, f)
}

// cgroup checks the limits of the group of processes to which this one belongs, and of the groups
// around it.
func (c *chart) cgroup() {
	text := c.read("proc/self/cgroup")
	if text == "" {
		c.unknown(HostFinding{Check: "cgroup limits"}, unread)
		return
	}
	limited := false
	found := func(check, have, why string) {
		limited = true
		c.add(HostFinding{
			Check:    check,
			Severity: Problem,
			Have:     have,
			Want:     "no limit",
			Why:      why,
			Fix:      "# raise or remove the limit where the container or service is defined (docker: --cpus, --memory; systemd: CPUQuota=, MemoryMax=)",
		})
	}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		at := func(mount string, files ...string) (string, bool) {
			for dir := parts[2]; ; dir = path.Dir(dir) {
				for _, f := range files {
					if v := c.read(path.Join("sys/fs/cgroup", mount, dir, f)); v != "" &&
						!strings.HasPrefix(v, "max") &&
						v != "-1" {
						if n, err := strconv.ParseUint(strings.Fields(v)[0], 10, 64); err == nil &&
							n < 1<<60 {
							return v, true
						}
					}
				}
				if dir == "/" || dir == "." {
					return "", false
				}
			}
		}
		const cpuWhy = "the kernel stops every process of the group for the rest of each period once its time is spent: latencies of tens of milliseconds without another cause"
		const memWhy = "near the limit the kernel throws the program's own pages out, and beyond it kills it"
		switch controllers := strings.Split(parts[1], ","); {
		case parts[0] == "0":
			if v, ok := at("", "cpu.max"); ok {
				found("CPU quota", v+" us", cpuWhy)
			}
			if v, ok := at("", "memory.max"); ok {
				found("memory limit", v+" bytes", memWhy)
			}
		case slices.Contains(controllers, "cpu"):
			if v, ok := at("cpu", "cpu.cfs_quota_us"); ok {
				found("CPU quota", v+" us", cpuWhy)
			}
		case slices.Contains(controllers, "memory"):
			if v, ok := at("memory", "memory.limit_in_bytes"); ok {
				found("memory limit", v+" bytes", memWhy)
			}
		}
	}
	if !limited {
		c.add(HostFinding{
			Check:    "cgroup limits",
			Severity: Good,
			Have:     "none for CPU and memory",
			Want:     "no limit",
		})
	}
}
