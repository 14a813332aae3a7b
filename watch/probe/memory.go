package probe

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns the most bytes of memory that this process can have: all of the host's, or less
// where a control group around the process has a limit.
func Memory() (int64, error) { return memoryOf("/") }

func memoryOf(root string) (int64, error) {
	read := reader(root)
	least := int64(kib(lineOf(read("proc/meminfo"), "MemTotal")))
	if least <= 0 {
		return 0, fmt.Errorf(
			"reading the memory of this host: no MemTotal in %s",
			filepath.Join(root, "proc/meminfo"),
		)
	}
	for _, g := range memoryGroups(read) {
		if n, ok := g.limit(read); ok {
			least = min(least, n)
		}
	}
	return least, nil
}

// FreeMemory returns how many bytes further processes can have: those that the kernel calls
// available, or less where a control group around this process has a limit, whose file cache counts
// as free.
func FreeMemory() (int64, error) { return freeMemoryOf("/") }

func freeMemoryOf(root string) (int64, error) {
	read := reader(root)
	info := read("proc/meminfo")
	least := int64(kib(lineOf(info, "MemAvailable")))
	if lineOf(info, "MemAvailable") == "" {
		return 0, fmt.Errorf(
			"reading the free memory of this host: no MemAvailable in %s",
			filepath.Join(root, "proc/meminfo"),
		)
	}
	for _, g := range memoryGroups(read) {
		limit, ok := g.limit(read)
		used, err := strconv.ParseInt(read(g.used), 10, 64)
		if !ok || err != nil {
			continue
		}
		for line := range strings.Lines(read(g.stat)) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), g.cache+" "); ok {
				cache, _ := strconv.ParseInt(text, 10, 64) // what is no number is no cache
				used -= cache
			}
		}
		least = min(least, max(limit-used, 0))
	}
	return least, nil
}

// reader returns a function that reads a file below root, without the space around it; a missing
// one is empty.
func reader(root string) func(name string) string {
	return func(name string) string {
		b, _ := os.ReadFile(filepath.Join(root, name))
		return strings.TrimSpace(string(b))
	}
}

// A memoryGroup is a control group around this process: the files of its limit, of its use and of
// its counters, and the name of the counter of its file cache that is not in use.
type memoryGroup struct{ most, used, stat, cache string }

// memoryGroups returns those around this process in both versions of control groups, with or
// without a limit.
func memoryGroups(read func(string) string) (out []memoryGroup) {
	for line := range strings.Lines(read("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		mount := ""
		names := memoryGroup{"memory.max", "memory.current", "memory.stat", "inactive_file"}
		switch {
		case parts[0] == "0":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mount = "memory"
			names = memoryGroup{
				"memory.limit_in_bytes",
				"memory.usage_in_bytes",
				"memory.stat",
				"total_inactive_file",
			}
		default:
			continue
		}
		for dir := path.Clean(parts[2]); ; dir = path.Dir(dir) {
			at := func(name string) string { return path.Join("sys/fs/cgroup", mount, dir, name) }
			out = append(
				out,
				memoryGroup{at(names.most), at(names.used), at(names.stat), names.cache},
			)
			if dir == "/" {
				break
			}
		}
	}
	return out
}

// limit returns how much the group may use; false where it has no limit.
func (g memoryGroup) limit(read func(string) string) (int64, bool) {
	n, err := strconv.ParseInt(read(g.most), 10, 64) // "max" is not a number
	return n, err == nil && n > 0
}
