package measure

import (
	"maps"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// A Name stands for an op's name inside one [Registry].
type Name uint16

// A Registry collects the ops of a run, in shards so that many goroutines can record without
// meeting. All methods are safe for concurrent use.
type Registry struct {
	mu      sync.Mutex
	names   []string
	byName  map[string]Name
	shards  []*shard
	cutMu   sync.Mutex
	merged  map[string]*Window // recorded elsewhere; under cutMu
	foreign map[string]bool    // names that MergeBinary has taken; under cutMu

	mark    atomic.Int64         // see Mark
	flights map[*Flight]struct{} // under mu
	waiting []waiting            // under mu; grows only
}

type shard struct {
	mu   sync.Mutex
	mark int64 // an op due before it belongs to the stretch before
	cur  [kinds]cells
	free [kinds]cells // the spare set that the next cut swaps in
	_    [64]byte     // keeps two shards' locks off one cache line
}

// cells are windows in the making by Name; nil until used.
type cells []*cell

// The kinds of cells of a shard.
const (
	inTime = iota
	late   // see LatePrefix
	open   // see OpenPrefix
	after  // see AfterPrefix
	kinds
)

// prefixes are the prefixes of the series of each kind.
var prefixes = [kinds]string{inTime: "", late: LatePrefix, open: OpenPrefix, after: AfterPrefix}

// A cell is a window in the making. An op that waited for nothing has one time for response and
// service, and is kept once: same belongs to both.
type cell struct {
	same, response, service, wait, lag tally
	classes                            [NumClasses]uint64
	bytes                              int64
}

func (c *cell) add(e *entry) {
	c.classes[e.class]++
	c.bytes += e.bytes
	if e.scheduled && !c.lag.hit(e.lag) {
		c.lag.miss(e.lag)
	}
	switch {
	case !e.class.Timed():
	case e.wait == 0:
		if !c.same.hit(e.service) {
			c.same.miss(e.service)
		}
	default:
		if e.wait > 0 && !c.wait.hit(e.wait) {
			c.wait.miss(e.wait)
		}
		if !c.service.hit(e.service) {
			c.service.miss(e.service)
		}
		if r := e.wait + e.service; !c.response.hit(r) {
			c.response.miss(r)
		}
	}
}

func (c *cell) empty() bool {
	return c.classes == [NumClasses]uint64{} && c.lag.span == 0 && c.same.span == 0
}

// moveTo adds c to w and empties it.
func (c *cell) moveTo(w *Window) {
	c.same.addTo(w.Response)
	c.response.addTo(w.Response)
	c.same.addTo(w.Service)
	c.service.addTo(w.Service)
	c.wait.addTo(w.Wait)
	c.lag.addTo(w.Lag)
	w.count(&c.classes, c.bytes)
	c.reset()
}

func (c *cell) reset() {
	for _, t := range [...]*tally{&c.same, &c.response, &c.service, &c.wait, &c.lag} {
		t.reset()
	}
	c.classes, c.bytes = [NumClasses]uint64{}, 0
}

// NewRegistry returns a registry with n shards (at least 1; GOMAXPROCS is a good n).
func NewRegistry(n int) *Registry {
	r := &Registry{
		byName:  map[string]Name{},
		merged:  map[string]*Window{},
		foreign: map[string]bool{},
		flights: map[*Flight]struct{}{},
	}
	for range max(n, 1) {
		r.shards = append(r.shards, new(shard))
	}
	return r
}

// Name returns the handle of an op name, the same one for the same name. It takes a lock: call
// once, keep it.
func (r *Registry) Name(name string) Name {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.byName[name]; ok {
		return n
	}
	n := Name(len(r.names))
	r.names = append(r.names, name)
	r.byName[name] = n
	return n
}

// Recorder returns a handle for writer i; the same i gives the same shard.
func (r *Registry) Recorder(i int) *Recorder {
	return &Recorder{reg: r, shard: r.shards[uint(i)%uint(len(r.shards))]}
}

// A Recorder records ops into one shard of its registry, each under the shard's lock. It is safe
// for concurrent use and allocates only for a name that was not seen for a while. A goroutine that
// records often does it through a [Batch].
type Recorder struct {
	reg   *Registry
	shard *shard
}

// Name is [Registry.Name] of the recorder's registry.
func (rec *Recorder) Name(name string) Name { return rec.reg.Name(name) }

// Record counts op under n.
func (rec *Recorder) Record(n Name, op *Op) {
	var e entry
	e.set(n, op)
	s := rec.shard
	s.mu.Lock()
	s.add(&e)
	s.mu.Unlock()
}

// Value counts one value of a distribution that is not an op of the schedule, such as a delivery:
// it goes into Response and Service alike, class OK.
func (rec *Recorder) Value(n Name, d time.Duration) { rec.Since(n, math.MaxInt64, d) }

// Since is Value for an event that began at an offset from the epoch and took d: its series is the
// one of an op that was due then.
func (rec *Recorder) Since(n Name, began, d time.Duration) {
	s := rec.shard
	s.mu.Lock()
	c := s.cell(s.kind(int64(max(began, 0))), n)
	c.classes[OK]++
	c.same.add(int64(d))
	s.mu.Unlock()
}

// Error counts an op that ended in class c without times (a delivery that never came, an op
// dropped).
func (rec *Recorder) Error(n Name, c Class) { rec.ErrorOf(n, c, math.MaxInt64) }

// ErrorOf is Error for an op that was due at an offset from the epoch: of the stretch before the
// last mark if it was due before that.
func (rec *Recorder) ErrorOf(n Name, c Class, due time.Duration) {
	s := rec.shard
	s.mu.Lock()
	s.cell(s.kind(int64(due)), n).classes[c]++
	s.mu.Unlock()
}

// Lag records the generator's lateness of an action under n without an op.
func (rec *Recorder) Lag(n Name, d time.Duration) {
	s := rec.shard
	s.mu.Lock()
	s.cell(inTime, n).lag.add(int64(d))
	s.mu.Unlock()
}

func (s *shard) cell(kind int, n Name) *cell {
	of := &s.cur[kind]
	if int(n) < len(*of) && (*of)[n] != nil {
		return (*of)[n]
	}
	for int(n) >= len(*of) {
		*of = append(*of, nil)
	}
	(*of)[n] = new(cell)
	return (*of)[n]
}

// kind returns the kind of an op that was due at an offset from the epoch. The lock is held.
func (s *shard) kind(due int64) int {
	if due < s.mark {
		return late
	}
	return inTime
}

// add counts an op. The lock is held.
func (s *shard) add(e *entry) {
	kind := s.kind(e.due)
	if kind == late && e.class.Timed() {
		if d := e.due + e.wait + e.service - s.mark; d > 0 {
			s.cell(after, e.name).same.add(d)
		}
	}
	s.cell(kind, e.name).add(e)
}

// Merge adds the windows that another registry has cut to those that the next Cut returns. The
// windows belong to the registry from then on.
func (r *Registry) Merge(windows []*Window) {
	r.cutMu.Lock()
	defer r.cutMu.Unlock()
	for _, w := range windows {
		if m := r.merged[w.Name]; m != nil {
			m.Merge(w)
		} else {
			r.merged[w.Name] = w
		}
	}
}

// Cut returns the records since the previous cut, one window per name that saw anything, ordered by
// name. The windows belong to the caller. Ops recorded while Cut runs fall into this cut or the
// next, never both or none; those in a [Batch] fall into the cut after its Flush.
func (r *Registry) Cut() []*Window {
	r.cutMu.Lock()
	defer r.cutMu.Unlock()
	r.mu.Lock()
	n := len(r.names)
	r.mu.Unlock()
	var by [kinds][]*Window
	for _, s := range r.shards {
		s.mu.Lock()
		s.cur, s.free = s.free, s.cur
		s.mu.Unlock()
		for kind, of := range s.free {
			for i, c := range of {
				if c == nil {
					continue
				}
				if c.empty() {
					c.reset()
					continue
				}
				// A name registered after the snapshot above may already have ops.
				for i >= len(by[kind]) {
					by[kind] = append(by[kind], nil)
				}
				if by[kind][i] == nil {
					by[kind][i] = NewWindow("")
				}
				c.moveTo(by[kind][i])
			}
		}
	}
	out := make([]*Window, 0, n)
	r.mu.Lock()
	for kind, of := range by {
		for i, w := range of {
			if w != nil {
				w.Name = prefixes[kind] + r.names[i]
				out = append(out, w)
			}
		}
	}
	r.mu.Unlock()
	for _, w := range out {
		if m := r.merged[w.Name]; m != nil {
			w.Merge(m)
			delete(r.merged, w.Name)
		}
	}
	out = slices.AppendSeq(out, maps.Values(r.merged))
	clear(r.merged)
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
