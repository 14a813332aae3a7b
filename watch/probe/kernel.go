package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

var memNames = columns("node_memory_", `MemTotal! MemFree! MemAvailable! Buffers Cached SwapTotal
	SwapFree Dirty Writeback AnonPages Mapped Shmem Slab SReclaimable Committed_AS`, "_bytes", 1024)

var vmNames = columns("node_vmstat_", "pgmajfault pswpin pswpout oom_kill", "", 1)

// columns returns those of a list of keys; the indispensable ones end in "!".
func columns(prefix, keys, suffix string, scale float64) (out []column) {
	for word := range strings.FieldsSeq(keys) {
		key, must := strings.CutSuffix(word, "!")
		out = append(out, column{key, prefix + key + suffix, scale, must})
	}
	return out
}

// table reads lines of a name, an optional colon, and a number.
type table struct {
	want   map[string]column
	must   int
	labels []series.Label // of the samples
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

func (t *table) parse(text []byte, k *sink) error {
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
		k.add(c.name, t.labels, float64(v)*c.scale)
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

// pressure returns the parser of the pressure of a kind, such as that of /proc/pressure/kind. The
// totals are microseconds in which some, or all, tasks that were not idle waited for the resource;
// interrupts have only the latter.
func pressure(of, kind string) func([]byte, *sink) error {
	metric := of + "_pressure_" + kind
	p := stalls{metric + "_waiting_seconds_total", metric + "_stalled_seconds_total", kind == "irq"}
	return p.parse
}

// stalls are the metrics of a pressure.
type stalls struct {
	waiting, stalled string
	fullOnly         bool
}

func (p stalls) parse(text []byte, k *sink) error {
	some := p.fullOnly
	for line := range lines(text) {
		name := p.waiting
		switch {
		case bytes.HasPrefix(line, []byte("some ")):
			some = true
		case bytes.HasPrefix(line, []byte("full ")):
			name = p.stalled
		default:
			continue
		}
		_, total, ok := bytes.Cut(line, []byte("total="))
		us, err := number(total)
		if !ok || err != nil {
			return fmt.Errorf("line %.60q has no total", line)
		}
		k.add(name, nil, float64(us)/1e6)
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
	t := newTable(throttleNames)
	t.labels = Labels("role", role)
	return t.parse
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
			s.labels = append(s.labels, Labels("cpu", fmt.Sprint(len(s.labels))))
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
