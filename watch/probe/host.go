package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"plimsoll/watch/series"
)

// HostOptions selects the parts of this host to watch. The zero value watches all of it.
type HostOptions struct {
	// Roles gives the cores of each role, such as {"target": {0}, "generator": {1}}. For each, and
	// for the role "host" (all cores), Sample emits plimsoll_cpu_busy_ratio (everything but idle
	// and iowait; stolen time counts as busy), plimsoll_cpu_busy_hottest_ratio (the busiest core)
	// and plimsoll_cpu_steal_ratio, over the time since the last sample.
	Roles map[string][]int
	// Turns are those of the run that the samples are for; counters grow during these only, and
	// ratios are over them. Loads, memory, sockets and other states are the host's, at the end of
	// the last turn at the earliest. nil: all time is the run's.
	Turns *Turns
	// Proc and Sys replace /proc and /sys, for tests.
	Proc, Sys string
}

// HostProbe samples one Linux host, under the names of node_exporter:
//
//	node_cpu_seconds_total{cpu,mode}, node_procs_running (the run queue), node_procs_blocked, node_load1, 5 and 15
//	node_context_switches_total, node_forks_total
//	node_schedstat_{running,waiting}_seconds_total{cpu}, node_schedstat_timeslices_total{cpu}
//	node_pressure_{cpu,io,memory}_{waiting,stalled}_seconds_total, node_pressure_irq_stalled_seconds_total
//	node_memory_*_bytes, node_vmstat_{pgmajfault,pswpin,pswpout,oom_kill}
//	node_disk_*{device}: operations, bytes, times, queue; node_network_*{device}: bytes, packets, errors, drops
//	node_softnet_{processed,dropped,times_squeezed}_total{cpu}
//	node_netstat_{Tcp,TcpExt,Udp,IpExt}_*: retransmits, time-outs, listen overflows and drops, pruned and out-of-order
//	segments, full backlogs
//	node_sockstat_*, node_nf_conntrack_entries and _limit, node_nf_conntrack_stat_*, node_filefd_*
//	container_cpu_cfs_*{role}: throttling, as in cAdvisor
//
// and values that node_exporter leaves to queries, over the time since the last sample:
//
//	plimsoll_cpu_busy_ratio{role}, plimsoll_cpu_busy_hottest_ratio{role}, plimsoll_cpu_steal_ratio{role}
//	plimsoll_disk_await_seconds{device}    mean time of an operation; absent while there was none
//	plimsoll_disk_busy_ratio{device}       share of the time with an operation under way
//	plimsoll_disk_queue_length{device}     operations under way, on average
type HostProbe struct {
	sources sources
	absent  []string
	cpu     *cpuStat
	disks   *disks
	turns   *Turns
	lastT   time.Time
	out     sink
}

// source is one file of the kernel and its parser.
type source struct {
	name     string
	file     file
	parse    func(text []byte, k *sink) error
	optional bool // not on every kernel
	// skip leaves the growth between two turns out; nil for a source without counters. own counts
	// the samples of a parser that does not count itself; nil for one that does.
	skip func(end, begin []byte) error
	own  *growth
	// turned reads the file in the run's turns; nil when all time is the run's.
	turned *turnReader
}

// sample reads the source.
func (s *source) sample(k *sink) error {
	if s.turned == nil {
		text, err := s.file.read()
		if err != nil {
			return err
		}
		return s.parse(text, k)
	}
	gaps, text, err := s.turned.read()
	for _, g := range gaps {
		err = errors.Join(err, s.skip(g.end, g.begin))
	}
	if text == nil {
		return err
	}
	first := len(k.s)
	err = errors.Join(err, s.parse(text, k))
	if s.own != nil {
		s.own.count(k.s[first:], sampled)
	}
	return err
}

// sources are read one after the other.
type sources []*source

// sample reads all sources; one that fails leaves out its own samples only.
func (all sources) sample(k *sink) error {
	var errs []error
	for _, s := range all {
		if err := s.sample(k); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// close closes the files that sample keeps open.
func (all sources) close() error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.file.close())
	}
	return errors.Join(errs...)
}

// NewHost finds the sources and takes a first sample, so that the first call of Sample already
// has ratios. It fails if an indispensable source cannot be read: /proc/stat, meminfo, loadavg,
// net/snmp, net/netstat, net/dev, diskstats, or the cgroup of a role.
func NewHost(o HostOptions) (*HostProbe, error) {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.Sys == "" {
		o.Sys = "/sys"
	}
	cpu, err := newCPUStat(o.Roles)
	if err != nil {
		return nil, fmt.Errorf("probe of the host: %w", err)
	}
	h := &HostProbe{cpu: cpu, disks: &disks{}, turns: o.Turns}
	proc := func(name string, optional bool, parse func([]byte, *sink) error) *source {
		s := &source{
			name:     name,
			file:     file{path: filepath.Join(o.Proc, name)},
			parse:    parse,
			optional: optional,
		}
		h.sources = append(h.sources, s)
		return s
	}
	counting := func(name string, optional bool, parse func([]byte, *sink) error) {
		proc(name, optional, parse).counts()
	}
	proc("stat", false, cpu.parse).skip = cpu.skip
	proc("loadavg", false, parseLoadavg)
	proc("meminfo", false, newTable(memNames).parse)
	counting("vmstat", true, newTable(vmNames).parse)
	counting("schedstat", true, (&schedstat{}).parse)
	counting("pressure/cpu", true, pressure("node", "cpu"))
	counting("pressure/io", true, pressure("node", "io"))
	counting("pressure/memory", true, pressure("node", "memory"))
	counting("pressure/irq", true, pressure("node", "irq"))
	proc("diskstats", false, h.disks.parse).skip = h.disks.skip
	counting("net/snmp", false, (&netstat{want: snmpWant}).parse)
	counting("net/netstat", false, (&netstat{want: netstatWant}).parse)
	counting("net/dev", false, (&netdev{}).parse)
	proc("net/sockstat", true, parseSockstat)
	proc("net/sockstat6", true, parseSockstat6)
	counting("net/softnet_stat", true, (&softnet{}).parse)
	proc("sys/fs/file-nr", true, parseFileNr)
	proc("sys/net/netfilter/nf_conntrack_count", true, single("node_nf_conntrack_entries"))
	proc("sys/net/netfilter/nf_conntrack_max", true, single("node_nf_conntrack_entries_limit"))
	counting("net/stat/nf_conntrack", true, parseConntrack)
	if p := ownCPUStat(o.Proc, o.Sys); p != "" {
		s := &source{
			name:     "own cgroup",
			file:     file{path: p},
			parse:    throttling("self"),
			optional: true,
		}
		s.counts()
		h.sources = append(h.sources, s)
	}
	return h, h.begin()
}

// counts makes the source's samples counters.
func (s *source) counts() {
	s.own = &growth{parse: s.parse, of: map[countedSeries]*grown{}}
	s.skip = s.own.skip
}

// begin samples once and drops the optional sources that this kernel does not have.
func (h *HostProbe) begin() error {
	var errs []error
	kept := h.sources[:0]
	for _, s := range h.sources {
		h.out.reset()
		err := s.sample(&h.out)
		if err == nil && h.turns != nil && s.skip != nil {
			if s.own != nil {
				s.own.count(h.out.s, sampled)
			}
			s.turned, err = h.turns.follow(s.file.path)
		}
		switch {
		case err == nil:
			kept = append(kept, s)
		case s.optional && isAbsent(err):
			h.absent = append(h.absent, s.name)
			s.file.close()
		default:
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	h.sources = kept
	if err := errors.Join(errs...); err != nil {
		h.Close()
		return fmt.Errorf("probe of the host: %w", err)
	}
	return nil
}

// errAbsent is returned by a parser for a file that exists but lacks the wanted values.
var errAbsent = errors.New("not offered by this kernel")

// isAbsent reports whether err means that the kernel lacks a source: pressure files exist but
// cannot be read when PSI is switched off.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, errAbsent) ||
		errors.Is(err, syscall.EOPNOTSUPP) ||
		errors.Is(err, syscall.ENODEV)
}

// Name returns "host".
func (h *HostProbe) Name() string { return "host" }

// Absent lists the optional sources this host does not have, for the manifest.
func (h *HostProbe) Absent() []string { return h.absent }

// Sample reads every source.
func (h *HostProbe) Sample(_ context.Context, t time.Time) ([]series.Sample, error) {
	h.out.reset()
	h.cpu.elapsed = 0
	if !h.lastT.IsZero() {
		h.cpu.elapsed = t.Sub(h.lastT)
	}
	h.disks.elapsed = h.cpu.elapsed
	h.lastT = t
	err := h.sources.sample(&h.out)
	return h.out.s, err
}

// Close closes the files that Sample keeps open.
func (h *HostProbe) Close() error { return h.sources.close() }

// ownCPUStat finds the cpu.stat of this program's cgroup, of version 1 or 2. It is empty if there
// is none.
func ownCPUStat(proc, sys string) string {
	text, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return ""
	}
	dirs := groupDirs(string(text), sys)
	if dir := cmp.Or(dirs["cpu"], dirs[""]); dir != "" {
		return filepath.Join(dir, "cpu.stat")
	}
	return ""
}
