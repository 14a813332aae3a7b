package health

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/watch/probe"
)

// A fileHost simulates a host by its kernel files, a copy of the files that the probes' tests use.
type fileHost struct {
	t      *testing.T
	proc   string
	probe  *probe.HostProbe
	now    time.Time
	values map[string]float64
}

func newFileHost(t *testing.T) *fileHost {
	f := &fileHost{t: t, proc: filepath.Join(t.TempDir(), "proc"), now: time.Now()}
	if err := os.CopyFS(f.proc, os.DirFS("../../watch/probe/testdata/proc")); err != nil {
		t.Fatal(err)
	}
	host, err := probe.NewHost(probe.HostOptions{
		Proc: f.proc,
		Sys:  "../../watch/probe/testdata/sys",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	f.probe = host
	return f
}

// grow adds to a counter of a file that has names and numbers on separate lines.
func (f *fileHost) grow(file, line, name string, by int) {
	f.t.Helper()
	f.change(file, func(lines []string) {
		for i := range len(lines) - 1 {
			names, numbers := strings.Fields(lines[i]), strings.Fields(lines[i+1])
			if at := slices.Index(names, name); at > 0 && names[0] == line+":" {
				add(f.t, numbers, at, by, 10)
				lines[i+1] = strings.Join(numbers, " ")
				return
			}
		}
		f.t.Fatalf("%s has no %s", file, name)
	})
}

// column adds to a number of a line that begins with some text.
func (f *fileHost) column(file, begin string, at, by int) {
	f.t.Helper()
	base := 10
	if file == "net/softnet_stat" {
		base = 16
	}
	f.change(file, func(lines []string) {
		for i, l := range lines {
			if fields := strings.Fields(l); strings.HasPrefix(strings.TrimSpace(l), begin) {
				add(f.t, fields, at, by, base)
				lines[i] = strings.Join(fields, " ")
				return
			}
		}
		f.t.Fatalf("%s has no line %s", file, begin)
	})
}

func add(t *testing.T, fields []string, at, by, base int) {
	t.Helper()
	n, err := strconv.ParseInt(fields[at], base, 64)
	if err != nil {
		t.Fatal(err)
	}
	fields[at] = strconv.FormatInt(n+int64(by), base)
}

func (f *fileHost) change(file string, do func(lines []string)) {
	f.t.Helper()
	path := filepath.Join(f.proc, file)
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	do(lines)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// second samples the host a second later, under the keys of a probe here, or of the agent with that
// number.
func (f *fileHost) second(agent int) {
	f.t.Helper()
	f.now, f.values = f.now.Add(time.Second), map[string]float64{}
	for _, core := range []string{"cpu0", "cpu1"} {
		f.column("stat", core, 4, 100) // idle
	}
	samples, err := f.probe.Sample(f.t.Context(), f.now)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, s := range samples {
		switch {
		case agent >= 0 && len(s.Labels) == 0:
			f.values[ofHost(s.Name, "", agent)] = s.Value
		case agent < 0 && len(s.Labels) == 0:
			f.values[s.Name] = s.Value
		case agent < 0 && len(s.Labels) == 1:
			f.values[fmt.Sprintf("%s{%s=%q}", s.Name, s.Labels[0].Name, s.Labels[0].Value)] = s.Value
		}
	}
}

func (f *fileHost) last(key string) (float64, time.Time, bool) {
	v, ok := f.values[key]
	return v, f.now, ok
}

// What the generator's host threw away of what it received is a gate; what was sent again, or
// dropped at a full accept queue, is not the generator's doing.
func TestDropsOfTheHost(t *testing.T) {
	gates := plan.DefaultGates()
	gate := gates[slices.IndexFunc(gates, func(g plan.Gate) bool { return g.Name == "drops" })]
	for name, tt := range map[string]struct {
		each  func(f *fileHost) // second
		want  float64
		level string
	}{
		"nothing lost": {func(*fileHost) {}, 0, ""},
		"sent again": {func(f *fileHost) {
			f.grow("net/snmp", "Tcp", "RetransSegs", 500)
		}, 0, ""},
		"lost when sent again": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "TCPLostRetransmit", 500)
		}, 0, ""},
		"full accept queue": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "ListenDrops", 500)
		}, 0, ""},
		"full receive buffers": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "RcvPruned", 2)
		}, 0.02, ""},
		"full backlogs": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "TCPBacklogDrop", 30)
		}, 0.3, "amber"},
		"full queues": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "TCPRcvQDrop", 60)
		}, 0.6, "red"},
		"out of order": {func(f *fileHost) {
			f.grow("net/netstat", "TcpExt", "OfoPruned", 20)
		}, 0.2, "amber"},
		"its device": {func(f *fileHost) {
			f.column("net/dev", "eth0:", 4, 62)
		}, 0.6, "red"},
		"announcements": {func(f *fileHost) { f.column("net/dev", "eth0:", 4, 2) }, 0, ""},
		"its device, sending": {func(f *fileHost) {
			f.column("net/dev", "eth0:", 12, 22)
		}, 0.2, "amber"},
		"another device": {func(f *fileHost) { f.column("net/dev", "ifb0:", 4, 60) }, 0, ""},
		"before the protocols": {func(f *fileHost) {
			f.column("net/softnet_stat", "0003", 1, 60)
		}, 0.6, "red"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFileHost(t)
			h := newHealth(f.last, clock.New(f.now), nil, false)
			h.of.Device = "eth0"
			var got trial.Reading
			for i := range 15 {
				f.grow("net/snmp", "Tcp", "InSegs", 10_000)
				tt.each(f)
				f.second(-1)
				for range 2 { // one sample counts once
					got = h.Health(1, 1)["drops"]
				}
				if few := strings.Contains(got.Why, "too few"); few != (i == 0) {
					t.Errorf("after %d samples: %+v", i+1, got)
				}
			}
			if got.Why != "" || got.Value < tt.want-1e-9 || got.Value > tt.want+1e-9 ||
				gate.Level(got.Value) != tt.level {
				t.Errorf("%+v, %q; want %v %%, %q", got, gate.Level(got.Value), tt.want, tt.level)
			}
		})
	}
	if record.GateCause("drops") != record.ByGenerator {
		t.Error("drops of the generator's host are not its own")
	}
}

// Of hosts of agents the worst counts. After another boot of the host the counters begin anew.
func TestDropsElsewhere(t *testing.T) {
	a, b := newFileHost(t), newFileHost(t)
	h := newHealth(func(key string) (float64, time.Time, bool) {
		if v, ok := a.values[key]; ok {
			return v, a.now, true
		}
		return b.last(key)
	}, clock.New(a.now), nil, false)
	h.of.Agents, h.agents.hosts = 2, []*agentsHost{{cores: 1}, {cores: 1}}
	read := func(n int) (rd trial.Reading) {
		for range n {
			for k, f := range []*fileHost{a, b} {
				f.grow("net/snmp", "Tcp", "InSegs", 10_000)
				f.grow("net/netstat", "TcpExt", "TCPBacklogDrop", 10+20*k)
				f.second(k)
			}
			rd = h.Health(1, 1)["drops"]
		}
		return rd
	}
	if rd := read(12); rd.Why != "" || rd.Value < 0.3-1e-9 || rd.Value > 0.3+1e-9 {
		t.Errorf("%+v, want that of the worse, 0.3 %%", rd)
	}
	b.grow("net/snmp", "Tcp", "InSegs", -400_000)
	b.grow("net/netstat", "TcpExt", "TCPBacklogDrop", -100)
	if rd := read(1); !strings.Contains(rd.Why, "too few") {
		t.Errorf("after another boot: %+v", rd)
	}
	if rd := read(2); rd.Why != "" || rd.Value < 0.3-1e-9 || rd.Value > 0.3+1e-9 {
		t.Errorf("later: %+v", rd)
	}
}

// Where the target is behind the same stack, sockets without room may be its own. The queues before
// the protocols are neither's.
func TestDropsOfOneStack(t *testing.T) {
	f := newFileHost(t)
	h := newHealth(f.last, clock.New(f.now), nil, true)
	read := func(n, segments, socket, queue int) (rd trial.Reading) {
		for range n {
			f.grow("net/snmp", "Tcp", "InSegs", segments)
			f.grow("net/netstat", "TcpExt", "TCPBacklogDrop", socket)
			f.column("net/softnet_stat", "0003", 1, queue)
			f.second(-1)
			rd = h.Health(1, 1)["drops"]
		}
		return rd
	}
	if rd := read(12, 10_000, 500, 0); rd != (trial.Reading{}) {
		t.Errorf("sockets: %+v", rd)
	}
	if rd := read(12, 10_000, 500, 60); rd.Why != "" || rd.Value < 0.6-1e-9 || rd.Value > 0.6+1e-9 {
		t.Errorf("queues: %+v, want 0.6 %%", rd)
	}
	if rd := read(12, 10, 0, 0); rd != (trial.Reading{}) {
		t.Errorf("few segments, of which none is lost: %+v", rd)
	}
	if rd := read(2, 10, 0, 1); !strings.Contains(rd.Why, "too few") {
		t.Errorf("few segments, of which some are lost: %+v", rd)
	}
}
