package probe

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Roles are the parts that a host can play in a test.
var Roles = []string{"agent", "proxy", "app", "db"}

// A Severity is the importance of a finding for a test.
type Severity string

// The severities, the worst first.
const (
	Problem Severity = "problem" // it will spoil a test of the usual size
	Advice  Severity = "advice"  // it may, or makes runs differ more than they need to
	Unknown Severity = "unknown" // it could not be read here
	Good    Severity = "good"
)

// A HostFinding is one limit or setting of a host: its value, the value needed for the role and the
// reason, and the command that mends it. Nothing is ever changed.
type HostFinding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Have     string   `json:"have"`
	Want     string   `json:"want,omitempty"`
	Why      string   `json:"why,omitempty"`
	// shell command for root; empty if none is needed or helps
	Fix string `json:"fix,omitempty"`
}

// Doctor examines this host for a role of [Roles], the worst findings first.
func Doctor(role string) ([]HostFinding, error) {
	if !slices.Contains(Roles, role) {
		return nil, fmt.Errorf("role %q: want one of %s", role, strings.Join(Roles, ", "))
	}
	return examine(patient{
		files:    os.DirFS("/"),
		rings:    ringsOf,
		offloads: offloadsOf,
		synced:   clockSynced,
	}, role), nil
}

// A patient is a host, or a recording of one.
type patient struct {
	files    fs.FS // of its root directory
	rings    func(device string) (ring, error)
	offloads func(device string) (map[string]bool, error)
	synced   func() (bool, error) // the kernel's clock follows another
}

// A ring is the length of a network device's queues, and their maxima.
type ring struct{ rx, tx, rxMax, txMax uint32 }

// A chart collects findings.
type chart struct {
	patient
	role string
	out  []HostFinding
}

func examine(p patient, role string) []HostFinding {
	c := &chart{patient: p, role: role}
	c.limits()
	c.sysctls()
	c.conntrack()
	c.devices()
	c.clock()
	c.processor()
	c.memory()
	c.cgroup()
	c.profiling()
	order := []Severity{Problem, Advice, Unknown, Good}
	slices.SortStableFunc(c.out, func(a, b HostFinding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return c.out
}

func (c *chart) is(roles ...string) bool { return slices.Contains(roles, c.role) }

// read returns a small file without the space around it, "" if it is not there.
func (c *chart) read(name string) string {
	b, err := fs.ReadFile(c.files, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (c *chart) add(f HostFinding) { c.out = append(c.out, f) }

// unread adds a finding that could not be made.
func (c *chart) unknown(f HostFinding, have string) {
	f.Severity = Unknown
	f.Have = have
	f.Fix = ""
	c.add(f)
}

const unread = "could not be read"

// judge adds a finding that is good, or of the given severity with its remedy.
func (c *chart) judge(good bool, bad Severity, f HostFinding) {
	f.Severity = bad
	if good {
		f.Severity = Good
		f.Fix = ""
		f.Why = ""
	}
	c.add(f)
}

// limits checks the limits of one process.
func (c *chart) limits() {
	text := c.read("proc/self/limits")
	for _, l := range []struct {
		line, check, why, fix string
		want                  int64
		bad                   Severity
	}{
		{"Max open files", "open files", "every connection is one; a simulated user keeps two, a server one for each of them and more for its database",
			"echo '* - nofile 100000' >>/etc/security/limits.conf  # and log in again; for a service: LimitNOFILE=100000", 100_000, Problem},
		{"Max processes", "processes", "threads count too", "echo '* - nproc 8192' >>/etc/security/limits.conf  # and log in again", 8192, Advice},
	} {
		have := limitOf(text, l.line)
		f := HostFinding{
			Check: l.check,
			Have:  have,
			Want:  fmt.Sprint("at least ", l.want),
			Why:   l.why,
			Fix:   l.fix,
		}
		switch n, err := strconv.ParseInt(have, 10, 64); {
		case have == "unlimited":
			c.judge(true, l.bad, f)
		case err != nil:
			c.unknown(f, unread)
		default:
			c.judge(n >= l.want, l.bad, f)
		}
	}
}

// limitOf returns the hard limit in a line of /proc/PID/limits: programs of ours raise the soft one
// to it.
func limitOf(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) >= 2 {
				return f[1]
			}
		}
	}
	return ""
}

// A sysctl is a setting that a role needs. Unless a note gives another source, the values are those
// with which the load tests of the reports that this program replaces tuned their hosts (reference
// study, "Kernel and process tuning").
type sysctl struct {
	name  string
	want  string
	good  func(have []int64) bool // nil: have equals want
	why   string
	bad   Severity
	roles []string
}

func atLeast(want ...int64) func([]int64) bool {
	return func(have []int64) bool {
		for i, w := range want {
			if i >= len(have) || have[i] < w {
				return false
			}
		}
		return true
	}
}

// last compares the last number alone: of minimum, default and maximum, the maximum.
func last(want int64) func([]int64) bool {
	return func(have []int64) bool { return len(have) > 0 && have[len(have)-1] >= want }
}

var (
	dialing = []string{"agent", "proxy", "app"}
	serving = []string{"proxy", "app"}
)

var sysctls = []sysctl{
	{"net.ipv4.ip_local_port_range", "1025 65000", func(h []int64) bool {
		return len(h) == 2 && h[1]-h[0] >= 55_000
	},
		"each source address has so many connections to one destination; users beyond them get EADDRNOTAVAIL", Problem, dialing},
	{"net.ipv4.tcp_fin_timeout", "30", func(h []int64) bool {
		return len(h) == 1 && h[0] <= 30
	}, "closed connections hold their ports that long", Advice, dialing},
	{
		"net.ipv4.tcp_tw_reuse",
		"1",
		nil,
		"ports of closed connections can be used again at once; 2, the kernel's default, does it on the loopback device only",
		Advice,
		dialing,
	},
	{
		"net.core.somaxconn",
		"4096",
		atLeast(4096),
		"connections that wait to be accepted; beyond it they are dropped, and users wait a second for the next try",
		Problem,
		serving,
	},
	{
		"net.ipv4.tcp_max_syn_backlog",
		"8192",
		atLeast(8192),
		"connections that are being made; a storm of users reconnecting overflows a small one",
		Advice,
		serving,
	},
	{
		"net.ipv4.tcp_slow_start_after_idle",
		"0",
		nil,
		"connections of users who think would begin each answer with a small window",
		Advice,
		serving,
	},
	{
		"net.ipv4.tcp_rmem",
		"4096 156250 2500000",
		last(2_500_000),
		"receive buffer of a connection",
		Advice,
		serving,
	},
	{
		"net.ipv4.tcp_wmem",
		"4096 156250 2500000",
		last(2_500_000),
		"send buffer of a connection",
		Advice,
		serving,
	},
	{
		"net.core.rmem_max",
		"16777216",
		atLeast(16_777_216),
		"largest receive buffer that a program may ask for",
		Advice,
		serving,
	},
	{
		"net.core.wmem_max",
		"16777216",
		atLeast(16_777_216),
		"largest send buffer that a program may ask for",
		Advice,
		serving,
	},
	{
		"net.ipv4.tcp_rmem",
		"4096 156250 625000",
		last(625_000),
		"receive buffer of a connection",
		Advice,
		[]string{"agent"},
	},
	{
		"net.ipv4.tcp_wmem",
		"4096 156250 625000",
		last(625_000),
		"send buffer of a connection",
		Advice,
		[]string{"agent"},
	},
	{
		"net.ipv4.tcp_mem",
		"1638400 1638400 1638400",
		last(1_638_400),
		"pages for the buffers of all connections; beyond it the kernel drops packets",
		Advice,
		[]string{"agent"},
	},
	{
		"vm.min_free_kbytes",
		"167772",
		atLeast(167_772),
		"memory for packets that arrive in a burst",
		Advice,
		serving,
	},
	{"vm.swappiness", "1", func(h []int64) bool {
		return len(h) == 1 && h[0] <= 10
	}, "memory of a server that was swapped out comes back as latency (practice of databases; not from the study)", Advice, []string{"db"}},
}

func (c *chart) sysctls() {
	for _, s := range sysctls {
		if !slices.Contains(s.roles, c.role) {
			continue
		}
		have := strings.Join(
			strings.Fields(c.read("proc/sys/"+strings.ReplaceAll(s.name, ".", "/"))),
			" ",
		)
		f := HostFinding{
			Check: s.name,
			Have:  have,
			Want:  s.want,
			Why:   s.why,
			Fix:   fmt.Sprintf("sysctl -w %s=%q", s.name, s.want),
		}
		if have == "" {
			c.unknown(f, unread)
			continue
		}
		var numbers []int64
		for w := range strings.FieldsSeq(have) {
			n, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				break
			}
			numbers = append(numbers, n)
		}
		good := have == s.want
		if s.good != nil {
			good = s.good(numbers)
		}
		c.judge(good, s.bad, f)
	}
	if c.is(serving...) {
		qdisc := c.read("proc/sys/net/core/default_qdisc")
		control := c.read("proc/sys/net/ipv4/tcp_congestion_control")
		c.judge(qdisc == "fq" && control == "bbr", Advice, HostFinding{
			Check: "congestion control",
			Have:  strings.TrimSpace(control + " with " + qdisc),
			Want:  "bbr with fq",
			Why:   "answers to distant users; on one host or in one rack it does not matter",
			Fix:   "modprobe tcp_bbr && sysctl -w net.core.default_qdisc=fq net.ipv4.tcp_congestion_control=bbr",
		})
	}
}

// conntrack checks the table of connections of a firewall, if there is one.
func (c *chart) conntrack() {
	most, err := strconv.ParseInt(c.read("proc/sys/net/netfilter/nf_conntrack_max"), 10, 64)
	if err != nil || c.is("db") {
		return // none: nothing to overflow
	}
	now, _ := strconv.ParseInt(c.read("proc/sys/net/netfilter/nf_conntrack_count"), 10, 64)
	c.judge(most >= 262_144 && now < most*7/10, Problem, HostFinding{
		Check: "connection tracking",
		Have:  fmt.Sprintf("%d of %d", now, most),
		Want:  "262144 and less than 70 % used",
		Why:   "a firewall or container network enters every connection here, for two minutes beyond its end; a full table drops packets",
		Fix:   "sysctl -w net.netfilter.nf_conntrack_max=1048576",
	})
}

// devices checks every network device but software ones.
func (c *chart) devices() {
	entries, err := fs.ReadDir(c.files, "sys/class/net")
	if err != nil {
		c.unknown(HostFinding{Check: "network devices"}, unread)
		return
	}
	for _, e := range entries {
		dev := e.Name()
		if _, err := fs.Stat(c.files, path.Join("sys/class/net", dev, "device")); err != nil {
			continue // loopback, bridges, veth: no hardware, no ring
		}
		c.ring(dev)
		c.offload(dev)
	}
}

func (c *chart) ring(dev string) {
	r, err := c.rings(dev)
	if err != nil {
		c.unknown(HostFinding{Check: "ring of " + dev}, "the driver does not tell: "+err.Error())
		return
	}
	// Every user's and every server's packets meet at the receiving end of a proxy.
	bad := Advice
	if c.is("proxy") {
		bad = Problem
	}
	for _, side := range []struct {
		name      string
		have, max uint32
		why       string
		bad       Severity
	}{
		{"rx", r.rx, r.rxMax, "a burst that outsizes the ring is lost and sent again: a comparison on a proxy with rx 1024 of 8192 was flaky until it was raised", bad},
		{"tx", r.tx, r.txMax, "a full ring makes senders wait", Advice},
	} {
		c.judge(side.have >= side.max, side.bad, HostFinding{
			Check: side.name + " ring of " + dev,
			Have:  fmt.Sprintf("%d of %d", side.have, side.max),
			Want:  fmt.Sprint(side.max),
			Why:   side.why,
			Fix: fmt.Sprintf(
				"ethtool -G %s %s %d  # the link may go down for a moment",
				dev,
				side.name,
				side.max,
			),
		})
	}
}

func (c *chart) offload(dev string) {
	on, err := c.offloads(dev)
	if err != nil {
		c.unknown(HostFinding{Check: "offloads of " + dev}, "the driver does not tell: "+err.Error())
		return
	}
	var have, off []string
	for _, name := range []string{"tso", "gso", "gro"} {
		if on[name] {
			have = append(have, name+" on")
		} else {
			have = append(have, name+" off")
			off = append(off, name+" on")
		}
	}
	c.judge(len(off) == 0, Advice, HostFinding{
		Check: "offloads of " + dev,
		Have:  strings.Join(have, ", "),
		Want:  "tso on, gso on, gro on",
		Why:   "without them every packet costs the CPU that the test is about",
		Fix:   "ethtool -K " + dev + " " + strings.Join(off, " "),
	})
}
