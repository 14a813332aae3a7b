package probe

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

// recorded answers like a driver from the text of ethtool -S, with the rings in a comment.
type recorded struct {
	ring      ring
	noRings   error
	counters  []string
	numbers   []uint64
	failValue error
}

func (r *recorded) rings() (ring, error)     { return r.ring, r.noRings }
func (r *recorded) names() ([]string, error) { return r.counters, nil }
func (r *recorded) values(into []uint64) error {
	copy(into, r.numbers)
	return r.failValue
}

func record(t testing.TB, name string) *recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/nic", name+".txt"))
	failure.None(t, err)
	r := &recorded{noRings: errors.New("operation not supported")}
	for line := range strings.Lines(string(b)) {
		if n, _ := fmt.Sscanf(line, "# ring: rx %d of %d, tx %d of %d", &r.ring.rx, &r.ring.rxMax, &r.ring.tx, &r.ring.txMax); n == 4 {
			r.noRings = nil
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		var v uint64
		if _, err := fmt.Sscan(value, &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r.counters, r.numbers = append(r.counters, name), append(r.numbers, v)
	}
	return r
}

// sysOf makes a /sys with a device.
func sysOf(t testing.TB, more map[string]string) string {
	t.Helper()
	all := map[string]string{"ifindex": "2\n", "address": "52:54:00:12:34:56\n"}
	maps.Copy(all, more)
	tree := map[string]string{}
	for name, content := range all {
		tree["class/net/eth0/"+name] = content
	}
	return files(t, tree)
}

// link is the network namespace's entry of the device of sysOf.
func link(name string) (*net.Interface, error) {
	return &net.Interface{
		Index:        2,
		Name:         name,
		HardwareAddr: net.HardwareAddr{0x52, 0x54, 0, 0x12, 0x34, 0x56},
	}, nil
}

// A device of this namespace, and the sysfs of another with a device of that name: its numbers are
// not this one's.
func TestNICOfAnotherNamespace(t *testing.T) {
	for name, file := range map[string]map[string]string{
		"another index":   {"ifindex": "3\n"},
		"another address": {"address": "52:54:00:12:34:57\n"},
		"same":            {},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"statistics/rx_missed_errors": "77\n", "speed": "1000\n"}
			maps.Copy(files, file)
			n, err := newNIC("eth0", record(t, "mlx5"), sysOf(t, files), link)
			failure.None(t, err)
			defer n.Close()
			s, err := n.Sample(t.Context(), t0)
			if own := strings.Contains(text(s), " 77\n"); err != nil || own != (name == "same") ||
				strings.Contains(text(s), "speed_bytes") != own {
				t.Errorf("%v, absent %q:\n%s", err, n.Absent(), text(s))
			}
			if name != "same" &&
				!slices.Equal(n.Absent(), []string{"statistics/rx_missed_errors", "speed"}) {
				t.Errorf("absent %q", n.Absent())
			}
		})
	}
}

func TestNIC(t *testing.T) {
	const rings = "plimsoll_nic_ring_size{device=\"eth0\",direction=\"rx\"} %d\nplimsoll_nic_ring_limit{device=\"eth0\",direction=\"rx\"} %d\n" +
		"plimsoll_nic_ring_size{device=\"eth0\",direction=\"tx\"} %d\nplimsoll_nic_ring_limit{device=\"eth0\",direction=\"tx\"} %d\n"
	sys := sysOf(t, map[string]string{"statistics/rx_missed_errors": "5\n", "speed": "10000\n"})
	const kernel = "node_network_receive_missed_errors_total{device=\"eth0\"} 5\nnode_network_speed_bytes{device=\"eth0\"} 1.25e+09\n"
	for driver, want := range map[string]string{
		"virtio_net":     fmt.Sprintf(rings, 256, 256, 256, 256) + nicText("rx_dropped", 7, "tx_timeouts", 1),
		"virtio_net_old": fmt.Sprintf(rings, 256, 256, 256, 256) + nicText("rx_dropped", 7, "tx_timeouts", 1),
		"ixgbe":          fmt.Sprintf(rings, 512, 4096, 512, 4096) + nicText("rx_missed", 2000, "rx_no_buffer", 3, "tx_full", 21, "tx_timeouts", 0),
		"mlx5":           fmt.Sprintf(rings, 1024, 8192, 1024, 8192) + nicText("rx_missed", 1054500, "rx_no_buffer", 9, "tx_full", 4, "tx_dropped", 1),
		"ena": fmt.Sprintf(rings, 1024, 8192, 512, 512) + nicText("rx_no_buffer", 12, "tx_full", 5, "tx_timeouts", 0) +
			"plimsoll_nic_allowance_exceeded_total{device=\"eth0\",limit=\"bw_in\"} 11\nplimsoll_nic_allowance_exceeded_total{device=\"eth0\",limit=\"bw_out\"} 12\n" +
			"plimsoll_nic_allowance_exceeded_total{device=\"eth0\",limit=\"pps\"} 13\nplimsoll_nic_allowance_exceeded_total{device=\"eth0\",limit=\"conntrack\"} 14\n" +
			"plimsoll_nic_allowance_exceeded_total{device=\"eth0\",limit=\"linklocal\"} 15\n",
	} {
		t.Run(driver, func(t *testing.T) {
			n, err := newNIC("eth0", record(t, driver), sys, link)
			failure.None(t, err)
			defer n.Close()
			if len(n.Absent()) != 0 {
				t.Errorf("Absent = %q", n.Absent())
			}
			for range 2 {
				s, err := n.Sample(t.Context(), t0)
				failure.None(t, err)
				if d := cmp.Diff(kernel+want, text(s)); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			}
		})
	}
}

// nicText prints metrics of the device, in the order of the table of counters.
func nicText(pairs ...any) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "plimsoll_nic_%s_total{device=\"eth0\"} %v\n", pairs[i], func() string {
			if v := float64(pairs[i+1].(int)); v >= 1e6 {
				return fmt.Sprint(v)
			}
			return fmt.Sprint(pairs[i+1])
		}())
	}
	return b.String()
}

func TestNICAbsentAndFailing(t *testing.T) {
	failure.Says(t, failure.Of(NewNIC("nosuch0")), "no device nosuch0")
	failure.Says(t, failure.Of(NewNIC("../eth0")), "no device's name")
	r := record(t, "mlx5")
	r.noRings = errors.New("operation not supported")
	n, err := newNIC("eth0", r, sysOf(t, map[string]string{
		"statistics/rx_missed_errors": "0\n",
		"speed":                       "-1\n",
	}), link)
	failure.None(t, err)
	if d := cmp.Diff([]string{"speed", "rings"}, n.Absent()); d != "" {
		t.Errorf("Absent (-want +got):\n%s", d)
	}
	s, err := n.Sample(t.Context(), t0)
	if err != nil || strings.Contains(text(s), "ring_") || strings.Contains(text(s), "speed") {
		t.Errorf("%v\n%s", err, text(s))
	}
	// A source that existed and fails is an error; the others are still reported.
	r.failValue = errors.New("input/output error")
	s, err = n.Sample(t.Context(), t0)
	if err == nil ||
		!strings.Contains(err.Error(), "driver counters of eth0: input/output error") ||
		len(s) != 1 {
		t.Errorf("%v\n%s", err, text(s))
	}
}

// The devices of this machine: devices of any kind answer, and their counters do not fall.
func TestNICOfThisHost(t *testing.T) {
	all, err := os.ReadDir("/sys/class/net")
	if err != nil || len(all) == 0 {
		t.Fatalf("no network device, not even lo: %v", err)
	}
	for _, e := range all {
		if info, err := os.Stat(filepath.Join("/sys/class/net", e.Name())); err != nil ||
			!info.IsDir() {
			continue // bonding_masters
		}
		n, err := NewNIC(e.Name())
		if err != nil {
			t.Error(err)
			continue
		}
		defer n.Close()
		a, err := n.Sample(t.Context(), t0)
		failure.None(t, err)
		before := values(t, a)
		b, err := n.Sample(t.Context(), at(1))
		failure.None(t, err)
		for k, v := range values(t, b) {
			if strings.Contains(k, "_total") && v < before[k] {
				t.Errorf("%s fell from %v to %v", k, before[k], v)
			}
		}
		t.Logf("%s: absent %q\n%s", e.Name(), n.Absent(), text(b))
	}
}

func TestRouteDevice(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "127.0.0.9", "localhost"} {
		if dev, err := RouteDevice(t.Context(), host); err != nil || dev != "lo" {
			t.Errorf("RouteDevice(%s) = %q, %v", host, dev, err)
		}
	}
	failure.Says(
		t,
		failure.Of(RouteDevice(t.Context(), "no.such.host.invalid")),
		"no.such.host.invalid",
	)
}
