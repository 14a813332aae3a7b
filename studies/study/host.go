package study

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// tick is the unit of CPU times in /proc on every architecture that Go runs on (USER_HZ).
const tick = 0.01

// Stat reads the fields of /proc/PID/stat behind the name, from field 3 (the state) on.
func Stat(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	return f, nil
}

// CPU returns the CPU seconds of a process.
func CPU(pid int) (float64, error) {
	f, err := Stat(pid)
	if err != nil || f[0] == "Z" {
		return 0, fmt.Errorf("process %d has ended: %w", pid, err)
	}
	return Seconds(f[11:13]) // utime, stime
}

// Seconds adds up CPU times as /proc has them.
func Seconds(ticks []string) (sum float64, err error) {
	for _, t := range ticks {
		n, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return 0, err
		}
		sum += n * tick
	}
	return sum, nil
}

// Resident returns the resident memory of a process in KiB.
func Resident(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm: %q", pid, b)
	}
	pages, err := strconv.ParseFloat(f[1], 64)
	return pages * float64(os.Getpagesize()) / 1024, err
}

// NullSecret is the [workload.Env] Secret of users of a null server, which takes any password.
func NullSecret(key string) string {
	if key == "admin_password" {
		return "Aa1!null-server"
	}
	return ""
}

// Machine describes this host.
func Machine() string {
	h := probe.Fingerprint()
	s := fmt.Sprintf("%d × %s, %.0f GiB, %s, kernel %s", h.CPUs, h.CPUModel,
		float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel + " ?")[0])
	if h.Virtualization != "" {
		s += " (" + h.Virtualization + ")"
	}
	return s
}

// Cores reads numbers of CPUs of this host that are separated by commas; an empty text has none.
func Cores(text string) (cpus []int, err error) {
	if cpus, err = Numbers(text); err != nil || len(cpus) == 0 {
		return nil, err
	}
	return cpus, lab.CheckCPUs(cpus)
}

// Numbers reads numbers that are separated by commas; an empty text has none.
func Numbers(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for f := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("%q: want comma-separated numbers", text)
		}
		list = append(list, n)
	}
	return list, nil
}

// Revision returns the commit that runs, marked when files that git knows were changed, other than
// results.
func Revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(out))
	args := []string{"status", "--porcelain", "--untracked-files=no", "--",
		":/", ":(top,exclude)" + Results}
	if out, err := exec.Command("git", args...).Output(); err != nil || len(out) > 0 {
		commit += "-changed"
	}
	return commit
}
