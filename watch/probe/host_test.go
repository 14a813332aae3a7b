package probe

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }

// text prints samples one a line.
func text(s []series.Sample) string {
	var b strings.Builder
	for i := range s {
		b.Write(s[i].AppendKey(nil))
		fmt.Fprintf(&b, " %v\n", s[i].Value)
	}
	return b.String()
}

// values maps the samples by key and fails on a series that occurs twice.
func values(t testing.TB, s []series.Sample) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for i := range s {
		k := string(s[i].AppendKey(nil))
		if _, dup := m[k]; dup {
			t.Errorf("series %s occurs twice", k)
		}
		m[k] = s[i].Value
	}
	return m
}

// The recorded files of a real host (two cores, Linux 6.18) give exactly this.
func TestHostGolden(t *testing.T) {
	h, err := NewHost(HostOptions{
		Proc:  "testdata/proc",
		Sys:   "testdata/sys",
		Roles: map[string][]int{"target": {0}},
	})
	failure.None(t, err)
	defer h.Close()
	s, err := h.Sample(t.Context(), at(0))
	failure.None(t, err)
	values(t, s)
	got := text(s)
	golden := "testdata/host.golden"
	if *update {
		failure.None(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	failure.None(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(h.Absent()) != 0 {
		t.Errorf("Absent = %v, want none", h.Absent())
	}
	// The same files again: the counters stand still although a second has passed.
	failure.Says(t, failure.Of(h.Sample(t.Context(), at(1))), "no tick has passed")
}

// copyProc makes a copy of the recorded host that a test may spoil.
func copyProc(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "proc")
	failure.None(t, os.CopyFS(dir, os.DirFS("testdata/proc")))
	return dir
}

func TestHostMissingSources(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(dir string) error
		err    string
		absent []string
	}{
		"no stat": {func(d string) error { return os.Remove(d + "/stat") }, "stat:", nil},
		"no snmp": {func(d string) error {
			return os.Remove(d + "/net/snmp")
		}, "net/snmp:", nil},
		"empty meminfo": {func(d string) error {
			return os.Truncate(d+"/meminfo", 0)
		}, "is empty", nil},
		"pressure off": {func(d string) error { return os.RemoveAll(d + "/pressure") }, "",
			[]string{"pressure/cpu", "pressure/io", "pressure/memory", "pressure/irq"}},
		"no conntrack": {func(d string) error {
			return errors.Join(os.RemoveAll(d+"/sys/net"), os.RemoveAll(d+"/net/stat"))
		}, "",
			[]string{"sys/net/netfilter/nf_conntrack_count", "sys/net/netfilter/nf_conntrack_max", "net/stat/nf_conntrack"}},
		"no schedstat, no version 6": {func(d string) error {
			return errors.Join(os.Remove(d+"/schedstat"), os.Remove(d+"/net/sockstat6"))
		}, "",
			[]string{"schedstat", "net/sockstat6"}},
		"root of cgroup version 2": {func(d string) error {
			return os.WriteFile(d+"/self/cgroup", []byte("0::/\n"), 0o666)
		}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyProc(t)
			failure.None(t, c.spoil(dir))
			h, err := NewHost(HostOptions{Proc: dir, Sys: "testdata/sys"})
			if c.err != "" {
				failure.Says(t, err, c.err)
				return
			}
			failure.None(t, err)
			defer h.Close()
			if !slices.Equal(h.Absent(), c.absent) {
				t.Errorf("Absent = %q, want %q", h.Absent(), c.absent)
			}
			s, err := h.Sample(t.Context(), at(0))
			failure.None(t, err)
			for k := range values(t, s) {
				if name == "pressure off" && strings.Contains(k, "pressure") ||
					name == "no conntrack" && strings.Contains(k, "conntrack") {
					t.Errorf("absent source gives %s", k)
				}
			}
		})
	}
}

// A source that was there and cannot be read any more is an error; the others go on.
func TestHostSourceThatEnds(t *testing.T) {
	dir := copyProc(t)
	h, err := NewHost(HostOptions{Proc: dir, Sys: "testdata/sys"})
	failure.None(t, err)
	defer h.Close()
	failure.None(t, os.Truncate(dir+"/pressure/io", 0))
	s, err := h.Sample(t.Context(), at(0))
	failure.Says(t, err, "pressure/io")
	m := values(t, s)
	if _, ok := m["node_pressure_io_waiting_seconds_total"]; ok {
		t.Error("a source that could not be read gave a sample")
	}
	if m["node_pressure_cpu_waiting_seconds_total"] == 0 || m["node_load1"] == 0 {
		t.Error("the other sources are missing")
	}
}

func TestHostRoles(t *testing.T) {
	for name, roles := range map[string]map[string][]int{
		"reserved": {"host": {0}},
		"no name":  {"": {0}},
		"no cores": {"app": {}},
		"core 7":   {"app": {0, 7}},
		"negative": {"app": {-1}},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := NewHost(HostOptions{Proc: "testdata/proc", Sys: "testdata/sys", Roles: roles})
			if err == nil {
				// A core that is not there shows with the first sample that forms ratios.
				_, err = h.Sample(t.Context(), at(0))
				h.Close()
			}
			failure.Says(t, err, "role")
		})
	}
}

func TestCPUShares(t *testing.T) {
	c, err := newCPUStat(map[string][]int{"target": {0}, "generator": {1}, "both": {0, 1}})
	failure.None(t, err)
	var k sink
	step := func(s string) map[string]float64 {
		t.Helper()
		k.reset()
		c.elapsed = time.Second
		failure.None(t, c.parse([]byte(s), &k))
		return values(t, k.s)
	}
	// user nice system idle iowait irq softirq steal guest guest_nice
	m := step(
		"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 0 50 800 50 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nctxt 5\n",
	)
	if _, ok := m[`plimsoll_cpu_busy_ratio{role="target"}`]; ok {
		t.Error("the first sample has a ratio")
	}
	if got := m[`node_cpu_seconds_total{cpu="0",mode="idle"}`]; got != 8 {
		t.Errorf("idle = %v s, want 8", got)
	}
	// core 0: 60 user (of which 30 guest), 10 softirq, 5 steal, 20 idle, 5 iowait; core 1: 10
	// system, 90 idle, and iowait steps back.
	m = step("cpu0 160 0 50 820 55 0 10 5 30 0\ncpu1 0 0 10 1090 0 0 0 0 0 0\n")
	for key, want := range map[string]float64{
		`plimsoll_cpu_busy_ratio{role="target"}`:            0.75,
		`plimsoll_cpu_busy_ratio{role="generator"}`:         0.10,
		`plimsoll_cpu_busy_ratio{role="both"}`:              0.425,
		`plimsoll_cpu_busy_ratio{role="host"}`:              0.425,
		`plimsoll_cpu_busy_hottest_ratio{role="both"}`:      0.75,
		`plimsoll_cpu_busy_hottest_ratio{role="host"}`:      0.75,
		`plimsoll_cpu_steal_ratio{role="target"}`:           0.05,
		`plimsoll_cpu_steal_ratio{role="generator"}`:        0,
		`node_cpu_seconds_total{cpu="0",mode="user"}`:       1.6,
		`node_cpu_seconds_total{cpu="0",mode="steal"}`:      0.05,
		`node_cpu_seconds_total{cpu="1",mode="system"}`:     0.1,
		`plimsoll_cpu_busy_hottest_ratio{role="generator"}`: 0.1,
	} {
		if got, ok := m[key]; !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v (there: %v), want %v", key, got, ok, want)
		}
	}
	// iowait of core 1 steps back by a tick: it counts as no time, not as 2^64.
	step("cpu0 170 0 50 830 55 0 10 5 30 0\ncpu1 0 0 10 1100 7 0 0 0 0 0\n")
	m = step("cpu0 180 0 50 840 55 0 10 5 30 0\ncpu1 50 0 10 1150 6 0 0 0 0 0\n")
	if got := m[`plimsoll_cpu_busy_ratio{role="generator"}`]; got != 0.5 {
		t.Errorf("busy with a counter that steps back = %v, want 0.5", got)
	}
	// Core 1 goes offline: an error for its roles, and no number.
	k.reset()
	err = c.parse([]byte("cpu0 190 0 50 850 55 0 10 5 30 0\n"), &k)
	failure.Says(t, err, `core 1 of role "generator"`, `role "both"`)
	m = values(t, k.s)
	if _, ok := m[`plimsoll_cpu_busy_ratio{role="generator"}`]; ok {
		t.Error("a role with a missing core has a ratio")
	}
	if got := m[`plimsoll_cpu_busy_ratio{role="target"}`]; got != 0.5 {
		t.Errorf("the other role = %v, want 0.5", got)
	}
}

func TestStatWithoutSteal(t *testing.T) {
	c, err := newCPUStat(nil)
	failure.None(t, err)
	var k sink
	for i, s := range []string{"cpu0 0 0 0 0 0 0 0\n", "cpu0 25 0 0 75 0 0 0\n"} {
		k.reset()
		c.elapsed = time.Second
		if err := c.parse([]byte(s), &k); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	m := values(t, k.s)
	if got := m[`plimsoll_cpu_busy_ratio{role="host"}`]; got != 0.25 {
		t.Errorf("busy = %v, want 0.25", got)
	}
	for key := range maps.Keys(m) {
		if strings.Contains(key, "steal") {
			t.Errorf("the kernel has no steal, but there is %s = %v", key, m[key])
		}
	}
}

// outSegs reads one counter that must be there.
func outSegs() *netstat {
	return &netstat{want: map[string]map[string]bool{"Tcp": {"OutSegs": true}}}
}

// Odd files: every one must give a specific error, or the samples that are listed.
func TestOddFiles(t *testing.T) {
	stat := func() func([]byte, *sink) error { c, _ := newCPUStat(nil); return c.parse }
	for name, c := range map[string]struct {
		parse func([]byte, *sink) error
		in    string
		want  string // samples
		err   string
	}{
		"stat: no cores":           {stat(), "cpu  1 2 3 4\nctxt 7\n", "node_context_switches_total 7\n", "no line of a core"},
		"stat: three columns":      {stat(), "cpu0 1 2 3\n", "", "3 columns"},
		"stat: a word":             {stat(), "cpu0 1 2 x 4\n", "", "not a number"},
		"stat: a huge core":        {stat(), "cpu99999999 1 2 3 4\n", "", "core number"},
		"stat: binary":             {stat(), "\x00\xff\xfe", "", "no line of a core"},
		"loadavg":                  {parseLoadavg, "0.01 12.50 100 1/2 3\n", "node_load1 0.01\nnode_load5 12.5\nnode_load15 100\n", ""},
		"loadavg: short":           {parseLoadavg, "0.01\n", "node_load1 0.01\n", "node_load5"},
		"meminfo: no MemAvailable": {newTable(memNames).parse, "MemTotal: 10 kB\nMemFree: 5 kB\n", "node_memory_MemTotal_bytes 10240\nnode_memory_MemFree_bytes 5120\n", "2 of the 3"},
		"meminfo: a word":          {newTable(memNames).parse, "MemTotal: many kB\n", "", "MemTotal"},
		"vmstat: other things":     {newTable(vmNames).parse, "nr_free_pages 1\n", "", "not offered"},
		"pressure: no full":        {pressure("node", "cpu"), "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n", "node_pressure_cpu_waiting_seconds_total 1.5\n", ""},
		"pressure: no total":       {pressure("node", "cpu"), "some avg10=0.00\n", "", "has no total"},
		"pressure: nothing":        {pressure("node", "cpu"), "\n", "", `no line "some"`},
		"file-nr":                  {parseFileNr, "702\t2\t2470938\n", "node_filefd_allocated 700\nnode_filefd_maximum 2.470938e+06\n", ""},
		"file-nr: short":           {parseFileNr, "702\n", "", "not a number"},
		"cgroup v2": {throttling("app"), "usage_usec 5\nnr_periods 10\nnr_throttled 2\nthrottled_usec 500000\n",
			"container_cpu_cfs_periods_total{role=\"app\"} 10\ncontainer_cpu_cfs_throttled_periods_total{role=\"app\"} 2\ncontainer_cpu_cfs_throttled_seconds_total{role=\"app\"} 0.5\n", ""},
		"cgroup v2 root": {throttling("app"), "usage_usec 5\nuser_usec 3\n", "", "not offered"},
		"diskstats: old kernel, partition, loop": {(&disks{}).parse, "   8       0 sda 10 0 4 500 20 0 8 1500 1 2000 2500\n   8       1 sda1 1 1 1 1 1 1 1 1 1 1 1\n   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n",
			"node_disk_reads_completed_total{device=\"sda\"} 10\nnode_disk_read_bytes_total{device=\"sda\"} 2048\nnode_disk_read_time_seconds_total{device=\"sda\"} 0.5\nnode_disk_writes_completed_total{device=\"sda\"} 20\nnode_disk_written_bytes_total{device=\"sda\"} 4096\nnode_disk_write_time_seconds_total{device=\"sda\"} 1.5\nnode_disk_io_now{device=\"sda\"} 1\nnode_disk_io_time_seconds_total{device=\"sda\"} 2\nnode_disk_io_time_weighted_seconds_total{device=\"sda\"} 2.5\n", ""},
		"diskstats: short":    {(&disks{}).parse, "8 0 sda 10\n", "node_disk_reads_completed_total{device=\"sda\"} 10\n", "not a number"},
		"diskstats: no disks": {(&disks{}).parse, "", "", ""},
		"snmp: no RetransSegs": {(&netstat{want: map[string]map[string]bool{"Tcp": {
			"RetransSegs": true,
			"OutSegs":     true,
		}}}).parse,
			"Tcp: InSegs OutSegs\nTcp: 5 6\n", "node_netstat_Tcp_OutSegs 6\n", "Tcp has no counter RetransSegs"},
		"snmp: MaxConn is negative": {outSegs().parse,
			"Tcp: MaxConn OutSegs\nTcp: -1 6\n", "node_netstat_Tcp_OutSegs 6\n", ""},
		"snmp: too few numbers": {outSegs().parse,
			"Tcp: InSegs OutSegs\nTcp: 5\n", "", "2 names but 1 numbers"},
		"snmp: other protocol's numbers": {outSegs().parse,
			"Tcp: OutSegs\nUdp: 5\n", "", "do not follow"},
		"snmp: names only":   {outSegs().parse, "Tcp: OutSegs\n", "", "names without numbers"},
		"snmp: no Tcp":       {outSegs().parse, "Ip: A\nIp: 1\n", "", "protocol Tcp is not there"},
		"sockstat: no TCP":   {parseSockstat, "sockets: used 15\n", "node_sockstat_sockets_used 15\n", "no line of TCP"},
		"dev: glued":         {(&netdev{}).parse, "Inter-|x\n face |y\n  eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "node_network_receive_bytes_total{device=\"eth0\"} 1\nnode_network_receive_packets_total{device=\"eth0\"} 2\nnode_network_receive_errs_total{device=\"eth0\"} 3\nnode_network_receive_drop_total{device=\"eth0\"} 4\nnode_network_receive_fifo_total{device=\"eth0\"} 5\nnode_network_transmit_bytes_total{device=\"eth0\"} 9\nnode_network_transmit_packets_total{device=\"eth0\"} 10\nnode_network_transmit_errs_total{device=\"eth0\"} 11\nnode_network_transmit_drop_total{device=\"eth0\"} 12\nnode_network_transmit_fifo_total{device=\"eth0\"} 13\n", ""},
		"dev: headings only": {(&netdev{}).parse, "Inter-|x\n face |y\n", "", "no device"},
		"softnet: old kernel without core numbers": {(&softnet{}).parse, "0000000f 00000001 00000002\n000000ff 00000000 00000000\n",
			"node_softnet_processed_total{cpu=\"0\"} 15\nnode_softnet_dropped_total{cpu=\"0\"} 1\nnode_softnet_times_squeezed_total{cpu=\"0\"} 2\nnode_softnet_processed_total{cpu=\"1\"} 255\nnode_softnet_dropped_total{cpu=\"1\"} 0\nnode_softnet_times_squeezed_total{cpu=\"1\"} 0\n", ""},
		"softnet: a word": {(&softnet{}).parse, "0000000g 0 0\n", "", "not a number"},
		"schedstat": {(&schedstat{}).parse, "version 17\ntimestamp 1\ncpu1 0 0 0 0 0 0 1500000000 250000000 9\ndomain0 MC 3 1 2\n",
			"node_schedstat_running_seconds_total{cpu=\"1\"} 1.5\nnode_schedstat_waiting_seconds_total{cpu=\"1\"} 0.25\nnode_schedstat_timeslices_total{cpu=\"1\"} 9\n", ""},
		"schedstat: short":      {(&schedstat{}).parse, "cpu0 0 0 0 0 0 0 15\n", "", "not a number"},
		"schedstat: no core":    {(&schedstat{}).parse, "version 17\n", "", "no line of a core"},
		"pressure: irq":         {pressure("node", "irq"), "full avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n", "node_pressure_irq_stalled_seconds_total 2.5\n", ""},
		"sockstat6":             {parseSockstat6, "TCP6: inuse 12\nUDP6: inuse 0\n", "node_sockstat_TCP6_inuse 12\n", ""},
		"sockstat6: no TCP":     {parseSockstat6, "UDP6: inuse 0\n", "", "not offered"},
		"conntrack":             {parseConntrack, "entries  found insert_failed drop\n0000000a  00000001 00000002 00000010\n0000000a  00000000 00000001 00000001\n", "node_nf_conntrack_stat_found 1\nnode_nf_conntrack_stat_insert_failed 3\nnode_nf_conntrack_stat_drop 17\n", ""},
		"conntrack: names only": {parseConntrack, "entries  found\n", "", "no line of a core"},
		"conntrack: a word":     {parseConntrack, "entries  found\n0000000a none\n", "", "line 2"},
		"conntrack: twice":      {parseConntrack, "drop drop\n1 2\n", "node_nf_conntrack_stat_drop 1\n", "there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var k sink
			err := c.parse([]byte(c.in), &k)
			failure.Want(t, err, c.err)
			if d := cmp.Diff(c.want, text(k.s)); d != "" {
				t.Errorf("samples (-want +got):\n%s", d)
			}
		})
	}
}

// The values of iostat for a second in which four operations took 100 ms together on a disk that
// was busy for 60 of them.
func TestDiskRates(t *testing.T) {
	d := &disks{}
	line := func(reads, readMs, writes, writeMs, busyMs, weightedMs int) []byte {
		return fmt.Appendf(
			nil,
			"   8       0 sda %d 0 4 %d %d 0 8 %d 1 %d %d\n",
			reads,
			readMs,
			writes,
			writeMs,
			busyMs,
			weightedMs,
		)
	}
	var k sink
	for i, in := range [][]byte{line(10, 500, 20, 1500, 2000, 2500), line(11, 510, 23, 1590, 2060, 2600), line(11, 510, 23, 1590, 2060, 2600)} {
		k.reset()
		if d.elapsed = 0; i > 0 {
			d.elapsed = time.Second
		}
		failure.None(t, d.parse(in, &k))
		got := map[string]float64{}
		for key, v := range values(t, k.s) {
			if name, ok := strings.CutPrefix(key, "plimsoll_disk_"); ok {
				got[name] = v
			}
		}
		want := []map[string]float64{
			{},
			{
				`await_seconds{device="sda"}`: 0.025,
				`busy_ratio{device="sda"}`:    0.06,
				`queue_length{device="sda"}`:  0.1,
			},
			// no operation, no time of one
			{`busy_ratio{device="sda"}`: 0, `queue_length{device="sda"}`: 0},
		}[i]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sample %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestSkipDisk(t *testing.T) {
	for name, want := range map[string]bool{
		"sda":       false,
		"sda1":      true,
		"vda":       false,
		"vdb12":     true,
		"xvda1":     true,
		"nvme0n1":   false,
		"nvme0n1p1": true,
		"mmcblk0":   false,
		"mmcblk0p2": true,
		"loop0":     true,
		"zram0":     true,
		"ram1":      true,
		"dm-0":      false,
		"md127":     false,
		"sr0":       true,
	} {
		if got := skippedDisk.MatchString(name); got != want {
			t.Errorf("%s is skipped: %v, want %v", name, got, want)
		}
	}
}

// The layout of a protocol is kept between samples; a kernel cannot change it, a namespace can.
func TestNetstatLayoutChanges(t *testing.T) {
	n := outSegs()
	for _, c := range []struct{ in, want string }{
		{"Tcp: OutSegs InSegs\nTcp: 1 2\n", "node_netstat_Tcp_OutSegs 1\n"},
		{"Tcp: OutSegs InSegs\nTcp: 3 4\n", "node_netstat_Tcp_OutSegs 3\n"},
		{"Tcp: InSegs OutSegs\nTcp: 5 6\n", "node_netstat_Tcp_OutSegs 6\n"},
	} {
		var k sink
		if err := n.parse([]byte(c.in), &k); err != nil || text(k.s) != c.want {
			t.Errorf("%q gives %q, %v; want %q", c.in, text(k.s), err, c.want)
		}
	}
}

func FuzzHostParsers(f *testing.F) {
	for _, p := range []string{"stat", "net/snmp", "net/netstat", "net/dev", "diskstats", "meminfo", "pressure/cpu", "net/softnet_stat", "net/sockstat", "net/sockstat6", "schedstat", "net/stat/nf_conntrack"} {
		b, err := os.ReadFile("testdata/proc/" + p)
		failure.None(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, _ := newCPUStat(map[string][]int{"a": {1}})
		for _, parse := range []func([]byte, *sink) error{
			c.parse, c.parse, parseLoadavg, newTable(memNames).parse, pressure("node", "io"), parseFileNr, throttling("x"), (&disks{}).parse,
			(&netstat{want: snmpWant}).parse, (&netstat{want: netstatWant}).parse, (&netdev{}).parse, parseSockstat, (&softnet{}).parse,
			(&schedstat{}).parse, parseSockstat6, parseConntrack, pressure("node", "irq"),
		} {
			var k sink
			_ = parse(b, &k)
			for _, s := range k.s {
				if s.Name == "" || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.Value < 0 {
					t.Fatalf("sample %+v", s)
				}
			}
		}
		x := &process{}
		_ = x.parseStat(b)
		_, _ = parseFDLimit(b)
	})
}
