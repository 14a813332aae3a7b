package probe

import (
	"fmt"
	"regexp"
	"time"

	"plimsoll/watch/series"
)

// sectorSize is the unit of /proc/diskstats, for every device.
const sectorSize = 512

// disks reads /proc/diskstats of whole devices. Loop devices, RAM disks and partitions are left
// out, as in node_exporter.
type disks struct {
	labels  named
	known   map[string]*disk
	elapsed time.Duration // since the last call of parse, by the caller's clock; 0: not known
}

// disk is the state of one device.
type disk struct {
	skip bool
	raw  [len(diskColumns)]uint64 // as last read
	now  [len(diskColumns)]uint64 // the part of raw that is the run's
	last [len(diskColumns)]uint64
	seen bool // last is filled
}

var diskColumns = [...]struct {
	name  string
	scale float64
}{
	{"node_disk_reads_completed_total", 1},
	{"", 0}, // reads merged
	{"node_disk_read_bytes_total", sectorSize},
	{"node_disk_read_time_seconds_total", 1e-3},
	{"node_disk_writes_completed_total", 1},
	{"", 0}, // writes merged
	{"node_disk_written_bytes_total", sectorSize},
	{"node_disk_write_time_seconds_total", 1e-3},
	{"node_disk_io_now", 1},
	{"node_disk_io_time_seconds_total", 1e-3},
	{"node_disk_io_time_weighted_seconds_total", 1e-3},
}

func (d *disks) parse(text []byte, k *sink) error { return d.scan(text, k, sampled) }

// skip leaves the growth in a gap out.
func (d *disks) skip(end, begin []byte) error {
	return skipping(end, begin, func(text []byte, how reading) error {
		return d.scan(text, nil, how)
	})
}

// inFlight is the column of operations under way, which is no counter.
const inFlight = 8

// scan reads the text. k may be nil unless samples are wanted.
func (d *disks) scan(text []byte, k *sink, how reading) error {
	if d.known == nil {
		d.known = map[string]*disk{}
		d.labels.label = "device"
	}
	for line := range lines(text) {
		f := fields(line)
		f.next()
		f.next()
		dev := f.next()
		x := d.known[string(dev)]
		if x == nil {
			x = &disk{skip: skippedDisk.Match(dev)}
			d.known[string(dev)] = x
		}
		if x.skip {
			continue
		}
		ls := d.labels.get(dev)
		for i, c := range diskColumns {
			v, err := f.number()
			if err != nil {
				return fmt.Errorf("line %.60q: %w", line, err)
			}
			if how.count(&x.now[i], &x.raw[i], v); i == inFlight {
				x.now[i] = v
			}
			if how == sampled && c.name != "" {
				k.add(c.name, ls, float64(x.now[i])*c.scale)
			}
		}
		if how != sampled {
			continue
		}
		if x.seen && d.elapsed > 0 {
			x.rates(d.elapsed, ls, k)
		}
		x.last, x.seen = x.now, true
	}
	return nil // a host without disks is possible
}

// rates emits the await, %util and aqu-sz of iostat. The kernel's times of a device are 32-bit
// milliseconds on some architectures; a counter that steps back counts as unchanged.
func (x *disk) rates(elapsed time.Duration, ls []series.Label, k *sink) {
	const reads, readTime, writes, writeTime, busy, weighted = 0, 3, 4, 7, 9, 10
	d := func(i int) float64 { return float64(since(x.now[i], x.last[i])) }
	if n := d(reads) + d(writes); n > 0 {
		k.add("plimsoll_disk_await_seconds", ls, (d(readTime)+d(writeTime))/n/1e3)
	}
	ms := float64(elapsed) / float64(time.Millisecond)
	k.add("plimsoll_disk_busy_ratio", ls, min(d(busy)/ms, 1))
	k.add("plimsoll_disk_queue_length", ls, d(weighted)/ms)
}

// skippedDisk is the name of a loop device, a RAM disk, a floppy or a partition (sda1, nvme0n1p1,
// mmcblk0p1).
var skippedDisk = regexp.MustCompile(
	`^(loop|ram|zram|fd|sr)[0-9]+$|^(sd|hd|vd|xvd)[a-z]+[0-9]+$|[0-9]p[0-9]+$`,
)
