package probe

import (
	"bytes"
	"errors"
	"fmt"
)

// Counters of /proc/net/snmp and /proc/net/netstat that can name a limiter. Those marked true are in
// every kernel; the others are emitted where they exist.
var (
	snmpWant = map[string]map[string]bool{
		"Tcp": {"ActiveOpens": true, "PassiveOpens": true, "AttemptFails": true, "EstabResets": true, "CurrEstab": true,
			"InSegs": true, "OutSegs": true, "RetransSegs": true, "InErrs": true, "OutRsts": true},
		"Udp": {"InErrors": false, "RcvbufErrors": false, "SndbufErrors": false},
	}
	netstatWant = map[string]map[string]bool{
		"TcpExt": {"ListenOverflows": true, "ListenDrops": true, "TCPTimeouts": true, "TCPLostRetransmit": true,
			"TCPSpuriousRTOs": true, "TCPLossProbes": false, "TCPSynRetrans": false, "TCPBacklogDrop": false, "PruneCalled": true,
			"RcvPruned": true, "OfoPruned": false, "TCPRcvCollapsed": true, "TCPFastRetrans": false,
			"TCPRetransFail": false, "TCPTimeWaitOverflow": false, "TCPReqQFullDoCookies": false, "TCPDSACKUndo": false, "TCPReqQFullDrop": false, "TCPMemoryPressures": true,
			"TCPAbortOnMemory": true, "TCPAbortOnTimeout": true, "TCPOFOQueue": false, "TCPOFODrop": false, "TCPRcvQDrop": false,
			"TCPZeroWindowDrop": false, "TW": true, "DelayedACKs": false, "SyncookiesSent": false},
		"IpExt": {"InOctets": false, "OutOctets": false},
	}
)

// netstat reads the format of both files: a line of names and a line of numbers, each led by the
// protocol.
type netstat struct {
	want   map[string]map[string]bool
	layout map[string]*netLayout // by protocol
}

// netLayout is where a protocol's wanted columns stand, as long as the line of names is the same.
type netLayout struct {
	header  []byte
	columns []string // metric per column; empty: not wanted
	missing error
}

func (n *netstat) parse(text []byte, k *sink) error {
	if n.layout == nil {
		n.layout = map[string]*netLayout{}
	}
	var errs []error
	seen := 0
	for l := lines(text); ; {
		header, ok := l.next()
		if !ok {
			break
		}
		values, ok := l.next()
		if !ok {
			errs = append(errs, fmt.Errorf("names without numbers: %.40q", header))
			break
		}
		proto, _, ok := bytes.Cut(header, []byte(": "))
		if !ok {
			errs = append(errs, fmt.Errorf("no protocol in %.40q", header))
			break
		}
		want := n.want[string(proto)]
		if want == nil {
			continue
		}
		if !bytes.HasPrefix(values, header[:len(proto)+1]) {
			errs = append(errs, fmt.Errorf("numbers of %s do not follow its names", proto))
			break
		}
		seen++
		if err := n.pair(string(proto), header, values, want, k); err != nil {
			errs = append(errs, err)
		}
	}
	if seen < len(n.want) {
		for proto, want := range n.want {
			if n.layout[proto] == nil {
				for _, must := range want {
					if must {
						errs = append(errs, fmt.Errorf("protocol %s is not there", proto))
						break
					}
				}
			}
		}
	}
	if seen == 0 {
		errs = append(errs, errors.New("no protocol is there"))
	}
	return errors.Join(errs...)
}

// pair reads one protocol's two lines.
func (n *netstat) pair(proto string, header, values []byte, want map[string]bool, k *sink) error {
	lay := n.layout[proto]
	if lay == nil || !bytes.Equal(lay.header, header) {
		lay = &netLayout{header: bytes.Clone(header)}
		n.layout[proto] = lay
		found := map[string]bool{}
		f := fields(header)
		f.next()
		for name := f.next(); len(name) > 0; name = f.next() {
			metric := ""
			if _, ok := want[string(name)]; ok && !found[string(name)] {
				metric = "node_netstat_" + proto + "_" + string(name)
				found[string(name)] = true
			}
			lay.columns = append(lay.columns, metric)
		}
		for name, must := range want {
			if must && !found[name] {
				lay.missing = errors.Join(lay.missing, fmt.Errorf("%s has no counter %s", proto, name))
			}
		}
	}
	f := fields(values)
	f.next()
	for i, metric := range lay.columns {
		w := f.next()
		if len(w) == 0 {
			return fmt.Errorf("%s has %d names but %d numbers", proto, len(lay.columns), i)
		}
		if metric == "" {
			continue
		}
		v, err := number(w)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", metric, w, err)
		}
		k.add(metric, nil, float64(v))
	}
	return lay.missing
}

// parseSockstat reads /proc/net/sockstat: TCP: inuse 1 orphan 0 tw 4 alloc 1 mem 245.
func parseSockstat(text []byte, k *sink) error {
	tcp := false
	for l := lines(text); ; {
		line, ok := l.next()
		if !ok {
			break
		}
		f := fields(line)
		var proto string
		switch string(f.next()) {
		case "TCP:":
			proto = "TCP:"
		case "sockets:":
			proto = "sockets:"
		default:
			continue
		}
		for {
			key := f.next()
			if len(key) == 0 {
				break
			}
			v, err := f.number()
			if err != nil {
				return fmt.Errorf("%s %s: %w", proto, key, err)
			}
			name, scale := "", 1.0
			switch {
			case proto == "sockets:" && string(key) == "used":
				name = "node_sockstat_sockets_used"
			case proto == "sockets:":
			case string(key) == "inuse":
				name, tcp = "node_sockstat_TCP_inuse", true
			case string(key) == "orphan":
				name = "node_sockstat_TCP_orphan"
			case string(key) == "tw":
				name = "node_sockstat_TCP_tw"
			case string(key) == "alloc":
				name = "node_sockstat_TCP_alloc"
			case string(key) == "mem":
				name, scale = "node_sockstat_TCP_mem_bytes", pageSize
			}
			if name != "" {
				k.add(name, nil, float64(v)*scale)
			}
		}
	}
	if !tcp {
		return errors.New("no line of TCP")
	}
	return nil
}

// netdev reads /proc/net/dev.
type netdev struct{ labels named }

var netdevColumns = [16]string{
	"node_network_receive_bytes_total", "node_network_receive_packets_total", "node_network_receive_errs_total",
	"node_network_receive_drop_total", "node_network_receive_fifo_total", "", "", "",
	"node_network_transmit_bytes_total", "node_network_transmit_packets_total", "node_network_transmit_errs_total",
	"node_network_transmit_drop_total", "node_network_transmit_fifo_total", "", "", "",
}

func (n *netdev) parse(text []byte, k *sink) error {
	n.labels.label = "device"
	found := false
	for l := lines(text); ; {
		line, ok := l.next()
		if !ok {
			break
		}
		dev, rest, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue // the two lines of headings
		}
		ls := n.labels.get(bytes.TrimSpace(dev))
		f := fields(rest)
		for i, name := range netdevColumns {
			v, err := f.number()
			if err != nil {
				return fmt.Errorf("device %s, column %d: %w", bytes.TrimSpace(dev), i+1, err)
			}
			if name != "" {
				k.add(name, ls, float64(v))
			}
		}
		found = true
	}
	if !found {
		return errors.New("no device")
	}
	return nil
}
