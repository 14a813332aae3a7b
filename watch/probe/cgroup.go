package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// Cgroups samples the control groups of roles, of version 1, 2 or both, under the names of cAdvisor
// and with the label role instead of the container's:
//
//	container_cpu_usage_seconds_total, container_cpu_user_seconds_total, container_cpu_system_seconds_total
//	container_cpu_cfs_periods_total, container_cpu_cfs_throttled_periods_total, container_cpu_cfs_throttled_seconds_total
//	container_spec_cpu_quota, container_spec_cpu_period      microseconds; the quota is left out where there is no limit
//	container_memory_usage_bytes, container_spec_memory_limit_bytes (left out where there is no limit)
//	container_memory_failcnt          times the limit was reached (version 2: memory.events max)
//	container_oom_events_total        processes that were killed for memory
//	container_threads, container_threads_max (left out where there is no limit)
//	container_pressure_{cpu,io,memory}_{waiting,stalled}_seconds_total    version 2
//
// The group is that of the role's first process. Values that the group's kernel or controllers do
// not offer are left out: the root group has no quota, no limit and no throttling. A role without a
// process, or whose process has ended, is an error.
type Cgroups struct {
	proc, sys string
	roles     []*groupRole
	out       sink
}

type groupRole struct {
	Role
	labels  []series.Label
	pid     int
	sources sources
}

// NewCgroups watches the groups of roles. They are looked up at the first sample, and again when a
// role's process changes.
func NewCgroups(roles []Role) *Cgroups { return newCgroups(roles, "/proc", "/sys") }

func newCgroups(roles []Role, proc, sys string) *Cgroups {
	c := &Cgroups{proc: proc, sys: sys}
	for _, r := range roles {
		c.roles = append(c.roles, &groupRole{Role: r, labels: Labels("role", r.Name)})
	}
	return c
}

// Name returns "cgroup".
func (c *Cgroups) Name() string { return "cgroup" }

// Sample reads the groups of all roles.
func (c *Cgroups) Sample(_ context.Context, _ time.Time) ([]series.Sample, error) {
	c.out.reset()
	var errs []error
	for _, r := range c.roles {
		if err := c.role(r); err != nil {
			errs = append(errs, fmt.Errorf("control group of role %s: %w", r.Name, err))
		}
	}
	return c.out.s, errors.Join(errs...)
}

func (c *Cgroups) role(r *groupRole) error {
	pids := r.PIDs()
	if len(pids) == 0 {
		return errors.New("no process")
	}
	if pid := slices.Min(pids); pid != r.pid {
		if err := c.find(r, pid); err != nil {
			return err
		}
	}
	c.out.labels = r.labels
	err := r.sources.sample(&c.out)
	if err != nil {
		r.close() // the group went with its processes: look again
	}
	return err
}

func (r *groupRole) close() {
	_ = r.sources.close() // nothing was written
	r.sources, r.pid = nil, 0
}

// Close closes the files that Sample keeps open.
func (c *Cgroups) Close() error {
	for _, r := range c.roles {
		r.close()
	}
	return nil
}

// find opens the files that the groups of a process offer.
func (c *Cgroups) find(r *groupRole, pid int) error {
	r.close()
	text, err := os.ReadFile(filepath.Join(c.proc, fmt.Sprint(pid), "cgroup"))
	if err != nil {
		if gone(err) {
			return fmt.Errorf("process %d has exited", pid)
		}
		return err
	}
	dirs := groupDirs(string(text), c.sys)
	var k sink
	seen := map[string]bool{} // series that one file of the two versions already gives
	for _, f := range groupFiles {
		if dirs[f.controller] == "" {
			continue
		}
		s := f.in(dirs[f.controller])
		k.reset()
		err := s.sample(&k)
		switch {
		case err == nil && len(k.s) > 0 && !seen[k.s[0].Name]:
			for _, x := range k.s {
				seen[x.Name] = true
			}
			r.sources = append(r.sources, s)
			continue
		case err != nil && !isAbsent(err) && !errors.Is(err, errNoLimit):
			s.file.close()
			return fmt.Errorf("%s: %w", f.name, err)
		}
		s.file.close()
	}
	r.pid = pid
	return nil
}

// groupDirs returns the directory of a process' group by controller; "" is the one hierarchy of
// version 2. A controller that is not mounted has none.
func groupDirs(text, sys string) map[string]string {
	root := filepath.Join(sys, "fs/cgroup")
	dirs := map[string]string{}
	for line := range strings.Lines(text) {
		p := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // hierarchy:controllers:path
		if len(p) != 3 || !controllers(p[1]) {
			continue
		}
		mounts := []string{p[1]}
		if p[1] == "" {
			mounts = []string{"unified", "."}
		}
		for ctl := range strings.SplitSeq(p[1], ",") {
			// In a container the path is the host's, while only the own part is mounted, at the
			// root.
			for _, path := range []string{p[2], "/"} {
				for _, m := range append([]string{ctl}, mounts...) {
					dir := filepath.Join(root, m, filepath.Clean("/"+path))
					if m == "" || dirs[ctl] != "" {
						continue
					}
					if _, err := os.Stat(filepath.Join(root, m, "cgroup.procs")); err != nil &&
						m == "." {
						continue // a directory of mounts
					}
					if info, err := os.Stat(dir); err == nil && info.IsDir() {
						dirs[ctl] = dir
					}
				}
			}
		}
	}
	return dirs
}

// controllers reports whether a text can be the controllers of a hierarchy, which are also the name
// of its mount: no name in it leads out of the directory of mounts.
func controllers(list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return false
		}
	}
	return true
}

// A groupFile is one file of a controller and its parser.
type groupFile struct {
	controller, name string
	parse            func(text []byte, k *sink) error
}

// in returns the source of the file in a directory.
func (f groupFile) in(dir string) *source {
	return &source{name: f.name, file: file{path: filepath.Join(dir, f.name)}, parse: f.parse}
}

// errNoLimit is returned by a parser for a limit that is not set.
var errNoLimit = errors.New("no limit")

// Version 2 comes first: where a group has both, as in hybrid set-ups, only one of them has the
// controller.
var groupFiles = []groupFile{
	{"", "cpu.stat", newTable(append([]column{
		{"usage_usec", "container_cpu_usage_seconds_total", 1e-6, false},
		{"user_usec", "container_cpu_user_seconds_total", 1e-6, false},
		{"system_usec", "container_cpu_system_seconds_total", 1e-6, false},
	}, throttleNames...)).parse},
	{"", "cpu.max", func(text []byte, k *sink) error {
		f := fields(bytes.TrimSpace(text))
		quota, period := f.next(), f.next()
		if string(quota) == "max" {
			return errNoLimit
		}
		q, err1 := number(quota)
		p, err2 := number(period)
		k.add("container_spec_cpu_quota", nil, float64(q))
		k.add("container_spec_cpu_period", nil, float64(p))
		return errors.Join(err1, err2)
	}},
	{"", "memory.current", groupNumber("container_memory_usage_bytes", 0)},
	{"", "memory.max", groupNumber("container_spec_memory_limit_bytes", 0)},
	{
		"",
		"memory.events",
		newTable([]column{
			{"max", "container_memory_failcnt", 1, false},
			{"oom_kill", "container_oom_events_total", 1, false},
		}).parse,
	},
	{"", "pids.current", groupNumber("container_threads", 0)},
	{"", "pids.max", groupNumber("container_threads_max", 0)},
	{"", "cpu.pressure", pressure("container", "cpu")},
	{"", "io.pressure", pressure("container", "io")},
	{"", "memory.pressure", pressure("container", "memory")},
	{"cpu", "cpu.stat", newTable(throttleNames).parse},
	{"cpu", "cpu.cfs_quota_us", groupNumber("container_spec_cpu_quota", 0)},
	{"cpu", "cpu.cfs_period_us", groupNumber("container_spec_cpu_period", 0)},
	{"cpuacct", "cpuacct.usage", scaled("container_cpu_usage_seconds_total", 1e-9)},
	{"memory", "memory.usage_in_bytes", groupNumber("container_memory_usage_bytes", 0)},
	{"memory", "memory.limit_in_bytes", groupNumber("container_spec_memory_limit_bytes", 1<<60)},
	{"memory", "memory.failcnt", groupNumber("container_memory_failcnt", 0)},
	{
		"memory",
		"memory.oom_control",
		newTable([]column{{"oom_kill", "container_oom_events_total", 1, false}}).parse,
	},
	{"pids", "pids.current", groupNumber("container_threads", 0)},
	{"pids", "pids.max", groupNumber("container_threads_max", 0)},
}

// groupNumber reads a file with one number. "max", -1 and, if unlimited is not 0, numbers from it
// on mean that there is no limit: version 1 writes the largest number of pages instead.
func groupNumber(metric string, unlimited uint64) func([]byte, *sink) error {
	return func(text []byte, k *sink) error {
		w := bytes.TrimSpace(text)
		if string(w) == "max" || string(w) == "-1" {
			return errNoLimit
		}
		v, err := number(w)
		if err != nil {
			return err
		}
		if unlimited > 0 && v >= unlimited {
			return errNoLimit
		}
		k.add(metric, nil, float64(v))
		return nil
	}
}

// scaled reads a file with one number, which is multiplied.
func scaled(metric string, scale float64) func([]byte, *sink) error {
	return func(text []byte, k *sink) error {
		v, err := number(bytes.TrimSpace(text))
		if err == nil {
			k.add(metric, nil, float64(v)*scale)
		}
		return err
	}
}
