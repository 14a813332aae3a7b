package guard

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/watch/probe"
)

// A Limit is of a [Watch]; zero fields stand for the defaults.
type Limit struct {
	// CPU is how long a stretch may compute; 1 s by default.
	CPU time.Duration
	// Heap is how many bytes the heap of the process may hold while stretches compute; by default
	// half of what the host or the control group has free, or a fourth of what the process may
	// address, at least 1 GiB.
	Heap uint64
}

const (
	every     = 20 * time.Millisecond // between two looks
	leastHeap = 1 << 30
	calm      = 10 // looks for which nobody else is blamed for memory that is still held
	// crowd is how many times its limit the process may compute before a stretch is interrupted that
	// shares the CPU with many others.
	crowd = 10
)

// Interruptible is what a [Watch] can stop; [sobek.Runtime] is one.
type Interruptible interface{ Interrupt(reason any) }

// A Watch interrupts code that computes too long or uses too much memory. Its reasons are errors.
// All methods are safe for concurrent use. One serves a process.
type Watch struct {
	limit       Limit
	slow, large error // the reasons
	end         func()
	ended       chan struct{}

	mu    sync.Mutex
	free  []*Computation
	rooms atomic.Pointer[[]*room]

	trusted uint64 // bytes of which a collection found enough dead
	calm    int    // looks
}

// A room holds stretches, and their states close together, as each look reads all of them.
type room struct {
	states    [512]atomic.Uint32
	stretches [512]Computation
}

// The states of a stretch, in the lowest bits; the bits above count who was here.
const (
	_ = iota // not entered, or paused
	computing
	striking // the watch interrupts
	struck
	one  = 4
	mask = one - 1
)

// A Computation is a stretch of code that computes, from Enter to Leave. Its methods belong to the
// goroutine that entered.
type Computation struct {
	w     *Watch
	state *atomic.Uint32
	v     Interruptible
	why   error

	// These are the watch's: how long it was seen to compute.
	look    int
	seen    uint32        // state
	self    time.Duration // its own part of the CPU
	process time.Duration // CPU of the process meanwhile
}

// New returns a Watch that looks until Close.
func New(limit Limit) *Watch {
	if limit.CPU <= 0 {
		limit.CPU = time.Second
	}
	if limit.Heap == 0 {
		free, _ := probe.FreeMemory() // unknown: the least
		limit.Heap = uint64(max(free, 0)) / 2
		var r syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_AS, &r) == nil {
			limit.Heap = min(limit.Heap, r.Cur/4)
		}
		limit.Heap = max(limit.Heap, leastHeap)
	}
	w := &Watch{
		limit: limit,
		slow:  fmt.Errorf("computed for more than %v", limit.CPU),
		large: fmt.Errorf("used too much memory: the process may hold %d MiB", limit.Heap>>20),
		ended: make(chan struct{}),
	}
	w.rooms.Store(new([]*room))
	ending := make(chan struct{})
	w.end = sync.OnceFunc(func() { close(ending) })
	backtrack()
	go w.watch(ending)
	return w
}

// Close ends the watching and waits for it. Stretches may go on and are not interrupted any more.
func (w *Watch) Close() {
	w.end()
	<-w.ended
}

// Enter begins a stretch of v, which computes from now on. Several stretches of one v may be nested
// if all but the innermost are paused.
func (w *Watch) Enter(v Interruptible) *Computation {
	s := w.take()
	s.v = v
	s.state.Store(s.state.Load()&^mask + one | computing)
	return s
}

// take returns a free stretch; there are as many as were ever used at once.
func (w *Watch) take() *Computation {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) == 0 {
		r := new(room)
		for i := range r.stretches {
			s := &r.stretches[i]
			s.w, s.state = w, &r.states[i]
			w.free = append(w.free, s)
		}
		rooms := append(slices.Clip(*w.rooms.Load()), r)
		w.rooms.Store(&rooms)
	}
	s := w.free[len(w.free)-1]
	w.free = w.free[:len(w.free)-1]
	return s
}

// Pause begins a wait within the stretch, which does not count as computing.
func (s *Computation) Pause() {
	if st := s.state.Load(); st&mask == computing {
		s.state.CompareAndSwap(st, st&^mask) // else it was struck at this moment
	}
}

// Resume ends what Pause began. The interrupt of a stretch that was struck before its pause is
// repeated, as a nested stretch may have cleared it.
func (s *Computation) Resume() {
	if st := s.settled(); st&mask == struck {
		s.v.Interrupt(s.why)
	} else {
		s.state.Store(st&^mask | computing)
	}
}

// Leave ends the stretch; s must not be used any more. When it returns, no interrupt is under way,
// and one that came too late is cleared if v has a method ClearInterrupt.
func (s *Computation) Leave() {
	s.Pause()
	if st := s.settled(); st&mask == struck {
		if c, ok := s.v.(interface{ ClearInterrupt() }); ok {
			c.ClearInterrupt()
		}
		s.state.Store(st &^ mask)
	}
	s.v, s.why = nil, nil
	s.w.mu.Lock()
	s.w.free = append(s.w.free, s)
	s.w.mu.Unlock()
}

// settled waits for the few instructions of an interrupt that is under way, and returns the state.
func (s *Computation) settled() uint32 {
	for {
		if st := s.state.Load(); st&mask != striking {
			return st
		}
		runtime.Gosched()
	}
}

// strike interrupts a stretch if it still computes as it was seen to.
func (s *Computation) strike(why error) bool {
	if !s.state.CompareAndSwap(s.seen, s.seen&^mask|striking) {
		return false
	}
	s.why = why
	s.v.Interrupt(why)
	s.state.Store(s.seen&^mask | struck)
	return true
}

// watch looks until the end.
func (w *Watch) watch(ending <-chan struct{}) {
	defer close(w.ended)
	t := time.NewTicker(every)
	defer t.Stop()
	var busy []*Computation
	cpu, at := processCPU(), time.Now()
	for look := 1; ; look++ {
		select {
		case <-ending:
			return
		case <-t.C:
		}
		used, passed := processCPU()-cpu, time.Since(at)
		cpu, at = cpu+used, at.Add(passed)
		busy = busy[:0]
		for _, r := range *w.rooms.Load() {
			for i := range r.states {
				if r.states[i].Load()&mask == computing {
					busy = append(busy, &r.stretches[i])
				}
			}
		}
		for _, s := range busy {
			s.charge(look, used, min(used/time.Duration(len(busy)), passed))
			if s.self > w.limit.CPU || s.process > crowd*w.limit.CPU {
				s.strike(w.slow)
			}
		}
		if len(busy) > 0 && w.full() {
			blame(busy, w.large)
		}
	}
}

// charge counts the CPU since the last look. A stretch that was seen to rest then, or that entered
// anew, begins with nothing.
func (s *Computation) charge(look int, process, self time.Duration) {
	st := s.state.Load()&^mask | computing
	if s.look == look-1 && s.seen == st {
		s.self += self
		s.process += process
	} else {
		s.self, s.process = 0, 0
	}
	s.look, s.seen = look, st
}

// blame interrupts those that were seen computing before, or else all.
func blame(busy []*Computation, why error) {
	some := false
	for _, s := range busy {
		some = s.process > 0 && s.strike(why) || some
	}
	for _, s := range busy {
		if !some {
			s.strike(why)
		}
	}
}

// full reports whether the live heap is beyond the limit.
func (w *Watch) full() bool {
	if w.calm--; w.calm > 0 || objects() <= max(w.limit.Heap, w.trusted) {
		return false
	}
	runtime.GC()
	n := objects()
	if w.trusted = n + n/4; n <= w.limit.Heap { // as often as with GOGC=25 at worst
		return false
	}
	w.calm, w.trusted = calm, 0
	return true
}

// objects returns the bytes of all objects, garbage among them.
func objects() uint64 {
	m := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(m[:])
	return m[0].Value.Uint64()
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it fails for invalid arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
