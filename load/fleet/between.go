package fleet

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// A delivery between two hosts has two clocks. It is a part of the latency while these may be off
// by at most one part in mostOff of the median of deliveries, which is read of each judgedOf of
// them or a few more.
const (
	mostOff  = 10
	judgedOf = 100
)

// between holds the deliveries between hosts, as the coordinator knows them. In a run they leave
// the latency once at most: their seconds before that stay in, and none come back.
type between struct {
	mu     sync.Mutex
	within *measure.Registry  // deliveries within hosts of the tick that is being collected
	held   *measure.Registry  // and between hosts
	recent *measure.Histogram // deliveries since the median was read
	left   *Apart             // nil while they are in
	same   uint64             // deliveries within hosts
	kept   uint64             // and between hosts, in the latency
	early  map[[2]int]workload.Early
}

// An Apart describes that deliveries between hosts are not in the latency.
type Apart struct {
	Since  time.Duration // the first tick without them, by its end
	Within time.Duration // the possible error between two clocks then
	Median time.Duration // of deliveries then
	// Left is the number of deliveries between hosts that are not in the latency, Kept of those
	// before, which are. Same is the number of deliveries within hosts.
	Same, Kept, Left uint64
}

// An Untimely describes deliveries from one host to another that came before they were sent, by
// more than the clocks may be off.
type Untimely struct {
	From, To string
	Count    int64
	By       time.Duration // of the worst
	Within   time.Duration // the possible error between the clocks, for the worst
}

// sends marks a message that came from the link, whose clock may be off by so much, with the host
// of its author.
func (l *link) sends(m *message, off time.Duration) {
	if l.name == "" {
		return // one host has one clock
	}
	if m.From < 1 || m.From > l.of {
		m.From, m.Within = l.n+1, 0
	}
	m.Within += off
}

// receives changes the mark of a message to that which the link's host needs, whose clock may be
// off by so much.
func (l *link) receives(m *message, off time.Duration) {
	switch m.From {
	case 0:
	case l.n + 1: // an event elsewhere has named it
		m.From, m.Within = 0, 0
	default:
		m.Within += off
	}
}

// deliveries returns [workload.Delivery] or [workload.Between] for the series of such deliveries,
// and "" for others.
func deliveries(series string) string {
	switch name := strings.TrimPrefix(series, measure.LatePrefix); name {
	case workload.Delivery, workload.Between:
		return name
	}
	return ""
}

// merge takes in the windows of a report, in their encoding. Deliveries between hosts stand apart.
// After an error, which ends the run, some packs may have been merged.
func (d *RemoteDriver) merge(r *report) error {
	if err := r.Windows.merge(d.cfg.Registry); err != nil {
		return err
	}
	if err := r.Deliveries.merge(d.cfg.Registry); err != nil {
		return err
	}
	if d.cfg.Hosts == nil {
		return r.Between.merge(d.cfg.Registry)
	}
	if err := r.Deliveries.merge(d.between.within); err != nil {
		return err
	}
	return r.Between.merge(d.between.held)
}

// early takes in the deliveries of a link's report that came before they were sent.
func (d *RemoteDriver) early(l *link, early []workload.Early) {
	if d.cfg.Hosts == nil {
		return
	}
	b := &d.between
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range early {
		if e.From < 1 || e.From > len(d.links) || e.Count < 1 {
			continue // no host of this run
		}
		if b.early == nil {
			b.early = map[[2]int]workload.Early{}
		}
		at := [2]int{e.From - 1, l.n}
		b.early[at] = b.early[at].With(e)
	}
}

// settle makes the held deliveries a part of the latency, or not. All reports of the tick are
// there.
func (d *RemoteDriver) settle(tick time.Duration) {
	if d.cfg.Hosts == nil {
		return
	}
	if tick == 0 { // between two
		tick = time.Since(d.cfg.Epoch)
	}
	off := d.errorBetween()
	b := &d.between
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.within.Cut() {
		b.recent.Merge(w.Response)
		b.same += w.Count()
	}
	held := b.held.Cut()
	for _, w := range held {
		b.recent.Merge(w.Response)
	}
	if b.recent.Count() >= judgedOf {
		median := b.recent.Quantile(0.5)
		if b.left == nil && off > median/mostOff {
			b.left = &Apart{Since: tick, Within: off, Median: median}
		}
		b.recent.Reset()
	}
	for _, w := range held {
		if b.left != nil {
			b.left.Left += w.Count()
			continue
		}
		b.kept += w.Count()
		w.Name = strings.TrimSuffix(w.Name, workload.Between) + workload.Delivery
		d.cfg.Registry.Merge([]*measure.Window{w})
	}
}

// errorBetween returns the largest possible error between the clocks of two hosts.
func (d *RemoteDriver) errorBetween() time.Duration {
	var first, second time.Duration
	for _, l := range d.links {
		l.mu.Lock()
		e := l.clock.errorAt(time.Since(l.base))
		l.mu.Unlock()
		if e > first {
			e, first = first, e
		}
		second = max(second, e)
	}
	return first + second
}

// Apart reports whether deliveries between hosts have left the latency.
func (d *RemoteDriver) Apart() (a Apart, left bool) {
	b := &d.between
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == nil {
		return a, false
	}
	a = *b.left
	a.Same, a.Kept = b.same, b.kept
	return a, true
}

// Untimely returns the deliveries that came before they were sent, the worst pair of hosts first.
func (d *RemoteDriver) Untimely() (out []Untimely) {
	b := &d.between
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, e := range b.early {
		out = append(out, Untimely{d.links[at[0]].String(), d.links[at[1]].String(), e.Count, e.By,
			e.Within})
	}
	slices.SortFunc(out, func(x, y Untimely) int {
		return cmp.Or(cmp.Compare(y.By, x.By), cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	return out
}
