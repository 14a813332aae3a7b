package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"plimsoll/watch/series"
)

// parseLoadavg reads "1.22 0.57 0.30 5/108 12768".
func parseLoadavg(text []byte, k *sink) error {
	f := fields(bytes.TrimSuffix(text, []byte("\n")))
	for _, name := range [...]string{"node_load1", "node_load5", "node_load15"} {
		v, err := decimal(f.next())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		k.add(name, nil, v)
	}
	return nil
}

// column is a wanted row of a table of names and numbers.
type column struct {
	key, name string
	scale     float64
	must      bool
}

var memNames = []column{
	{"MemTotal", "node_memory_MemTotal_bytes", 1024, true},
	{"MemFree", "node_memory_MemFree_bytes", 1024, true},
	{"MemAvailable", "node_memory_MemAvailable_bytes", 1024, true},
	{"Buffers", "node_memory_Buffers_bytes", 1024, false},
	{"Cached", "node_memory_Cached_bytes", 1024, false},
	{"SwapTotal", "node_memory_SwapTotal_bytes", 1024, false},
	{"SwapFree", "node_memory_SwapFree_bytes", 1024, false},
	{"Dirty", "node_memory_Dirty_bytes", 1024, false},
	{"Writeback", "node_memory_Writeback_bytes", 1024, false},
	{"AnonPages", "node_memory_AnonPages_bytes", 1024, false},
	{"Mapped", "node_memory_Mapped_bytes", 1024, false},
	{"Shmem", "node_memory_Shmem_bytes", 1024, false},
	{"Slab", "node_memory_Slab_bytes", 1024, false},
	{"SReclaimable", "node_memory_SReclaimable_bytes", 1024, false},
	{"Committed_AS", "node_memory_Committed_AS_bytes", 1024, false},
}

var vmNames = []column{
	{"pgmajfault", "node_vmstat_pgmajfault", 1, false},
	{"pswpin", "node_vmstat_pswpin", 1, false},
	{"pswpout", "node_vmstat_pswpout", 1, false},
	{"oom_kill", "node_vmstat_oom_kill", 1, false},
}

// table reads lines of a name, an optional colon, and a number.
type table struct {
	want map[string]column
	must int
}

func newTable(want []column) *table {
	t := &table{want: map[string]column{}}
	for _, c := range want {
		t.want[c.key] = c
		if c.must {
			t.must++
		}
	}
	return t
}

func (t *table) parse(text []byte, k *sink) error { return t.labeled(text, nil, k) }

// labeled is parse with the labels of the series.
func (t *table) labeled(text []byte, ls []series.Label, k *sink) error {
	must, found := 0, 0
	for line := range lines(text) {
		f := fields(line)
		c, ok := t.want[string(bytes.TrimSuffix(f.next(), []byte(":")))]
		if !ok {
			continue
		}
		v, err := f.number()
		if err != nil {
			return fmt.Errorf("%s: %w", c.key, err)
		}
		k.add(c.name, ls, float64(v)*c.scale)
		found++
		if c.must {
			must++
		}
	}
	switch {
	case must < t.must:
		return fmt.Errorf("only %d of the %d indispensable rows are there", must, t.must)
	case found == 0:
		return errAbsent
	}
	return nil
}

// pressure returns the parser of /proc/pressure/kind. The totals are microseconds in which some, or
// all, tasks that were not idle waited for the resource; interrupts have only the latter.
func pressure(kind string) func([]byte, *sink) error {
	waiting, stalled := "node_pressure_"+kind+"_waiting_seconds_total", "node_pressure_"+kind+"_stalled_seconds_total"
	return func(text []byte, k *sink) error {
		return parsePressure(text, waiting, stalled, nil, kind == "irq", k)
	}
}

func parsePressure(
	text []byte,
	waiting, stalled string,
	ls []series.Label,
	fullOnly bool,
	k *sink,
) error {
	some := fullOnly
	for line := range lines(text) {
		name := waiting
		switch {
		case bytes.HasPrefix(line, []byte("some ")):
			some = true
		case bytes.HasPrefix(line, []byte("full ")):
			name = stalled
		default:
			continue
		}
		_, total, ok := bytes.Cut(line, []byte("total="))
		us, err := number(total)
		if !ok || err != nil {
			return fmt.Errorf("line %.60q has no total", line)
		}
		k.add(name, ls, float64(us)/1e6)
	}
	if !some {
		return errors.New(`no line "some"`)
	}
	return nil
}

// parseFileNr reads "allocated free maximum".
func parseFileNr(text []byte, k *sink) error {
	f := fields(bytes.TrimSuffix(text, []byte("\n")))
	used, err1 := f.number()
	free, err2 := f.number()
	most, err3 := f.number()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	k.add("node_filefd_allocated", nil, float64(used-min(free, used)))
	k.add("node_filefd_maximum", nil, float64(most))
	return nil
}

// single returns the parser of a file that holds one number.
func single(name string) func([]byte, *sink) error {
	return func(text []byte, k *sink) error {
		return one(k, name, fields(bytes.TrimSuffix(text, []byte("\n"))))
	}
}

// throttleNames are the counters of a quota in a cgroup's cpu.stat, version 1 (throttled_time in
// nanoseconds) or 2 (throttled_usec), with the metric names of cAdvisor.
var throttleNames = []column{
	{"nr_periods", "container_cpu_cfs_periods_total", 1, false},
	{"nr_throttled", "container_cpu_cfs_throttled_periods_total", 1, false},
	{"throttled_usec", "container_cpu_cfs_throttled_seconds_total", 1e-6, false},
	{"throttled_time", "container_cpu_cfs_throttled_seconds_total", 1e-9, false},
}

// throttling returns the parser of a cgroup's cpu.stat. A group without a quota's counters (the
// root of version 2) is absent.
func throttling(role string) func([]byte, *sink) error {
	t, l := newTable(throttleNames), label("role", role)
	return func(text []byte, k *sink) error { return t.labeled(text, l, k) }
}

// softnet reads /proc/net/softnet_stat: one line of hexadecimal columns per core.
type softnet struct{ labels [][]series.Label }

func (s *softnet) parse(text []byte, k *sink) error {
	i := 0
	for line := range lines(text) {
		f := fields(line)
		var v [13]uint64
		n := 0
		for ; n < len(v); n++ {
			w := f.next()
			if len(w) == 0 {
				break
			}
			var err error
			if v[n], err = hex(w); err != nil {
				return fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		if n < 3 {
			return fmt.Errorf("line %d has %d columns, want at least 3", i+1, n)
		}
		cpu := i
		if n == len(v) {
			cpu = int(v[12]) // since Linux 5.10; offline cores have no line
		}
		if cpu > 1<<16 {
			return fmt.Errorf("line %d: core %d", i+1, cpu)
		}
		for len(s.labels) <= cpu {
			s.labels = append(s.labels, label("cpu", fmt.Sprint(len(s.labels))))
		}
		k.add("node_softnet_processed_total", s.labels[cpu], float64(v[0]))
		k.add("node_softnet_dropped_total", s.labels[cpu], float64(v[1]))
		k.add("node_softnet_times_squeezed_total", s.labels[cpu], float64(v[2]))
		i++
	}
	if i == 0 {
		return errors.New("no line")
	}
	return nil
}

func hex(b []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return 0, errNumber
	}
	return n, nil
}
