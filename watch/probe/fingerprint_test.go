package probe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

// files writes all below a new directory.
func files(t testing.TB, all map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range all {
		p := filepath.Join(root, name)
		failure.None(t, os.MkdirAll(filepath.Dir(p), 0o777))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			failure.None(t, os.Symlink(target, p))
			continue
		}
		failure.None(t, os.WriteFile(p, []byte(text), 0o666))
	}
	return root
}

func TestFingerprint(t *testing.T) {
	root := files(t, map[string]string{
		"etc/os-release":                             "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
		"proc/sys/kernel/osrelease":                  "6.1.0-18-amd64\n",
		"proc/sys/kernel/version":                    "#1 SMP Debian 6.1.76-1\n",
		"proc/cpuinfo":                               "processor\t: 0\nmodel name\t: Fast(R) CPU\ncpu MHz\t\t: 2100.000\nflags\t\t: fpu hypervisor lm\n\nprocessor\t: 1\nmodel name\t: Fast(R) CPU\ncpu MHz\t\t: 2000.000\n",
		"proc/self/status":                           "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
		"proc/meminfo":                               "MemTotal:       24731708 kB\nSwapTotal:             0 kB\n",
		"proc/loadavg":                               "1.22 0.57 0.30 5/108 12768\n",
		"proc/sys/net/core/somaxconn":                "4096\n",
		"proc/sys/net/ipv4/tcp_rmem":                 "4096\t131072\t6291456\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/devices/system/cpu/smt/active":                               "0\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
		"sys/class/dmi/id/product_name":                                   "Standard PC\n",
		".dockerenv":                                                      "",
		"sys/class/net/lo/mtu":                                            "65536\n",
		"sys/class/net/eth0/mtu":                                          "1500\n",
		"sys/class/net/eth0/speed":                                        "10000\n",
		"sys/class/net/eth0/operstate":                                    "up\n",
		"sys/class/net/eth0/address":                                      "aa:bb:cc:dd:ee:ff\n",
		"sys/class/net/eth0/device/driver":                                "-> ../../../bus/virtio/drivers/virtio_net",
		"sys/class/net/veth1/mtu":                                         "1500\n",
		"sys/class/net/veth1/speed":                                       "-1\n",
		"sys/class/net/veth1/operstate":                                   "down\n",
	})
	got := fingerprint(root)
	if got.OpenFiles == 0 {
		t.Error("no limit of open files")
	}
	got.OpenFiles = 0
	want := Host{
		OS:             "Debian GNU/Linux 12 (bookworm)",
		Kernel:         "6.1.0-18-amd64 #1 SMP Debian 6.1.76-1",
		Arch:           runtime.GOARCH,
		CPUModel:       "Fast(R) CPU",
		CPUs:           2,
		CPUsAllowed:    "0-1",
		CPUMHz:         2100,
		SMT:            "0",
		MemoryBytes:    24731708 * 1024,
		HugePages:      "madvise",
		ClockSource:    "tsc",
		Virtualization: "virtual machine, QEMU Standard PC, container",
		Load:           [3]float64{1.22, 0.57, 0.30},
		Sysctls: map[string]string{
			"net.core.somaxconn": "4096",
			"net.ipv4.tcp_rmem":  "4096 131072 6291456",
		},
		NICs: []NIC{
			{Name: "eth0", Driver: "virtio_net", SpeedMbit: 10000, MTU: 1500, State: "up"},
			{Name: "veth1", MTU: 1500, State: "down"},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	b, err := json.Marshal(got)
	failure.None(t, err)
	if strings.Contains(string(b), "aa:bb") {
		t.Error("the fingerprint holds an address")
	}
}

func TestFingerprintOfNothing(t *testing.T) {
	got := fingerprint(t.TempDir()).Missing
	want := []string{
		"allowed processors",
		"clock source",
		"kernel",
		"load average",
		"memory",
		"network devices",
		"processors",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Missing = %q, want %q", got, want)
	}
}

func TestFingerprintOfThisHost(t *testing.T) {
	h := Fingerprint()
	if len(h.Missing) > 0 || h.CPUs < 1 || h.MemoryBytes == 0 || len(h.Sysctls) == 0 || h.OS == "" {
		t.Errorf("%+v", h)
	}
}
