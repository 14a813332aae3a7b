package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/watch/probe"
)

// tick is the unit of CPU times in /proc on every architecture that Go runs on (USER_HZ).
const tick = 0.01

// stat reads the fields of /proc/PID/stat behind the name, from field 3 on.
func stat(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	i := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[i+1:]))
	if i < 0 || len(f) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	return f, nil
}

// tree returns a process and its living descendants.
func tree(pid int) []int {
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		p, _ := strconv.Atoi(filepath.Base(d))
		if f, err := stat(p); err == nil {
			parent, _ := strconv.Atoi(f[1])
			children[parent] = append(children[parent], p)
		}
	}
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// cpuOf returns the CPU seconds of a process tree, those of ended and awaited descendants included.
func cpuOf(pid int) (float64, error) {
	sum := 0.0
	for i, p := range tree(pid) {
		f, err := stat(p)
		if err != nil {
			if i == 0 {
				return 0, fmt.Errorf("the client has ended: %w", err)
			}
			continue // a child that ended meanwhile is counted in its parent
		}
		if f[0] == "Z" && i == 0 {
			return 0, fmt.Errorf("the client has ended")
		}
		for _, k := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
			n, err := strconv.ParseFloat(f[k], 64)
			if err != nil {
				return 0, err
			}
			sum += n * tick
		}
	}
	return sum, nil
}

// rss returns the resident memory of this process in KiB.
func rss() (float64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("/proc/self/statm: %q", b)
	}
	pages, err := strconv.ParseFloat(f[1], 64)
	return pages * float64(os.Getpagesize()) / 1024, err
}

// machine describes this host for the table.
func machine() string {
	h := probe.Fingerprint()
	s := fmt.Sprintf("%d × %s, %.0f GiB, %s, kernel %s", h.CPUs, h.CPUModel, float64(h.MemoryBytes)/(1<<30), h.OS, strings.Fields(h.Kernel + " ?")[0])
	if h.Virtualization != "" {
		s += " (" + h.Virtualization + ")"
	}
	return s
}
