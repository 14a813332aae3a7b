package health

import (
	"fmt"
	"time"

	"plimsoll/run/trial"
)

// segmentsIn counts the TCP segments that a host has received.
const segmentsIn = "node_netstat_Tcp_InSegs"

// droppedSegments count the TCP segments that reached a host and that it threw away because a
// program did not read or the buffers were full. Where a kernel lacks one that is not of every
// kernel, the others count alone.
var droppedSegments = []struct {
	name  string
	every bool
}{
	{"node_netstat_TcpExt_RcvPruned", true},
	{"node_netstat_TcpExt_OfoPruned", false},
	{"node_netstat_TcpExt_TCPBacklogDrop", false},
	{"node_netstat_TcpExt_TCPRcvQDrop", false},
	{"node_netstat_TcpExt_TCPOFODrop", false},
}

// droppedPackets are the counters of a network device for packets that it threw away.
var droppedPackets = []string{"node_network_receive_drop_total", "node_network_transmit_drop_total"}

// framesOfOthers is the number of packets a second that a device may throw away without a reading:
// the kernel counts frames of protocols that it does not speak among them, such as the
// announcements of bridges and switches.
const framesOfOthers = 2

// dropsLeast is the least number of segments that the share of the dropped ones is taken of.
const dropsLeast = 1000

// drops holds the last samples of the segments that a host received and dropped. Its zero value has
// none.
type drops struct {
	past []dropped
	at   time.Time
}

// A dropped is a sample of cumulative counts.
type dropped struct {
	in     float64 // segments that came in
	lost   float64 // segments that were thrown away
	device float64 // packets that the device threw away
}

// add adds a sample, unless it is not newer than the last, and returns the dropped share over the
// last samples, in percent.
func (d *drops) add(now dropped, at time.Time) trial.Reading {
	if at.After(d.at) || len(d.past) == 0 {
		// another boot, or another namespace
		if n := len(d.past); n > 0 && now.in < d.past[n-1].in {
			d.past = d.past[:0]
		}
		d.at = at
		d.past = append(d.past, now)
		d.past = d.past[max(0, len(d.past)-meanOver-1):]
	}
	first, last := d.past[0], d.past[len(d.past)-1]
	in := last.in - first.in
	lost := max(0, last.lost-first.lost)
	lost += max(0, last.device-first.device-framesOfOthers*float64(len(d.past)-1))
	if in < dropsLeast && (lost > 0 || len(d.past) == 1) {
		return trial.Unread("%.0f segments in the last %d samples are too few, want %d",
			in, len(d.past), dropsLeast)
	}
	return trial.Reading{Value: 100 * lost / max(in, 1)}
}

// dropped returns the share of the received segments that this host dropped: such a packet arrives
// again a fifth of a second later, and the target looks slow. Retransmitted segments do not count:
// the network or the target lost them, and a gate of the generator cannot decide between the two.
// Where the target is behind the same stack, only the queues before the protocols count: they
// belong to neither, while a socket's queue may be the target's.
func (h *GateReader) dropped() trial.Reading {
	read := func(key string) trial.Reading { return h.read(key, 1) }
	in := read(segmentsIn)
	queues := queuesLost(read)
	_, at, _ := h.last(segmentsIn)
	if h.of.SharedHost || h.of.Device == "lo" {
		return h.drops.read(in, queues, trial.Reading{}, at)
	}
	lost := segmentsLost(read)
	if queues.Why == "" {
		lost = both(lost, queues, sum)
	}
	frames := trial.Reading{}
	if h.of.Device != "" {
		for _, name := range droppedPackets {
			frames = both(frames, read(fmt.Sprintf("%s{device=%q}", name, h.of.Device)), sum)
		}
	}
	return h.drops.read(in, lost, frames, at)
}

// queuesLost counts the packets that found no room in the queues between the devices and the
// protocols (net.core.netdev_max_backlog), of all cores. Loopback and the devices of namespaces
// have those alone.
func queuesLost(read func(key string) trial.Reading) (all trial.Reading) {
	for cpu := 0; ; cpu++ {
		queue := read(fmt.Sprintf(`node_softnet_dropped_total{cpu="%d"}`, cpu))
		if queue.Why != "" && cpu > 0 {
			return all
		}
		if all = both(all, queue, sum); all.Why != "" {
			return all
		}
	}
}

// droppedOf is dropped for a host of agents, which sends the counters of its TCP.
func (h *GateReader) droppedOf(host int) trial.Reading {
	read := func(key string) trial.Reading { return h.agent(host, key, 1) }
	_, at, _ := h.agentSample(host, segmentsIn)
	return h.agents.hosts[host].drops.read(
		read(segmentsIn),
		segmentsLost(read),
		trial.Reading{},
		at,
	)
}

func segmentsLost(read func(key string) trial.Reading) (all trial.Reading) {
	for _, c := range droppedSegments {
		if rd := read(c.name); rd.Why == "" || c.every {
			all = both(all, rd, sum)
		}
	}
	return all
}

// read is add for readings, if there are all.
func (d *drops) read(in, lost, device trial.Reading, at time.Time) trial.Reading {
	if rd := both(both(in, lost, sum), device, sum); rd.Why != "" {
		return rd
	}
	return d.add(dropped{in.Value, lost.Value, device.Value}, at)
}
