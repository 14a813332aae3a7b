package measure

import (
	"strings"
	"sync/atomic"
	"time"
)

// How the series begin of what was due before the last [Registry.Mark] and recorded after it, of what was still under way when
// [Registry.Censor] looked, and of how long after the mark the first of these ended, if they have a time. Only who calls these sees such series,
// by [Split]; no op's own name begins so.
const (
	LatePrefix  = "late:"
	OpenPrefix  = "open:"
	AfterPrefix = "after:"
)

// Mark ends a stretch at an offset from the epoch. Ops that are recorded from now on and were due before it are cut under names of
// their own ([LatePrefix]), so that they can still be counted in that stretch. Offsets do not decrease. 0, as at the beginning, is no mark.
func (r *Registry) Mark(epoch time.Time, at time.Duration) {
	r.mu.Lock()
	r.epoch = epoch
	r.mu.Unlock()
	r.mark.Store(int64(at))
	for _, s := range r.shards {
		s.mu.Lock()
		s.mark = int64(at)
		s.mu.Unlock()
	}
}

// Late reports whether an op that was due at this offset belongs before the last mark.
func (rec *Recorder) Late(due time.Duration) bool { return int64(due) < rec.reg.mark.Load() }

// A Flight says which op a goroutine has under way. Begin and End are for that goroutine, one op at a time; the registry looks from
// others.
type Flight struct {
	reg  *Registry
	name atomic.Uint32
	due  atomic.Int64 // of the op under way, plus one; 0: none
}

// Flight returns a flight without an op. It counts until Close.
func (rec *Recorder) Flight() *Flight {
	f := &Flight{reg: rec.reg}
	f.reg.mu.Lock()
	defer f.reg.mu.Unlock()
	if f.reg.flights == nil {
		f.reg.flights = map[*Flight]struct{}{}
	}
	f.reg.flights[f] = struct{}{}
	return f
}

// Begin says that an op of this name is under way that was due at this offset.
func (f *Flight) Begin(n Name, due time.Duration) {
	f.name.Store(uint32(n))
	f.due.Store(int64(max(due, 0)) + 1)
}

// End says that it was recorded. An op that is given up when the run is cut off does not end: its age is what is known of it.
func (f *Flight) End() { f.due.Store(0) }

// Close takes the flight, and what it may have under way, from the registry.
func (f *Flight) Close() {
	f.reg.mu.Lock()
	delete(f.reg.flights, f)
	f.reg.mu.Unlock()
}

// before returns the op under way if it was due before an offset.
func (f *Flight) before(at int64) (n Name, due int64, ok bool) {
	due = f.due.Load() - 1
	n = Name(f.name.Load())
	return n, due, due >= 0 && due < at && f.due.Load() == due+1
}

// Open returns how many ops are under way that were due before the last mark.
func (r *Registry) Open() int {
	n, mark := 0, r.mark.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.flights {
		if _, _, ok := f.before(mark); ok {
			n++
		}
	}
	return n
}

// Censor counts those with their age at an offset from the epoch: as a timeout if the age has reached the timeout (0: none has), else
// under [OpenPrefix] and in no class, because they have not ended; the age is a lower bound of response and service.
func (r *Registry) Censor(at, timeout time.Duration) {
	mark := r.mark.Load()
	type aged struct {
		name Name
		age  time.Duration
	}
	var all []aged
	r.mu.Lock()
	for f := range r.flights {
		if name, due, ok := f.before(mark); ok {
			all = append(all, aged{name, at - time.Duration(due)})
		}
	}
	r.mu.Unlock()
	s := r.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range all {
		kind := open
		if timeout > 0 && a.age >= timeout {
			kind = late
			s.cell(kind, a.name).classes[Timeout]++
		}
		s.cell(kind, a.name).same.add(int64(a.age))
	}
}

// Parts are the windows of one Cut by what their ops are, under the ops' own names.
type Parts struct {
	InTime []*Window // of the stretch after the last mark
	Late   []*Window // of the one before it
	Open   []*Window // still under way: their ages
	After  []*Window // how long after the mark those of Late ended
}

// Split sorts the windows of one Cut. It changes their names.
func Split(ws []*Window) (p Parts) {
	for _, w := range ws {
		into := &p.InTime
		for _, special := range []struct {
			prefix string
			of     *[]*Window
		}{{LatePrefix, &p.Late}, {OpenPrefix, &p.Open}, {AfterPrefix, &p.After}} {
			if name, ok := strings.CutPrefix(w.Name, special.prefix); ok {
				w.Name, into = name, special.of
			}
		}
		*into = append(*into, w)
	}
	return p
}
