package probe

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory this process can have at most: those of the host, or less where a control
// group around the process has a limit.
func Memory() (int64, error) { return memoryOf("/") }

func memoryOf(root string) (int64, error) {
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(root, name)) // a missing file sets no limit
		return string(b)
	}
	least := int64(kib(lineOf(read("proc/meminfo"), "MemTotal")))
	if least <= 0 {
		return 0, fmt.Errorf("reading the memory of this host: no MemTotal in %s", filepath.Join(root, "proc/meminfo"))
	}
	for line := range strings.Lines(read("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		mount, file := "", "memory.max"
		switch {
		case parts[0] == "0":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mount, file = "memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean(parts[2]); ; dir = path.Dir(dir) {
			text := strings.TrimSpace(read(path.Join("sys/fs/cgroup", mount, dir, file)))
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 { // "max" is not a number
				least = min(least, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, nil
}
