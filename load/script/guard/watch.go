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

// Limit are of a [Watch]; zero fields stand for the defaults.
type Limit struct {
	// CPU is how long a stretch may compute; 1 s by default.
	CPU time.Duration
	// Heap is how many bytes the heap of the process may hold while stretches compute; by default
	// half of what the host or the control group has free when the Watch is made, at least 1 GiB.
	Heap uint64
}

const (
	every     = 20 * time.Millisecond // between two looks
	leastHeap = 1 << 30
	// calm is for how many looks nobody else is blamed for memory that is still held.
	calm = 10
	// crowd is how many times its limit the process may compute before a stretch is interrupted that
	// shares the CPU with many others.
	crowd = 10
)

// Interruptible is what a [Watch] can stop; [sobek.Runtime] is one.
type Interruptible interface{ Interrupt(reason any) }

// A Watch interrupts code that computes too long or uses too much memory. Its reasons are errors.
// All methods are safe for concurrent use. One serves a process.
type Watch struct {
	limit Limit
	slow  error // the reasons
	large error

	mu     sync.Mutex // of growing
	rooms  atomic.Pointer[[]*room]
	free   atomic.Uint64 // the first free stretch's number + 1, below the count of changes
	ending chan struct{}
	ended  chan struct{}
	end    func()
}

const roomSize = 512

// A room holds stretches, and their states close together, as each look reads all of them.
type room struct {
	states    [roomSize]atomic.Uint32
	stretches [roomSize]Computation
}

// The states of a stretch, in the lowest bits; the bits above count the stretches that were here.
const (
	resting = iota // not entered, or paused
	computing
	striking // the watch interrupts
	struck
	stateBits = 2
	stateMask = 1<<stateBits - 1
)

// A Computation is code that computes, from Enter to Leave. Its methods belong to the goroutine that
// entered.
type Computation struct {
	w     *Watch
	state *atomic.Uint32
	v     Interruptible
	why   error
	id    uint32
	next  atomic.Uint32 // free stretch, its number + 1

	// These are the watch's: how long it was seen to compute.
	look    int
	entry   uint32
	self    time.Duration // its own part of the CPU
	process time.Duration // CPU of the process meanwhile
}

// New returns a Watch that looks until Close.
func New(limit Limit) *Watch {
	if limit.CPU <= 0 {
		limit.CPU = time.Second
	}
	if limit.Heap == 0 {
		limit.Heap = half()
	}
	w := &Watch{
		limit: limit,
		slow:  fmt.Errorf("computed for more than %v", limit.CPU),
		large: fmt.Errorf("used too much memory: the process may hold %d MiB", limit.Heap>>20),

		ending: make(chan struct{}),
		ended:  make(chan struct{}),
	}
	w.rooms.Store(new([]*room))
	w.end = sync.OnceFunc(func() { close(w.ending) })
	backtrack()
	go w.watch()
	return w
}

// Close ends the watching and waits for it. Computationes may go on and are not interrupted any more.
func (w *Watch) Close() {
	w.end()
	<-w.ended
}

// Enter begins a stretch of v, which computes from now on. Several stretches of one v may be nested
// if all but the innermost are paused.
func (w *Watch) Enter(v Interruptible) *Computation {
	s := w.take()
	s.v = v
	s.state.Store(s.state.Load()&^stateMask + 1<<stateBits | computing)
	return s
}

// Pause begins a wait within the stretch, which does not count as computing.
func (s *Computation) Pause() {
	st := s.state.Load()
	if st&stateMask == computing {
		s.state.CompareAndSwap(st, st&^stateMask) // else it was struck at this moment
	}
}

// Resume ends what Pause began. The interrupt of a stretch that was struck before its pause is
// repeated, as a nested stretch may have cleared it.
func (s *Computation) Resume() {
	st := s.settled()
	if st&stateMask == struck {
		s.v.Interrupt(s.why)
		return
	}
	s.state.Store(st&^stateMask | computing)
}

// Leave ends the stretch; s must not be used any more. When it returns, no interrupt is under way,
// and one that came too late is cleared if v has a method ClearInterrupt.
func (s *Computation) Leave() {
	st := s.settled()
	if st&stateMask == computing && !s.state.CompareAndSwap(st, st&^stateMask) {
		st = s.settled()
	}
	if st&stateMask == struck {
		if c, ok := s.v.(interface{ ClearInterrupt() }); ok {
			c.ClearInterrupt()
		}
		s.state.Store(st &^ stateMask)
	}
	s.v, s.why = nil, nil
	s.w.give(s)
}

// settled waits for the few instructions of an interrupt that is under way, and returns the state.
func (s *Computation) settled() uint32 {
	for {
		st := s.state.Load()
		if st&stateMask != striking {
			return st
		}
		runtime.Gosched()
	}
}

func (w *Watch) stretch(id uint32) *Computation {
	return &(*w.rooms.Load())[id/roomSize].stretches[id%roomSize]
}

// take returns a free stretch; there are as many as were ever used at once.
func (w *Watch) take() *Computation {
	for {
		first := w.free.Load()
		if uint32(first) == 0 {
			w.grow()
			continue
		}
		s := w.stretch(uint32(first) - 1)
		if w.free.CompareAndSwap(first, (first>>32+1)<<32|uint64(s.next.Load())) {
			return s
		}
	}
}

func (w *Watch) give(s *Computation) {
	for {
		first := w.free.Load()
		s.next.Store(uint32(first))
		if w.free.CompareAndSwap(first, (first>>32+1)<<32|uint64(s.id+1)) {
			return
		}
	}
}

func (w *Watch) grow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if uint32(w.free.Load()) != 0 {
		return
	}
	old := *w.rooms.Load()
	r := new(room)
	rooms := append(slices.Clip(old), r)
	w.rooms.Store(&rooms)
	for i := range r.stretches {
		s := &r.stretches[i]
		s.w, s.state, s.id = w, &r.states[i], uint32(len(old)*roomSize+i)
		w.give(s)
	}
}

// strike interrupts a stretch if it still computes as it did when the look saw it.
func (s *Computation) strike(why error) bool {
	st := s.entry<<stateBits | computing
	if !s.state.CompareAndSwap(st, st&^stateMask|striking) {
		return false
	}
	s.why = why
	s.v.Interrupt(why)
	s.state.Store(st&^stateMask | struck)
	return true
}

// watch looks until the end.
func (w *Watch) watch() {
	defer close(w.ended)
	t := time.NewTicker(every)
	defer t.Stop()
	h := heap{limit: w.limit.Heap}
	var busy []*Computation
	used, at := processCPU(), time.Now()
	for look := 1; ; look++ {
		select {
		case <-w.ending:
			return
		case now := <-t.C:
			cpu := processCPU()
			busy = w.busy(busy[:0])
			w.charge(busy, look, cpu-used, now.Sub(at))
			used, at = cpu, now
			if len(busy) > 0 && h.over() {
				blame(busy, w.large)
			}
		}
	}
}

// busy appends the stretches that compute.
func (w *Watch) busy(out []*Computation) []*Computation {
	for _, r := range *w.rooms.Load() {
		for i := range r.states {
			if r.states[i].Load()&stateMask == computing {
				out = append(out, &r.stretches[i])
			}
		}
	}
	return out
}

// charge divides the CPU of the process since the last look among those that compute, and interrupts
// who has used its limit. One that was seen to rest, or that entered anew, begins with nothing.
func (w *Watch) charge(busy []*Computation, look int, cpu, wall time.Duration) {
	for _, s := range busy {
		entry := s.state.Load() >> stateBits
		if s.look != look-1 || s.entry != entry {
			s.self, s.process = 0, 0
		} else {
			s.self += min(cpu/time.Duration(len(busy)), wall)
			s.process += cpu
		}
		s.look, s.entry = look, entry
		if s.self > w.limit.CPU || s.process > crowd*w.limit.CPU {
			s.strike(w.slow)
		}
	}
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

// A heap is what the process holds, in bytes.
type heap struct {
	limit   uint64
	trusted uint64 // no collection below this many: one has found enough of them dead
	calm    int    // looks for which the last collection serves
}

// over reports whether the live heap is beyond the limit.
func (h *heap) over() bool {
	if h.calm > 0 {
		h.calm--
		return false
	}
	if objects() <= max(h.limit, h.trusted) {
		return false
	}
	runtime.GC()
	n := objects()
	h.trusted = n + n/4 // as often as with GOGC=25 at worst
	if n <= h.limit {
		return false
	}
	h.calm = calm
	h.trusted = 0
	return true
}

// objects returns the bytes of all objects, garbage among them.
func objects() uint64 {
	m := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(m[:])
	return m[0].Value.Uint64()
}

// half returns half of the memory that is free for this process, or a fourth of what it may address.
func half() uint64 {
	free, _ := probe.FreeMemory() // unknown: the least
	n := uint64(max(free, 0)) / 2
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &r) == nil {
		n = min(n, r.Cur/4)
	}
	return max(n, leastHeap)
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it fails for invalid arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
