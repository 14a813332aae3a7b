package probe

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

const (
	pressureText = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n"
	pressureWant = "container_pressure_KIND_waiting_seconds_total{role=\"app\"} 2\ncontainer_pressure_KIND_stalled_seconds_total{role=\"app\"} 0.5\n"
)

func TestCgroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"version 2 with limits": {map[string]string{
			"proc/7/cgroup":              "0::/svc/app\n",
			"sys/fs/cgroup/cgroup.procs": "1\n",
			// The root's, not the group's.
			"sys/fs/cgroup/io.pressure":             "some avg10=9.99 avg60=9.99 avg300=9.99 total=99\n",
			"sys/fs/cgroup/svc/app/cpu.stat":        "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\nnr_bursts 0\n",
			"sys/fs/cgroup/svc/app/cpu.max":         "50000 100000\n",
			"sys/fs/cgroup/svc/app/memory.current":  "1048576\n",
			"sys/fs/cgroup/svc/app/memory.max":      "2097152\n",
			"sys/fs/cgroup/svc/app/memory.events":   "low 0\nhigh 0\nmax 6\noom 1\noom_kill 1\n",
			"sys/fs/cgroup/svc/app/pids.current":    "12\n",
			"sys/fs/cgroup/svc/app/pids.max":        "100\n",
			"sys/fs/cgroup/svc/app/memory.pressure": pressureText,
		}, `container_cpu_usage_seconds_total{role="app"} 3
container_cpu_user_seconds_total{role="app"} 2
container_cpu_system_seconds_total{role="app"} 1
container_cpu_cfs_periods_total{role="app"} 10
container_cpu_cfs_throttled_periods_total{role="app"} 4
container_cpu_cfs_throttled_seconds_total{role="app"} 0.25
container_spec_cpu_quota{role="app"} 50000
container_spec_cpu_period{role="app"} 100000
container_memory_usage_bytes{role="app"} 1.048576e+06
container_spec_memory_limit_bytes{role="app"} 2.097152e+06
container_memory_failcnt{role="app"} 6
container_oom_events_total{role="app"} 1
container_threads{role="app"} 12
container_threads_max{role="app"} 100
` + strings.ReplaceAll(pressureWant, "KIND", "memory")},
		"version 2 without limits, in a container": {map[string]string{
			"proc/7/cgroup":                "0::/docker/0123\n",
			"sys/fs/cgroup/cgroup.procs":   "7\n",
			"sys/fs/cgroup/cpu.stat":       "usage_usec 1000000\n",
			"sys/fs/cgroup/cpu.max":        "max 100000\n",
			"sys/fs/cgroup/memory.current": "5\n",
			"sys/fs/cgroup/memory.max":     "max\n",
			"sys/fs/cgroup/pids.max":       "max\n",
		}, "container_cpu_usage_seconds_total{role=\"app\"} 1\ncontainer_memory_usage_bytes{role=\"app\"} 5\n"},
		"version 1 beside an empty version 2": {map[string]string{
			"proc/7/cgroup":                                 "9:name=systemd:/\n8:pids:/a\n4:memory:/a\n2:cpu,cpuacct:/a\n0::/\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.stat":          "nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpuacct.usage":     "1500000000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes":  "9\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":  "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.failcnt":         "3\n",
			"sys/fs/cgroup/memory/a/memory.oom_control":     "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
			"sys/fs/cgroup/pids/a/pids.current":             "4\n",
			"sys/fs/cgroup/pids/a/pids.max":                 "max\n",
			"sys/fs/cgroup/unified/cpu.pressure":            pressureText,
		}, strings.ReplaceAll(pressureWant, "KIND", "cpu") + `container_cpu_cfs_periods_total{role="app"} 10
container_cpu_cfs_throttled_periods_total{role="app"} 4
container_cpu_cfs_throttled_seconds_total{role="app"} 0.25
container_spec_cpu_period{role="app"} 100000
container_cpu_usage_seconds_total{role="app"} 1.5
container_memory_usage_bytes{role="app"} 9
container_memory_failcnt{role="app"} 3
container_oom_events_total{role="app"} 2
container_threads{role="app"} 4
`},
		"no group at all": {map[string]string{
			"proc/7/cgroup": "5:cpu:/x\n0::/\n",
			"sys/x":         "",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, c.files)
			g := newCgroups([]Role{{
				Name: "app",
				PIDs: func() []int { return []int{9, 7} },
			}}, dir+"/proc", dir+"/sys")
			defer g.Close()
			for range 2 {
				s, err := g.Sample(t.Context(), t0)
				failure.None(t, err)
				values(t, s)
				if d := cmp.Diff(c.want, text(s)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestCgroupsFail(t *testing.T) {
	dir := files(t, map[string]string{
		"proc/7/cgroup":                  "0::/a\n",
		"sys/fs/cgroup/cgroup.procs":     "",
		"sys/fs/cgroup/a/memory.current": "5\n",
		"sys/fs/cgroup/a/memory.events":  "max no\n",
	})
	pids := []int{}
	g := newCgroups([]Role{{
		Name: "db",
		PIDs: func() []int { return pids },
	}}, dir+"/proc", dir+"/sys")
	defer g.Close()
	sample := func(want string) {
		t.Helper()
		s, err := g.Sample(t.Context(), t0)
		if err == nil || !strings.Contains(err.Error(), "role db: "+want) || len(s) > 0 {
			t.Errorf("error %v, want %q; samples %s", err, want, text(s))
		}
	}
	sample("no process")
	pids = []int{8}
	sample("process 8 has exited")
	pids = []int{7}
	sample("memory.events: max")
	failure.None(t, os.Remove(dir+"/sys/fs/cgroup/a/memory.events"))
	if s, err := g.Sample(t.Context(), t0); err != nil ||
		text(s) != "container_memory_usage_bytes{role=\"db\"} 5\n" {
		t.Errorf("%v\n%s", err, text(s))
	}
	failure.None(t, os.Truncate(dir+"/sys/fs/cgroup/a/memory.current", 0))
	sample("memory.current: ")
}

// This program's own group gives something wherever control groups exist.
func TestCgroupsOfThisProcess(t *testing.T) {
	g := NewCgroups([]Role{{Name: "self", PIDs: func() []int { return []int{os.Getpid()} }}})
	defer g.Close()
	s, err := g.Sample(t.Context(), t0)
	failure.None(t, err)
	values(t, s)
	if len(s) == 0 {
		t.Errorf("nothing is known of the group of process %d", os.Getpid())
	}
	t.Log("\n" + text(s))
}

// TestGroupDirsStayBelowTheMount: a controller is a name, so no list of groups leads out of the
// directory of control groups.
func TestGroupDirsStayBelowTheMount(t *testing.T) {
	sys := t.TempDir()
	for _, d := range []string{"fs/cgroup/cpu", "block", "fs/cgroup/memory/a"} {
		failure.None(t, os.MkdirAll(filepath.Join(sys, d), 0o755))
	}
	for _, line := range []string{"1:..:/", "1:../..:/block", "1:../../block:/", "1:cpu,..:/", "1:.:/", "1:cpu/..:/../block", "1:..,..:/"} {
		if dirs := groupDirs(line+"\n", sys); len(dirs) != 0 {
			t.Errorf("%q leads to %v", line, dirs)
		}
	}
	root := filepath.Join(sys, "fs/cgroup")
	want := map[string]string{"cpu": root + "/cpu", "memory": root + "/memory/a"}
	if dirs := groupDirs("3:cpu:/../../..\n4:memory:/a\n", sys); !maps.Equal(dirs, want) {
		t.Errorf("%v, want %v", dirs, want)
	}
}

func FuzzCgroup(f *testing.F) {
	f.Add("max 100000\n")
	f.Add(pressureText)
	f.Add("nr_throttled 3\noom_kill 1\nmax 5\n")
	f.Fuzz(func(t *testing.T, in string) {
		for _, g := range groupFiles {
			k := sink{labels: Labels("role", "a")}
			_ = g.parse([]byte(in), &k)
			for _, s := range k.s {
				if s.Value < 0 || s.Name == "" {
					t.Fatalf("%s: %+v", g.name, s)
				}
			}
		}
		if text, err := os.ReadFile("/proc/self/cgroup"); err == nil {
			for ctl, d := range groupDirs(in+"\n"+string(text), "/sys") {
				if !strings.HasPrefix(d, "/sys/fs/cgroup") {
					t.Fatalf("controller %q: %q is not below /sys", ctl, d)
				}
			}
		}
	})
}
