package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// NICProbe samples one network device: the counters of its driver beyond /proc/net/dev, and its
// rings.
//
//	plimsoll_nic_ring_size{device,direction}       packets that the ring (rx or tx) holds
//	plimsoll_nic_ring_limit{device,direction}      the most that the driver allows
//	plimsoll_nic_rx_missed_total{device}           packets lost because the receive ring or the device's memory was full
//	plimsoll_nic_rx_no_buffer_total{device}        times the driver had no buffer to refill the ring with
//	plimsoll_nic_rx_dropped_total{device}          packets that the driver threw away
//	plimsoll_nic_tx_full_total{device}             times sending stopped because the ring was full
//	plimsoll_nic_tx_dropped_total{device}          packets that could not be queued
//	plimsoll_nic_tx_timeouts_total{device}         times the device did not send for seconds
//	plimsoll_nic_allowance_exceeded_total{device,limit}  packets that a cloud's limit queued or dropped: bw_in, bw_out, pps, conntrack, linklocal
//	node_network_receive_missed_errors_total{device}     the kernel's own count of missed packets
//	node_network_speed_bytes{device}               speed of the link, bytes per second
//
// Every driver names its counters as it likes ("ethtool -S"); the table nicCounters translates
// those of virtio_net, ena, ixgbe, igb, mlx5 and veth. A metric of which a driver has no counter,
// the rings of a device without, and an unknown link speed are left out: see [NICProbe.Absent].
// Rings and counters are requested by SIOCETHTOOL, as by ethtool itself: netlink offers no driver's
// own counters.
type NICProbe struct {
	device  string
	driver  ethtoolDriver
	files   sources
	rings   bool
	counted []counted // by metric
	names   int       // number of the driver's counters
	values  []uint64
	absent  []string
	rx, tx  []series.Label
	out     sink
}

// ethtoolDriver is the interface to a driver.
type ethtoolDriver interface {
	rings() (ring, error)
	// names returns the driver's names of its counters.
	names() ([]string, error)
	// values fills into with as many counters as it has; their number having changed is an error.
	values(into []uint64) error
}

// counted is one metric and the driver's counters that add up to it.
type counted struct {
	name   string
	labels []series.Label
	from   []int
}

// A nicMetric adds up the counters of drivers that mean one thing; "#" in a counter's name stands
// for the number of a queue.
type nicMetric struct {
	metric, limit string
	names         []string
}

// The names are those of Linux: drivers/net/virtio_net.c, drivers/net/veth.c,
// ethernet/amazon/ena/ena_ethtool.c, ethernet/intel/ixgbe/ixgbe_ethtool.c,
// ethernet/intel/igb/igb_ethtool.c, and
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst.
var nicCounters = []nicMetric{
	{"rx_missed", "", []string{
		"rx_missed_errors", // ixgbe, igb
		"rx_no_dma_resources",
		"rx_out_of_buffer", // mlx5
		"rx_discards_phy",
	}},
	{"rx_no_buffer", "", []string{
		"alloc_rx_page_failed", // ixgbe
		"alloc_rx_buff_failed",
		"rx_no_buffer_count",         // igb
		"rx_buff_alloc_err",          // mlx5
		"queue_#_rx_page_alloc_fail", // ena
		"queue_#_rx_empty_rx_ring",   // ena
	}},
	{"rx_dropped", "", []string{
		"rx_drops",         // virtio_net from Linux 6.10
		"rx#_drops",        // the same by queue
		"rx_queue_#_drops", // virtio_net before, veth
	}},
	{"tx_full", "", []string{
		"tx_restart_queue",      // ixgbe, igb
		"tx_queue_stopped",      // mlx5
		"queue_#_tx_queue_stop", // ena
		"tx_stop",               // virtio_net with BQL
		"tx#_stop",
	}},
	{"tx_dropped", "", []string{
		"tx_queue_dropped", // mlx5
	}},
	{"tx_timeouts", "", []string{
		"tx_timeout_count", // ixgbe, igb
		"tx_timeout",       // ena
		"tx_tx_timeouts",   // virtio_net
		"tx#_tx_timeouts",
		"tx_queue_#_tx_timeouts", // virtio_net before Linux 6.10
	}},
	{"allowance_exceeded", "bw_in", []string{"bw_in_allowance_exceeded"}}, // ena
	{"allowance_exceeded", "bw_out", []string{"bw_out_allowance_exceeded"}},
	{"allowance_exceeded", "pps", []string{"pps_allowance_exceeded"}},
	{"allowance_exceeded", "conntrack", []string{"conntrack_allowance_exceeded"}},
	{"allowance_exceeded", "linklocal", []string{"linklocal_allowance_exceeded"}},
}

// NewNIC makes the probe of a device such as eth0. It fails if the device is not there.
func NewNIC(device string) (*NICProbe, error) {
	return newNIC(device, newEthtool(device), "/sys", net.InterfaceByName)
}

func newNIC(
	device string,
	driver ethtoolDriver,
	sys string,
	find func(string) (*net.Interface, error),
) (*NICProbe, error) {
	dir := filepath.Join(sys, "class/net", device)
	if device == "" || strings.ContainsAny(device, "/\x00") || device == "." || device == ".." {
		return nil, fmt.Errorf("probe of a network device: %q is no device's name", device)
	}
	link, err := find(device)
	if err != nil {
		return nil, fmt.Errorf(
			"probe of a network device: there is no device %s on this host; see: ip link",
			device,
		)
	}
	n := &NICProbe{
		device: device,
		driver: driver,
		rx:     Labels("device", device, "direction", "rx"),
		tx:     Labels("device", device, "direction", "tx"),
		out:    sink{labels: Labels("device", device)},
	}
	for _, f := range []groupFile{
		{"", "statistics/rx_missed_errors", scaled("node_network_receive_missed_errors_total", 1)},
		{"", "speed", scaled("node_network_speed_bytes", 1e6/8)}, // negative when it is not known
	} {
		n.files = append(n.files, f.in(dir))
	}
	kept := n.files[:0]
	same := describes(dir, link)
	for _, s := range n.files {
		n.out.reset()
		err := errAbsent
		if same {
			err = s.sample(&n.out)
		}
		if err != nil { // a virtual device has no speed, and a link that is down has none
			n.absent = append(n.absent, s.name)
			s.file.close()
			continue
		}
		kept = append(kept, s)
	}
	n.files = kept
	r, err := driver.rings()
	if n.rings = err == nil && r.rxMax > 0; !n.rings {
		n.absent = append(n.absent, "rings")
	}
	names, err := driver.names()
	if err != nil || len(names) == 0 {
		n.absent = append(n.absent, "driver counters")
		return n, nil
	}
	n.names = len(names)
	n.counted = translate(names, device)
	n.values = make([]uint64, n.names)
	return n, nil
}

// describes reports whether a directory of sysfs is of a device of this process's network
// namespace. A mounted sysfs shows the namespace of its mounter, where another device may have the
// name.
func describes(dir string, link *net.Interface) bool {
	index, err := os.ReadFile(filepath.Join(dir, "ifindex"))
	if err != nil || strings.TrimSpace(string(index)) != strconv.Itoa(link.Index) {
		return false
	}
	address, err := os.ReadFile(filepath.Join(dir, "address"))
	mac, _ := net.ParseMAC(strings.TrimSpace(string(address))) // a tunnel has none
	return err == nil &&
		(bytes.Equal(mac, link.HardwareAddr) || len(link.HardwareAddr) == 0 && len(bytes.Trim(mac, "\x00")) == 0)
}

// translate finds the counters of each metric. Where a driver has a sum and the same by queue, only
// the sum counts.
func translate(names []string, device string) []counted {
	index := map[string][]int{}
	for i, name := range names {
		key := queueless(name)
		index[key] = append(index[key], i)
	}
	var out []counted
	for _, c := range nicCounters {
		ls := Labels("device", device)
		if c.limit != "" {
			ls = Labels("device", device, "limit", c.limit)
		}
		sum := counted{name: "plimsoll_nic_" + c.metric + "_total", labels: ls}
		whole := false // of all queues
		for _, name := range c.names {
			from := index[name]
			byQueue := strings.Contains(name, "#")
			if len(from) > 0 && !(byQueue && whole) {
				whole = whole || !byQueue
				sum.from = append(sum.from, from...)
			}
		}
		if sum.from != nil {
			out = append(out, sum)
		}
	}
	return out
}

// queueless replaces the number of a queue by "#": rx0_drops, queue_12_tx_cnt.
func queueless(name string) string {
	i := strings.IndexAny(name, "0123456789")
	if i < 0 {
		return name
	}
	rest := strings.TrimLeft(name[i:], "0123456789")
	if !strings.HasPrefix(rest, "_") {
		return name
	}
	return name[:i] + "#" + rest
}

// Name returns "nic " and the device.
func (n *NICProbe) Name() string { return "nic " + n.device }

// Absent lists the sources that this device does not offer: "rings", "driver counters", "speed",
// "statistics/rx_missed_errors".
func (n *NICProbe) Absent() []string { return n.absent }

// Sample reads the driver's and the kernel's counters.
func (n *NICProbe) Sample(_ context.Context, _ time.Time) ([]series.Sample, error) {
	n.out.reset()
	k := &n.out
	var errs []error
	for _, s := range n.files {
		if err := s.sample(k); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", s.name, n.device, err))
		}
	}
	if n.rings {
		r, err := n.driver.rings()
		if err != nil {
			errs = append(errs, fmt.Errorf("rings of %s: %w", n.device, err))
		} else {
			k.add("plimsoll_nic_ring_size", n.rx, float64(r.rx))
			k.add("plimsoll_nic_ring_limit", n.rx, float64(r.rxMax))
			k.add("plimsoll_nic_ring_size", n.tx, float64(r.tx))
			k.add("plimsoll_nic_ring_limit", n.tx, float64(r.txMax))
		}
	}
	if len(n.counted) > 0 {
		if err := n.driver.values(n.values); err != nil {
			errs = append(errs, fmt.Errorf("driver counters of %s: %w", n.device, err))
		} else {
			for _, c := range n.counted {
				var v uint64
				for _, i := range c.from {
					v += n.values[i]
				}
				k.add(c.name, c.labels, float64(v))
			}
		}
	}
	return k.s, errors.Join(errs...)
}

// Close closes the files that Sample keeps open.
func (n *NICProbe) Close() error { return n.files.close() }

// RouteDevice returns the device over which a host, by name or address, is reached from here; "lo"
// for this host itself. It sends nothing except the queries to resolve a name.
func RouteDevice(ctx context.Context, host string) (string, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", net.JoinHostPort(host, strconv.Itoa(9)))
	if err != nil {
		return "", fmt.Errorf("finding the network device towards %s: %w", host, err)
	}
	defer c.Close()
	own, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return "", fmt.Errorf("finding the network device towards %s: no address of ours", host)
	}
	all, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("finding the network device towards %s: %w", host, err)
	}
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue // went away meanwhile
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); !ok || !n.IP.Equal(own.IP) {
				continue
			}
			if to, ok := c.RemoteAddr().(*net.UDPAddr); ok && to.IP.Equal(own.IP) {
				return "lo", nil // our own address: the packets never leave
			}
			return i.Name, nil
		}
	}
	return "lo", nil // 127.0.0.2 and the like are on no device's list
}
