package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Counters of /proc/net/snmp and /proc/net/netstat that can name a limiter. Those marked true are
// in every kernel; the others are emitted where they exist.
var (
	snmpWant = map[string]map[string]bool{
		"Tcp": wanted(`ActiveOpens! PassiveOpens! AttemptFails! EstabResets! CurrEstab! InSegs!
			OutSegs! RetransSegs! InErrs! OutRsts!`),
		"Udp": wanted("InErrors RcvbufErrors SndbufErrors"),
	}
	netstatWant = map[string]map[string]bool{
		"TcpExt": wanted(`ListenOverflows! ListenDrops! TCPTimeouts! TCPLostRetransmit! TCPSpuriousRTOs!
			TCPLossProbes TCPSynRetrans TCPBacklogDrop PruneCalled! RcvPruned! OfoPruned
			TCPRcvCollapsed! TCPFastRetrans TCPRetransFail TCPTimeWaitOverflow
			TCPReqQFullDoCookies TCPDSACKUndo TCPReqQFullDrop TCPMemoryPressures!
			TCPAbortOnMemory! TCPAbortOnTimeout! TCPOFOQueue TCPOFODrop TCPRcvQDrop
			TCPZeroWindowDrop TW! DelayedACKs SyncookiesSent`),
		"IpExt": wanted("InOctets OutOctets"),
	}
)

// wanted returns the counters of a list, and whether each is indispensable: it ends in "!".
func wanted(list string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		name, must := strings.CutSuffix(word, "!")
		out[name] = must
	}
	return out
}

// netstat reads the format of both files: a line of names and a line of numbers, each led by the
// protocol.
type netstat struct {
	want   map[string]map[string]bool
	layout map[string]*netLayout // by protocol
}

// netLayout has the places of a protocol's wanted columns, as long as the line of names is the
// same.
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
	for len(text) > 0 {
		var header, values []byte
		if header, text, _ = bytes.Cut(text, newline); len(text) == 0 {
			errs = append(errs, fmt.Errorf("names without numbers: %.40q", header))
			break
		}
		values, text, _ = bytes.Cut(text, newline)
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
				lay.missing = errors.Join(
					lay.missing,
					fmt.Errorf("%s has no counter %s", proto, name),
				)
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

// sockstatNames are the wanted numbers of /proc/net/sockstat, by protocol.
var sockstatNames = map[string]map[string]column{
	"sockets:": newTable(columns("node_sockstat_sockets_", "used", "", 1)).want,
	"TCP:": newTable(append(
		columns("node_sockstat_TCP_", "inuse orphan tw alloc", "", 1),
		columns("node_sockstat_TCP_", "mem", "_bytes", pageSize)...,
	)).want,
}

// parseSockstat reads /proc/net/sockstat: TCP: inuse 1 orphan 0 tw 4 alloc 1 mem 245.
func parseSockstat(text []byte, k *sink) error {
	tcp := false
	for line := range lines(text) {
		f := fields(line)
		proto := f.next()
		names := sockstatNames[string(proto)]
		if names == nil {
			continue
		}
		for key := f.next(); len(key) > 0; key = f.next() {
			v, err := f.number()
			if err != nil {
				return fmt.Errorf("%s %s: %w", proto, key, err)
			}
			if c, ok := names[string(key)]; ok {
				k.add(c.name, nil, float64(v)*c.scale)
			}
			tcp = tcp || string(key) == "inuse"
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
	for line := range lines(text) {
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
