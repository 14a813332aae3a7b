package rig

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
	// memoryPast is how long a need counts. A run's measured phase has the memory of itself, and not of its ramp.
	memoryPast = 5 * time.Minute
	// leastLimit is the least limit: small programs gain nothing by one.
	leastLimit = 64 << 20
	// memoryStep is by how much a limit must differ to be set anew: one part in so many.
	memoryStep = 50
)

// memory keeps what this process has taken from the system to what its heap needs. Without it the runtime keeps what the
// largest of all collections took, and the memory of a generator whose heap is steady rises for hours. The limit is
// Go's soft one: it follows the live heap with each collection, and leaves the collector what it would use without it, so
// that it works about as often as before; what lies beyond it goes back to the system. A process that was
// started with GOMEMLIMIT keeps that.
var memory memoryKeeper

type memoryKeeper struct {
	mu     sync.Mutex
	keeps  int         // runs that go on
	turn   int         // of the sentinel, so that one of an earlier turn does nothing
	before int64       // the limit that there was
	limit  int64       // that was set; 0 for none
	past   []memoryUse // of the last memoryPast, oldest first
}

// memoryUse is what the process needed when a collection had ended.
type memoryUse struct {
	at   time.Time
	need int64 // at the end of the next collection's cycle
	// tight is with a quarter of the live heap free: less would have the collector work all the time.
	tight int64
}

// sentinel is garbage as soon as it is made: its end is that of a collection.
type sentinel struct{ _ [2]uint64 }

// keep keeps the memory until end is called. It is safe for concurrent use; the last end sets the limit back that there
// was.
func (k *memoryKeeper) keep() (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keeps++; k.keeps == 1 {
		k.before, k.limit, k.past = debug.SetMemoryLimit(-1), 0, nil
		if k.before == math.MaxInt64 {
			k.turn++
			k.arm(k.turn)
		}
	}
	return sync.OnceFunc(k.release)
}

func (k *memoryKeeper) release() {
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
func (k *memoryKeeper) arm(turn int) { runtime.AddCleanup(new(sentinel), k.collected, turn) }

func (k *memoryKeeper) collected(turn int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if turn != k.turn {
		return
	}
	if u, ok := memoryNeed(); ok {
		k.follow(u)
	}
	k.arm(turn)
}

// follow makes the limit that of the largest need of the last while that was seen twice: every ten minutes samples go to
// disk, and what one collection found alive meanwhile is no need. Users who begin bring more with each collection: what
// both of the last two brought is expected of the next, too.
func (k *memoryKeeper) follow(u memoryUse) {
	k.past = append(k.past, u)
	k.past = slices.DeleteFunc(k.past, func(p memoryUse) bool { return u.at.Sub(p.at) > memoryPast })
	needs := make([]int64, len(k.past))
	for i, p := range k.past {
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
	if d := limit - k.limit; d > limit/memoryStep || -d > limit/memoryStep {
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

// memoryNeed reads what the process has of the system, in bytes, when its heap is as large as the collector lets it become
// (live objects, and GOGC percent of them and of the roots; "A Guide to the Go Garbage Collector", GOGC). It reports
// false when there is no such size.
func memoryNeed() (u memoryUse, ok bool) {
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
	return memoryUse{time.Now(), v[useLive] + more + beside, v[useLive] + v[useLive]/4 + beside}, true
}
