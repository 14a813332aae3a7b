// Package heaplimit limits the memory of a process to the need of its heap.
//
// Without it the Go runtime keeps the memory of the largest of all collections, and the memory of a
// generator whose heap is steady rises for hours. The limit is Go's soft one. It follows the live
// heap with each collection and leaves the collector the memory that it would use without it, so
// that collections stay about as frequent; the rest goes back to the system. A process that was
// started with GOMEMLIMIT keeps that limit.
package heaplimit

import (
	"math"
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
)

// process is the keeper of this process.
var process keeper

// Keep begins to follow the heap of this process, until end is called. It is safe for concurrent
// use; the last end restores the limit from before the first Keep.
func Keep() (end func()) { return process.keep() }

type keeper struct {
	mu     sync.Mutex
	keeps  int   // runs that go on
	turn   int   // of the sentinel, so that one of an earlier turn does nothing
	before int64 // the limit that there was
	limit  int64 // that was set; 0 for none
	uses   []use // of the last past, oldest first
}

// A use is the need of the process at the end of a collection, in bytes.
type use struct {
	at   time.Time
	need int64 // at the end of the next collection's cycle
	// tight leaves a quarter of the live heap free: less would keep the collector busy all the
	// time.
	tight int64
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
	if k.limit > 0 {
		debug.SetMemoryLimit(k.before)
	}
}

// arm has collected called once, when a collection has ended.
func (k *keeper) arm(turn int) { runtime.AddCleanup(new(sentinel), k.collected, turn) }

func (k *keeper) collected(turn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn != k.turn {
		return
	}
	if u, ok := readUse(); ok {
		k.follow(u)
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

// The metrics from which a need is computed.
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

// readUse reads the memory of the process when its heap is as large as the collector lets it become
// (live objects, and GOGC percent of them and of the roots; "A Guide to the Go Garbage Collector",
// GOGC). It reports false when there is no such size.
func readUse() (u use, ok bool) {
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
			return u, false
		}
		n := m[i].Value.Uint64()
		if n > math.MaxInt64/1000 { // GOGC=off
			return u, false
		}
		v[i] = int64(n)
	}
	beside := v[useTotal] - v[useReleased] - v[useObjects] - v[useUnused] - v[useFree]
	more := (v[useLive] + v[useStackScan] + v[useGlobals]) * v[useGOGC] / 100
	return use{
		at:    time.Now(),
		need:  v[useLive] + more + beside,
		tight: v[useLive] + v[useLive]/4 + beside,
	}, true
}
