package refchat

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// burner makes every request cost a given share of CPU time more than it does: a planted slowdown
// of known size. The share is of this process's own CPU time, user and system, the burn left out.
// Burning also makes the rest dearer (caches, locked threads): cpu:25% raised cost(app) by 28.6 %
// of the base (se 1.9), of which the burn was 25.6 % (se 0.4) of the arm's own time, and that time
// 2.5 % more than the base's (14 pairs of a duet on two shared cores).
//
// It measures the process's CPU time continuously, subtracts its own burn, and divides by the
// requests of the same time: both sums fade with a time constant of two seconds, so the mean
// follows the load and busy moments weigh as much as they are. Each request then spins for the mean
// times the share, in thread CPU time, so that being preempted does not shorten the burn. Garbage
// collection, event delivery and database drivers are in the mean, the database's own process is
// not.
//
// With work, it also spins for that CPU time on each request, or on those of one handler: a cost
// that does not follow the speed of the machine.
type burner struct {
	share    float64
	work     time.Duration
	workOf   string // handler
	met      *metrics
	requests atomic.Int64
	burnt    atomic.Int64  // ns of CPU so far
	cost     atomic.Uint64 // float64 bits: ns of CPU per request, burns excluded; 0 until known

	mu    sync.Mutex // guards the last reading and the fading sums
	last  time.Time  // zero before the first request
	cpu   int64
	reqs  int64
	spent int64
	sumNS float64
	sumN  float64
}

const (
	burnInterval = 100 * time.Millisecond
	burnMemory   = 2 * time.Second
	burnMinimum  = 5 // requests in an interval, for a mean worth having
)

// request accounts for one request of a handler and burns its share.
func (b *burner) request(handler string) {
	d := int64(0)
	if b.workOf == "" || b.workOf == handler {
		d = b.work.Nanoseconds()
	}
	if b.share > 0 {
		b.requests.Add(1)
		b.measure(time.Now())
		d += int64(b.share * math.Float64frombits(b.cost.Load()))
	}
	if d > 0 {
		n := spin(d)
		b.burnt.Add(n)
		b.met.burnt.Add(float64(n) / 1e9)
	}
}

// measure updates the mean cost when an interval has passed; other goroutines do not wait for it.
func (b *burner) measure(now time.Time) {
	if !b.mu.TryLock() {
		return
	}
	defer b.mu.Unlock()
	dt := now.Sub(b.last) // of ages before the first request
	reqs := b.requests.Load()
	n := reqs - b.reqs
	if !b.last.IsZero() && (dt < burnInterval || n < burnMinimum) {
		return
	}
	cpu, spent := processCPU(), b.burnt.Load()
	if !b.last.IsZero() { // CPU time before the first request is not a request's cost
		keep := math.Exp(-float64(dt) / float64(burnMemory))
		b.sumNS = keep*b.sumNS + float64((cpu-b.cpu)-(spent-b.spent))
		b.sumN = keep*b.sumN + float64(n)
		b.cost.Store(math.Float64bits(max(0, b.sumNS/b.sumN)))
	}
	b.last = now
	b.cpu = cpu
	b.reqs = reqs
	b.spent = spent
}

// spin uses ns nanoseconds of this thread's CPU time and returns how many it used.
func spin(ns int64) int64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadCPU()
	x := uint64(start) | 1
	for {
		for range 500 { // about half a microsecond between readings of the clock
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if d := threadCPU() - start; d >= ns || x == 0 { // x is never 0; unknown to the compiler
			return d
		}
	}
}

func threadCPU() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return time.Now().UnixNano()
	}
	return ts.Nano()
}

func processCPU() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
