// Package heaplimit limits the memory of a process to the need of its heap, and keeps collections from
// holding up what is due.
//
// Without it the Go runtime keeps the memory of the largest of all collections, and the memory of a
// generator whose heap is steady rises for hours. The limit is Go's soft one. It follows the live
// heap with each collection and leaves the collector the memory that it would use without it, so
// that collections stay about as frequent; the rest goes back to the system. A process that was
// started with GOMEMLIMIT keeps that limit.
//
// On few cores a collection that is in a hurry has the goroutines that allocate help it, and due timers
// wait for the collector. So collections begin earlier than the runtime would begin them. Code that
// makes much garbage beside a small heap, as scripts do, would have it collected several times a
// second: [Room] leaves more of it.
package heaplimit

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

const (
	// past is the time for which a need counts: a run's measured phase has its own memory, and not
	// the memory of its ramp.
	past = 5 * time.Minute
	// leastLimit is the least limit: small programs gain nothing by one.
	leastLimit = 64 << 20
	// limitStep is the inverse of the least relative difference for which a limit is set anew.
	limitStep = 50
	// leastHeap is the heap that the collector takes its percentage of, however small the live one is.
	leastHeap = 4 << 20
	// lookEvery is the time between two looks at what is new.
	lookEvery = 100 * time.Millisecond
	// nudgeEvery is how late timers may be in a collection.
	nudgeEvery = time.Millisecond
)

// process is the keeper of this process.
var process keeper

// Keep begins to follow the heap of this process, until end is called. It is safe for concurrent
// use; the last end restores the limit from before the first Keep.
func Keep() (end func()) { return process.keep() }

// Room has the collector leave at least so many bytes of new objects, while the heap is followed and
// until end is called. It does nothing in a process that was started with GOGC or GOMEMLIMIT. It is
// safe for concurrent use; the last room counts, until all have ended.
func Room(bytes int64) (end func()) { return process.leave(bytes) }

type keeper struct {
	mu     sync.Mutex
	keeps  int           // runs that go on
	turn   int           // of the sentinel, so that one of an earlier turn does nothing
	before int64         // the limit that there was
	limit  int64         // that was set; 0 for none
	uses   []use         // of the last past, oldest first
	ended  chan struct{} // closed when the last run has ended

	rooms   int // that have not ended
	room    int64
	percent int // of the collector, that was set; 0 for none
	gogc    int // that there was
}

// A use is the need of the process at the end of a collection, in bytes.
type use struct {
	at   time.Time
	need int64 // at the end of the next collection's cycle
	// tight leaves a quarter of the live heap free: less would keep the collector busy all the
	// time.
	tight int64
}

// A heap is the memory of the process at the end of a collection, in bytes.
type heap struct {
	live    int64
	base    int64 // live objects and roots, of which the collector takes its percentage
	beside  int64 // that is no heap
	percent int
}

// use returns the need of the process when its heap is as large as the collector lets it become
// ("A Guide to the Go Garbage Collector", GOGC).
func (h heap) use(percent int) use {
	return use{
		at:    time.Now(),
		need:  h.live + h.base*int64(percent)/100 + h.beside,
		tight: h.live + h.live/4 + h.beside,
	}
}

// A sentinel is garbage as soon as it is made, so it ends with the next collection.
type sentinel struct{ _ [2]uint64 }

func (k *keeper) keep() (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keeps++; k.keeps == 1 {
		k.before = debug.SetMemoryLimit(-1)
		k.limit = 0
		k.uses = nil
		if k.before == math.MaxInt64 {
			k.turn++
			k.arm(k.turn)
		}
		k.ended = make(chan struct{})
		go ahead(k.ended)
	}
	return sync.OnceFunc(k.release)
}

func (k *keeper) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keeps--; k.keeps > 0 {
		return
	}
	k.turn++
	close(k.ended)
	if k.limit > 0 {
		debug.SetMemoryLimit(k.before)
	}
	k.narrow()
}

func (k *keeper) leave(bytes int64) (end func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.room = bytes
	k.rooms++
	return sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.rooms--; k.rooms == 0 {
			k.narrow()
		}
	})
}

// ahead collects before the runtime would, which is when seven tenths or more of what it leaves is used
// (runtime/mgcpacer.go, triggerLowerBound).
func ahead(ended <-chan struct{}) {
	const begin = 0.6
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	m := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/goal:bytes"},
	}
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		metrics.Read(m)
		live := float64(m[0].Value.Uint64())
		if float64(m[1].Value.Uint64())-live > begin*(float64(m[2].Value.Uint64())-live) {
			end := nudges()
			runtime.GC()
			end()
		}
	}
}

// narrow takes back what [keeper.widen] has set.
func (k *keeper) narrow() {
	if k.percent > 0 {
		debug.SetGCPercent(k.gogc)
	}
	k.percent = 0
}

// widen returns the percentage of the collector, which it sets to what leaves the room beside a heap
// of that many bytes.
func (k *keeper) widen(heap int64, percent int) int {
	if k.rooms == 0 {
		return percent
	}
	if k.percent == 0 {
		k.gogc = percent
		k.percent = percent
	}
	percent = max(k.gogc, int(100*k.room/max(heap, leastHeap)))
	if d := percent - k.percent; 10*max(d, -d) > k.percent {
		k.percent = percent
		debug.SetGCPercent(percent)
	}
	return k.percent
}

// arm has collected called once, when a collection has ended.
func (k *keeper) arm(turn int) { runtime.AddCleanup(new(sentinel), k.collected, turn) }

func (k *keeper) collected(turn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn != k.turn {
		return
	}
	if h, ok := readHeap(); ok {
		k.follow(h.use(k.widen(h.base, h.percent)))
	}
	k.arm(turn)
}

// follow sets the limit to the largest need of the recent past that was seen twice. Every ten
// minutes samples go to disk, and the memory that a single collection finds alive meanwhile does
// not count. Users who begin bring more with each collection: after growth in each of the last two
// collections, follow expects growth in the next one too.
func (k *keeper) follow(u use) {
	k.uses = append(k.uses, u)
	k.uses = slices.DeleteFunc(k.uses, func(p use) bool { return u.at.Sub(p.at) > past })
	needs := make([]int64, len(k.uses))
	for i, p := range k.uses {
		needs[i] = p.need
	}
	limit := max(u.tight, leastLimit)
	if n := len(needs); n > 2 {
		if grown := min(needs[n-1]-needs[n-2], needs[n-2]-needs[n-3]); grown > 0 {
			limit = max(limit, needs[n-2]+2*grown)
		}
	}
	slices.Sort(needs)
	limit = max(limit, needs[max(0, len(needs)-2)])
	if d := limit - k.limit; d > limit/limitStep || -d > limit/limitStep {
		k.limit = limit
		debug.SetMemoryLimit(limit)
	}
}

// The metrics of a heap.
const (
	useGOGC = iota
	useLive
	useStackScan
	useGlobals
	useTotal
	useReleased
	useObjects
	useUnused
	useFree
)

// readHeap reports false when the collector has no percentage.
func readHeap() (h heap, ok bool) {
	m := []metrics.Sample{
		useGOGC:      {Name: "/gc/gogc:percent"},
		useLive:      {Name: "/gc/heap/live:bytes"},
		useStackScan: {Name: "/gc/scan/stack:bytes"},
		useGlobals:   {Name: "/gc/scan/globals:bytes"},
		useTotal:     {Name: "/memory/classes/total:bytes"},
		useReleased:  {Name: "/memory/classes/heap/released:bytes"},
		useObjects:   {Name: "/memory/classes/heap/objects:bytes"},
		useUnused:    {Name: "/memory/classes/heap/unused:bytes"},
		useFree:      {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(m)
	var v [useFree + 1]int64
	for i := range v {
		if m[i].Value.Kind() != metrics.KindUint64 {
			return h, false
		}
		n := m[i].Value.Uint64()
		if n > math.MaxInt64/1000 { // GOGC=off
			return h, false
		}
		v[i] = int64(n)
	}
	return heap{
		live:    v[useLive],
		base:    v[useLive] + v[useStackScan] + v[useGlobals],
		beside:  v[useTotal] - v[useReleased] - v[useObjects] - v[useUnused] - v[useFree],
		percent: int(v[useGOGC]),
	}, true
}
