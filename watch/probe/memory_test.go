package probe

import (
	"testing"
)

// The available memory is the least of the host's and of the limits of the control groups around
// the process.
func TestMemoryIsTheLeastLimit(t *testing.T) {
	const host = "MemTotal:        4096000 kB\nMemFree: 1 kB\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"the host's", map[string]string{"proc/meminfo": host}, 4096000 << 10},
		{"no limit", map[string]string{
			"proc/meminfo":                 host,
			"proc/self/cgroup":             "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 4096000 << 10},
		{"of the group", map[string]string{
			"proc/meminfo":                 host,
			"proc/self/cgroup":             "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "1000000\n",
		}, 1000000},
		{"of the group above", map[string]string{
			"proc/meminfo":                 host,
			"proc/self/cgroup":             "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max":   "2000000\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 2000000},
		{"of version 1", map[string]string{
			"proc/meminfo":     host,
			"proc/self/cgroup": "5:cpu:/x\n4:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "3000000\n",
			"sys/fs/cgroup/x/memory.max":                   "1\n",
		}, 3000000},
		{"of version 1, none", map[string]string{
			"proc/meminfo":     host,
			"proc/self/cgroup": "4:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "9223372036854771712\n",
		}, 4096000 << 10},
		{"unknown", map[string]string{"proc/self/cgroup": "0::/\n"}, 0},
		{"out of the mount", map[string]string{
			"proc/meminfo":               host,
			"proc/self/cgroup":           "0::/../a\n0::b\n",
			"sys/fs/cgroup/a/memory.max": "4000000\n",
		}, 4000000},
	} {
		got, err := memoryOf(files(t, tt.files))
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%s: got %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// The free memory is the least of the host's and of what the control groups around the process have
// left, with the file cache that they can drop.
func TestFreeMemory(t *testing.T) {
	const host = "MemTotal: 8000 kB\nMemFree: 1 kB\nMemAvailable: 4000 kB\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"the host's", map[string]string{"proc/meminfo": host}, 4000 << 10},
		{"none", map[string]string{"proc/meminfo": "MemTotal: 8 kB\nMemAvailable: 0 kB\n"}, 0},
		{"of the group above", map[string]string{
			"proc/meminfo":                     host,
			"proc/self/cgroup":                 "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max":       "2000000\n",
			"sys/fs/cgroup/a/memory.current":   "1500000\n",
			"sys/fs/cgroup/a/memory.stat":      "anon 5\ninactive_file 300000\nactive_file 7\n",
			"sys/fs/cgroup/a/b/memory.current": "9\n",
		}, 800_000},
		{"a group beyond its limit", map[string]string{
			"proc/meminfo":                   host,
			"proc/self/cgroup":               "0::/a\n",
			"sys/fs/cgroup/a/memory.max":     "2000\n",
			"sys/fs/cgroup/a/memory.current": "2001\n",
		}, 0},
		{"of version 1", map[string]string{
			"proc/meminfo":     host,
			"proc/self/cgroup": "4:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "3000000\n",
			"sys/fs/cgroup/memory/y/memory.usage_in_bytes": "1000000\n",
			"sys/fs/cgroup/memory/y/memory.stat":           "inactive_file 1\ntotal_inactive_file 500000\n",
		}, 2_500_000},
		{"a limit above the host's", map[string]string{
			"proc/meminfo":     host,
			"proc/self/cgroup": "4:memory:/y\n",
			"sys/fs/cgroup/memory/y/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/y/memory.usage_in_bytes": "1\n",
		}, 4000 << 10},
	} {
		if got, err := freeMemoryOf(files(t, tt.files)); got != tt.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
	if _, err := freeMemoryOf(t.TempDir()); err == nil {
		t.Error("a host without a file of its memory has free memory")
	}
}
