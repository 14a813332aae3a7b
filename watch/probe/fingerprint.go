package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Host holds the properties of this host that can change a measurement and do not change while it
// lasts. It holds no name, address or serial number of the host. A fact that cannot be read is
// empty or zero.
type Host struct {
	// PRETTY_NAME of os-release
	OS string `json:"os"`
	// release and version of uname
	Kernel   string `json:"kernel"`
	Arch     string `json:"arch"`      // as Go calls it
	CPUModel string `json:"cpu_model"` //
	CPUs     int    `json:"cpus"`      // online logical cores
	// cores this program may use, for example 0-1
	CPUsAllowed string  `json:"cpus_allowed"`
	CPUMHz      float64 `json:"cpu_mhz,omitempty"`       // at the time of the call
	Governor    string  `json:"governor,omitempty"`      // of core 0
	Isolated    string  `json:"isolated_cpus,omitempty"` //
	// "1" if hyper-threads are in use
	SMT         string `json:"smt,omitempty"`
	MemoryBytes uint64 `json:"memory_bytes"`          //
	SwapBytes   uint64 `json:"swap_bytes"`            //
	HugePages   string `json:"transparent_hugepages"` //
	ClockSource string `json:"clock_source"`          //
	// hint: CPU flags, DMI, container marks
	Virtualization string `json:"virtualization,omitempty"`
	// soft limit of this process
	OpenFiles uint64     `json:"open_files_limit"`
	Load      [3]float64 `json:"load_average"` // at the time of the call
	// those that bound a network service
	Sysctls map[string]string `json:"sysctls"`
	// without the loopback device
	NICs []NIC `json:"nics"`
	// facts that every host should have
	Missing []string `json:"could_not_be_read,omitempty"`
}

// NIC is one network device.
type NIC struct {
	Name      string `json:"name"`
	Driver    string `json:"driver,omitempty"`     // empty for software devices
	SpeedMbit int    `json:"speed_mbit,omitempty"` // 0 if the device does not report it
	MTU       int    `json:"mtu"`
	State     string `json:"state"`
}

// sysctlNames are the settings of the fingerprint, under /proc/sys with slashes for dots.
var sysctlNames = strings.Fields(`
	fs.file-max fs.nr_open
	kernel.perf_event_paranoid kernel.randomize_va_space kernel.sched_autogroup_enabled
	net.core.default_qdisc net.core.netdev_budget net.core.netdev_max_backlog net.core.rmem_max
	net.core.somaxconn net.core.wmem_max
	net.ipv4.ip_local_port_range net.ipv4.tcp_congestion_control net.ipv4.tcp_fin_timeout
	net.ipv4.tcp_max_syn_backlog net.ipv4.tcp_max_tw_buckets net.ipv4.tcp_mem net.ipv4.tcp_rmem
	net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_syncookies net.ipv4.tcp_tw_reuse net.ipv4.tcp_wmem
	net.netfilter.nf_conntrack_max
	vm.overcommit_memory vm.swappiness
`)

// Fingerprint describes this host. Missing facts are listed in the result, so that a manifest shows
// it.
func Fingerprint() Host { return fingerprint("/") }

func fingerprint(root string) Host {
	read := reader(root)
	h := Host{Arch: runtime.GOARCH, Sysctls: map[string]string{}}
	h.OS = osRelease(read("etc/os-release"))
	h.Kernel = strings.TrimSpace(
		read("proc/sys/kernel/osrelease") + " " + read("proc/sys/kernel/version"),
	)
	var hypervisor bool
	h.CPUModel, h.CPUMHz, h.CPUs, hypervisor = cpuinfo(read("proc/cpuinfo"))
	h.CPUsAllowed = lineOf(read("proc/self/status"), "Cpus_allowed_list")
	h.Governor = read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	h.Isolated = read("sys/devices/system/cpu/isolated")
	h.SMT = read("sys/devices/system/cpu/smt/active")
	mem := read("proc/meminfo")
	h.MemoryBytes, h.SwapBytes = kib(lineOf(mem, "MemTotal")), kib(lineOf(mem, "SwapTotal"))
	h.HugePages = chosen(read("sys/kernel/mm/transparent_hugepage/enabled"))
	h.ClockSource = read("sys/devices/system/clocksource/clocksource0/current_clocksource")
	h.Virtualization = virtualization(read, hypervisor, func(p string) bool {
		_, err := os.Stat(filepath.Join(root, p))
		return err == nil
	})
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim) == nil {
		h.OpenFiles = lim.Cur
	}
	if _, err := fmt.Sscan(read("proc/loadavg"), &h.Load[0], &h.Load[1], &h.Load[2]); err != nil {
		h.Missing = append(h.Missing, "load average")
	}
	for _, n := range sysctlNames {
		if v := read("proc/sys/" + strings.ReplaceAll(n, ".", "/")); v != "" {
			h.Sysctls[n] = strings.Join(strings.Fields(v), " ")
		}
	}
	var err error
	if h.NICs, err = nics(filepath.Join(root, "sys/class/net")); err != nil {
		h.Missing = append(h.Missing, "network devices")
	}
	for name, there := range map[string]bool{
		"kernel":             h.Kernel != "",
		"processors":         h.CPUs > 0,
		"allowed processors": h.CPUsAllowed != "",
		"memory":             h.MemoryBytes > 0,
		"clock source":       h.ClockSource != "",
	} {
		if !there {
			h.Missing = append(h.Missing, name)
		}
	}
	slices.Sort(h.Missing)
	return h
}

// osRelease finds the readable name in the text of os-release.
func osRelease(text string) string {
	for l := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}

// cpuinfo reads /proc/cpuinfo. Processors of ARM have no model name there, and no speed.
func cpuinfo(text string) (model string, mhz float64, n int, hypervisor bool) {
	for l := range strings.Lines(text) {
		key, v, _ := strings.Cut(l, ":")
		key, v = strings.TrimSpace(key), strings.TrimSpace(v)
		switch key {
		case "processor":
			n++
		case "model name":
			model = v
		case "CPU part":
			if model == "" {
				model = "CPU part " + v
			}
		case "cpu MHz":
			if f, err := strconv.ParseFloat(v, 64); err == nil && mhz == 0 {
				mhz = f
			}
		case "flags":
			hypervisor = hypervisor || strings.Contains(" "+v+" ", " hypervisor ")
		}
	}
	return model, mhz, n, hypervisor
}

// lineOf returns the value behind "key:" in a text of such lines.
func lineOf(text, key string) string {
	for l := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(l, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func kib(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, " kB"), 10, 53)
	if err != nil {
		return 0
	}
	return n * 1024
}

// chosen returns the word in brackets of "always [madvise] never".
func chosen(s string) string {
	_, s, ok := strings.Cut(s, "[")
	s, _, ok2 := strings.Cut(s, "]")
	if !ok || !ok2 {
		return ""
	}
	return s
}

func virtualization(read func(string) string, hypervisor bool, exists func(string) bool) string {
	var v []string
	if hypervisor {
		v = append(v, "virtual machine")
	}
	if t := read("sys/hypervisor/type"); t != "" {
		v = append(v, t)
	}
	if p := strings.TrimSpace(read("sys/class/dmi/id/sys_vendor") + " " + read("sys/class/dmi/id/product_name")); p != "" {
		v = append(v, p)
	}
	if exists(".dockerenv") || exists("run/.containerenv") {
		v = append(v, "container")
	}
	return strings.Join(v, ", ")
}

// nics lists the network devices under dir except the loopback.
func nics(dir string) ([]NIC, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []NIC
	var errs []error
	for _, e := range entries {
		if e.Name() == "lo" || e.Name() == "bonding_masters" {
			continue
		}
		at := reader(filepath.Join(dir, e.Name()))
		n := NIC{Name: e.Name(), State: at("operstate")}
		if n.MTU, err = strconv.Atoi(at("mtu")); err != nil {
			errs = append(errs, err)
		}
		if s, err := strconv.Atoi(at("speed")); err == nil && s > 0 { // -1: unknown; EINVAL: down
			n.SpeedMbit = s
		}
		if d, err := os.Readlink(filepath.Join(dir, e.Name(), "device/driver")); err == nil {
			n.Driver = filepath.Base(d)
		}
		out = append(out, n)
	}
	return out, errors.Join(errs...)
}
