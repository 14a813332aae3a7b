package probe

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"plimsoll/internal/failure"
)

// seed001 is the proxy of the study that was flaky: its network card's receive ring had 1024 of
// 8192 places. The rest is tuned as its deployment tool does it.
func seed001() patient {
	files := map[string]string{
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max processes             8192                 8192                 processes \n" +
			"Max open files            1024                 100000               files     \n",
		"proc/self/status":                                     "CapEff:\t0000000000000000\n",
		"proc/sys/kernel/perf_event_paranoid":                  "0\n",
		"proc/sys/kernel/kptr_restrict":                        "0\n",
		"proc/self/cgroup":                                     "0::/system.slice/nginx.service\n",
		"proc/meminfo":                                         "MemTotal: 8000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
		"proc/sys/net/ipv4/ip_local_port_range":                "1025\t65000\n",
		"proc/sys/net/ipv4/tcp_fin_timeout":                    "30\n",
		"proc/sys/net/ipv4/tcp_tw_reuse":                       "1\n",
		"proc/sys/net/core/somaxconn":                          "4096\n",
		"proc/sys/net/ipv4/tcp_max_syn_backlog":                "8192\n",
		"proc/sys/net/ipv4/tcp_slow_start_after_idle":          "0\n",
		"proc/sys/net/ipv4/tcp_rmem":                           "4096\t156250\t2500000\n",
		"proc/sys/net/ipv4/tcp_wmem":                           "4096\t156250\t2500000\n",
		"proc/sys/net/core/rmem_max":                           "16777216\n",
		"proc/sys/net/core/wmem_max":                           "16777216\n",
		"proc/sys/net/core/default_qdisc":                      "fq\n",
		"proc/sys/net/ipv4/tcp_congestion_control":             "bbr\n",
		"proc/sys/net/ipv4/tcp_mem":                            "1638400\t1638400\t1638400\n",
		"proc/sys/vm/min_free_kbytes":                          "167772\n",
		"proc/sys/vm/swappiness":                               "1\n",
		"sys/class/net/lo/mtu":                                 "65536\n",
		"sys/class/net/enp39s0/device/vendor":                  "0x1d0f\n",
		clockDir + "/current_clocksource":                      "tsc\n",
		clockDir + "/available_clocksource":                    "tsc hpet acpi_pm\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":         "1\n",
		"sys/kernel/mm/transparent_hugepage/enabled":           "always [madvise] never\n",
		"sys/fs/cgroup/system.slice/nginx.service/cpu.max":     "max 100000\n",
		"sys/fs/cgroup/system.slice/nginx.service/memory.max":  "max\n",
	}
	return patient{files: mapFS(files), rings: func(dev string) (ring, error) {
		if dev != "enp39s0" {
			return ring{}, fmt.Errorf("asked for %s", dev)
		}
		return ring{rx: 1024, rxMax: 8192, tx: 1024, txMax: 1024}, nil
	}, offloads: func(string) (map[string]bool, error) {
		return map[string]bool{"tso": true, "gso": true, "gro": true}, nil
	},
		synced: func() (bool, error) { return true, nil }}
}

func mapFS(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// ill returns the findings that are not good.
func ill(fs []HostFinding) map[string]HostFinding {
	out := map[string]HostFinding{}
	for _, f := range fs {
		if f.Severity != Good {
			out[f.Check] = f
		}
	}
	return out
}

func TestDoctorSeed001(t *testing.T) {
	for role, want := range map[string]Severity{
		"proxy": Problem,
		"app":   Advice,
		"agent": Advice,
		"db":    Advice,
	} {
		got := examine(seed001(), role)
		bad := ill(got)
		f := bad["rx ring of enp39s0"]
		if len(bad) != 1 || f.Severity != want || f.Have != "1024 of 8192" ||
			!strings.HasPrefix(f.Fix, "ethtool -G enp39s0 rx 8192") {
			t.Errorf("%s: %+v, want the receive ring alone, as %s", role, bad, want)
		}
		if got[0].Check != f.Check {
			t.Errorf("%s: the first finding is %s", role, got[0].Check)
		}
	}
}

// Every check finds its fault, and only that one.
func TestDoctorFaults(t *testing.T) {
	for _, tt := range []struct {
		name, role, file, text string // "" removes the file
		check                  string
		severity               Severity
		fix                    string
	}{
		{"files", "agent", "proc/self/limits", "Max processes  8192 8192 processes\nMax open files  1024 20000 files\n", "open files", Problem, "nofile 100000"},
		{"processes", "agent", "proc/self/limits", "Max processes  100 100 processes\nMax open files  unlimited unlimited files\n", "processes", Advice, "nproc 8192"},
		{"ports", "agent", "proc/sys/net/ipv4/ip_local_port_range", "32768\t60999", "net.ipv4.ip_local_port_range", Problem, `sysctl -w net.ipv4.ip_local_port_range="1025 65000"`},
		{"tw_reuse", "proxy", "proc/sys/net/ipv4/tcp_tw_reuse", "2", "net.ipv4.tcp_tw_reuse", Advice, `tcp_tw_reuse="1"`},
		{"somaxconn", "app", "proc/sys/net/core/somaxconn", "128", "net.core.somaxconn", Problem, "4096"},
		{"syn backlog", "app", "proc/sys/net/ipv4/tcp_max_syn_backlog", "512", "net.ipv4.tcp_max_syn_backlog", Advice, "8192"},
		{"rmem", "app", "proc/sys/net/ipv4/tcp_rmem", "4096 131072 625000", "net.ipv4.tcp_rmem", Advice, "2500000"},
		{"wmem", "agent", "proc/sys/net/ipv4/tcp_wmem", "4096 16384 300000", "net.ipv4.tcp_wmem", Advice, "625000"},
		{"tcp_mem", "agent", "proc/sys/net/ipv4/tcp_mem", "1 2 3", "net.ipv4.tcp_mem", Advice, "1638400"},
		{"swappiness", "db", "proc/sys/vm/swappiness", "60", "vm.swappiness", Advice, "swappiness"},
		{"a sysctl that is not there", "app", "proc/sys/net/core/somaxconn", "", "net.core.somaxconn", Unknown, ""},
		{"cubic", "app", "proc/sys/net/ipv4/tcp_congestion_control", "cubic", "congestion control", Advice, "bbr"},
		{"conntrack", "app", "proc/sys/net/netfilter/nf_conntrack_max", "65536", "connection tracking", Problem, "nf_conntrack_max=1048576"},
		{"clock", "agent", clockDir + "/current_clocksource", "hpet", "clock source", Problem, "echo tsc"},
		{"clock of a server", "app", clockDir + "/current_clocksource", "hpet", "clock source", Advice, "echo tsc"},
		{"unknown clock", "app", clockDir + "/current_clocksource", "sundial", "clock source", Unknown, ""},
		{"governor", "app", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave", "CPU governor", Advice, "echo performance"},
		{"turbo", "app", "sys/devices/system/cpu/intel_pstate/no_turbo", "0", "turbo", Advice, "echo 1"},
		{"huge pages", "db", "sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "transparent huge pages", Advice, "echo madvise"},
		{"swap in use", "db", "proc/meminfo", "SwapTotal: 1000000 kB\nSwapFree: 500000 kB\n", "swap", Problem, "swapoff"},
		{"sampling", "app", "proc/sys/kernel/perf_event_paranoid", "2", "profiling", Advice, "perf_event_paranoid=0"},
		{"names of the kernel", "db", "proc/sys/kernel/kptr_restrict", "1", "profiling", Advice, "kptr_restrict=0"},
		{"no sampling", "db", "proc/sys/kernel/perf_event_paranoid", "", "profiling", Unknown, ""},
		{"quota", "agent", "sys/fs/cgroup/system.slice/cpu.max", "50000 100000", "CPU quota", Problem, "CPUQuota"},
		{"memory limit", "agent", "sys/fs/cgroup/system.slice/nginx.service/memory.max", "536870912", "memory limit", Problem, "MemoryMax"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := seed001()
			p.rings = func(string) (ring, error) { return ring{8192, 1024, 8192, 1024}, nil }
			files := maps.Clone(p.files.(fstest.MapFS))
			if tt.text == "" {
				delete(files, tt.file)
			} else {
				files[tt.file] = &fstest.MapFile{Data: []byte(tt.text + "\n")}
			}
			p.files = files
			bad := ill(examine(p, tt.role))
			f := bad[tt.check]
			if len(bad) != 1 || f.Severity != tt.severity || !strings.Contains(f.Fix, tt.fix) ||
				f.Have == "" {
				t.Errorf(
					"%+v, want %s alone, as %s, mended with %q",
					bad,
					tt.check,
					tt.severity,
					tt.fix,
				)
			}
			if f.Severity != Unknown && (f.Fix == "" || f.Why == "" || f.Want == "") {
				t.Errorf("%+v does not say what to do and why", f)
			}
		})
	}
}

// Root samples whatever the settings are.
func TestDoctorProfilingAsRoot(t *testing.T) {
	p := seed001()
	files := p.files.(fstest.MapFS)
	for name, text := range map[string]string{
		"proc/sys/kernel/perf_event_paranoid": "4",
		"proc/sys/kernel/kptr_restrict":       "1",
		"proc/self/status":                    "CapEff:\t000001ffffffffff",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, f := range examine(p, "app") {
		if f.Check == "profiling" && f.Severity != Good {
			t.Errorf("%+v, want good", f)
		}
	}
}

func TestDoctorDevices(t *testing.T) {
	p := seed001()
	p.rings = func(string) (ring, error) { return ring{}, errors.New("operation not supported") }
	p.offloads = func(string) (map[string]bool, error) {
		return map[string]bool{"tso": false, "gso": true, "gro": false}, nil
	}
	p.synced = func() (bool, error) { return false, nil }
	bad := ill(examine(p, "proxy"))
	if f := bad["ring of enp39s0"]; f.Severity != Unknown ||
		!strings.Contains(f.Have, "not supported") {
		t.Errorf("ring: %+v", f)
	}
	if f := bad["offloads of enp39s0"]; f.Severity != Advice ||
		f.Fix != "ethtool -K enp39s0 tso on gro on" {
		t.Errorf("offloads: %+v", f)
	}
	if f := bad["clock synchronization"]; f.Severity != Advice || f.Fix == "" {
		t.Errorf("clock: %+v", f)
	}
	if len(bad) != 3 {
		t.Errorf("%d findings: %+v", len(bad), bad)
	}
}

// An empty host is unknown, not healthy.
func TestDoctorNothing(t *testing.T) {
	p := patient{
		files:    fstest.MapFS{},
		rings:    seed001().rings,
		offloads: seed001().offloads,
		synced:   func() (bool, error) { return false, errors.New("no") },
	}
	for _, f := range examine(p, "agent") {
		if f.Severity == Good {
			t.Errorf("%s is good on a host that tells nothing: %+v", f.Check, f)
		}
	}
}

func TestDoctorHere(t *testing.T) {
	for _, role := range Roles {
		fs, err := Doctor(role)
		if err != nil || len(fs) < 10 {
			t.Errorf("%s: %d findings, %v", role, len(fs), err)
		}
	}
	failure.Says(t, failure.Of(Doctor("surgeon")), "agent, proxy")
}
