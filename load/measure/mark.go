package measure

import (
	"strings"
	"sync/atomic"
	"time"
)

// Prefixes of the series of ops that were due before the last [Registry.Mark] and recorded after
// it, of ops that were still under way at [Registry.Censor], and of the times from the mark to the
// end of the first of these, if they have one. Only callers of these see such series, by [Split];
// no op's own name begins so.
const (
	LatePrefix  = "late:"
	OpenPrefix  = "open:"
	AfterPrefix = "after:"
)

// Mark ends a stretch at an offset from the run's epoch, in the time of its clock. Ops that are
// recorded from now on and were due before it are cut under names of their own ([LatePrefix]), so
// that they can still be counted in that stretch. Offsets do not decrease. 0, as at the beginning,
// is not a mark.
func (r *Registry) Mark(at time.Duration) {
	r.mark.Store(int64(at))
	for _, s := range r.shards {
		s.mu.Lock()
		s.mark = int64(at)
		s.mu.Unlock()
	}
}

// Late reports whether an op that was due at this offset belongs before the last mark.
func (rec *Recorder) Late(due time.Duration) bool { return int64(due) < rec.reg.mark.Load() }

// A Flight holds the op that a goroutine has under way. Begin and End are for that goroutine, one
// op at a time; the registry reads it from others.
type Flight struct {
	reg   *Registry
	name  atomic.Uint32
	due   atomic.Int64 // of the op under way, plus one; 0: none
	begun atomic.Int64 // of the same op
}

// Flight returns a flight without an op. It counts until Close.
func (rec *Recorder) Flight() *Flight {
	f := &Flight{reg: rec.reg}
	f.reg.mu.Lock()
	defer f.reg.mu.Unlock()
	f.reg.flights[f] = struct{}{}
	return f
}

// Begin records an op of this name that was due at offset due and has waited for a connection since
// begun: the wait for a place in flight before begun is part of its age, but not of the time that
// its timeout limits.
func (f *Flight) Begin(n Name, due, begun time.Duration) {
	f.name.Store(uint32(n))
	f.begun.Store(int64(begun))
	f.due.Store(int64(max(due, 0)) + 1)
}

// End marks the op as recorded. An op that is abandoned when the run is cut off does not end: only
// its age is known.
func (f *Flight) End() { f.due.Store(0) }

// UnderWay returns the name of the op under way, if there is one. It is for the flight's goroutine,
// as Begin and End are.
func (f *Flight) UnderWay() (n Name, ok bool) { return Name(f.name.Load()), f.due.Load() != 0 }

// Close takes the flight, and the op that it may have under way, from the registry.
func (f *Flight) Close() {
	f.reg.mu.Lock()
	delete(f.reg.flights, f)
	f.reg.mu.Unlock()
}

// before returns the op under way if it was due before an offset.
func (f *Flight) before(at int64) (n Name, due, begun int64, ok bool) {
	due = f.due.Load() - 1
	n, begun = Name(f.name.Load()), f.begun.Load()
	return n, due, begun, due >= 0 && due < at && f.due.Load() == due+1
}

// A waiting is a source of ops that have come and that no goroutine has under way yet.
type waiting struct {
	name Name
	each func(before time.Duration, came func(at time.Duration))
}

// Waiting makes Open and Censor count ops of this name that wait for a place: each calls came with
// the offset at which each of those came that did so before an offset. It is called from any
// goroutine, and records nothing meanwhile.
func (r *Registry) Waiting(n Name, each func(before time.Duration, came func(at time.Duration))) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, waiting{n, each})
}

// underWay calls f for each op that was due before the last mark and has not ended. begun is
// negative for one that waits for a place.
func (r *Registry) underWay(f func(n Name, due, begun int64)) {
	mark := r.mark.Load()
	r.mu.Lock()
	sources := r.waiting
	for flight := range r.flights {
		if n, due, begun, ok := flight.before(mark); ok {
			f(n, due, begun)
		}
	}
	r.mu.Unlock()
	for _, w := range sources {
		w.each(time.Duration(mark), func(at time.Duration) { f(w.name, int64(at), -1) })
	}
}

// Open returns how many ops were due before the last mark and have not ended: those under way, and
// those that wait for a place.
func (r *Registry) Open() int {
	n := 0
	r.underWay(func(Name, int64, int64) { n++ })
	return n
}

// InFlight returns how many goroutines have an op under way. Ops that wait for a place are not
// counted.
func (r *Registry) InFlight() int {
	n := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for flight := range r.flights {
		if flight.due.Load() != 0 {
			n++
		}
	}
	return n
}

// Censor counts those with their age at an offset from the epoch: as a timeout if the time since
// they requested a connection has reached the timeout (0: none has), else under [OpenPrefix] and in
// no class, because they have not ended; the age is a lower bound of response and service. A
// timeout has ended by then: its time from the mark on counts under [AfterPrefix], as that of an op
// that was recorded.
func (r *Registry) Censor(at, timeout time.Duration) {
	type aged struct {
		name Name
		kind int
		age  time.Duration
	}
	var all []aged
	r.underWay(func(n Name, due, begun int64) {
		a := aged{n, open, at - time.Duration(due)}
		if timeout > 0 && begun >= 0 && at-time.Duration(begun) >= timeout {
			a.kind = late
		}
		all = append(all, a)
	})
	s := r.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range all {
		if a.kind == late {
			s.cell(late, a.name).classes[Timeout]++
			if d := int64(at) - s.mark; d > 0 {
				s.cell(after, a.name).same.add(d)
			}
		}
		s.cell(a.kind, a.name).same.add(int64(a.age))
	}
}

// Parts are the windows of one Cut by kind of op, under the ops' own names.
type Parts struct {
	InTime []*Window // of the stretch after the last mark
	Late   []*Window // of the one before it
	Open   []*Window // still under way: their ages
	After  []*Window // how long after the mark those of Late ended
}

// Split sorts the windows of one Cut. It changes their names.
func Split(ws []*Window) (p Parts) {
	of := [kinds]*[]*Window{inTime: &p.InTime, late: &p.Late, open: &p.Open, after: &p.After}
	for _, w := range ws {
		into := of[inTime]
		for kind := late; kind < kinds; kind++ {
			if name, ok := strings.CutPrefix(w.Name, prefixes[kind]); ok {
				w.Name, into = name, of[kind]
			}
		}
		*into = append(*into, w)
	}
	return p
}
