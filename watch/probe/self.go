package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"plimsoll/watch/series"
)

// Self samples this program's own Go runtime: the generator watching itself.
//
//	plimsoll_generator_sched_latency_p99_seconds   goroutines ready but not running, since the last sample
//	plimsoll_generator_pause_max_seconds           longest stop of the world since the last sample
//	plimsoll_generator_gc_cpu_ratio                GC time of the last 10 s, of all that the program could have
//	plimsoll_generator_cpu_seconds_total           user and system time of the process, in the run's turns
//	plimsoll_generator_cpu_ratio                   cores in use since the last sample
//	plimsoll_generator_goroutines, plimsoll_generator_heap_bytes (live and not yet swept objects),
//	plimsoll_generator_open_fds, plimsoll_generator_fds_limit (soft limit; both absent where /proc has no fd)
//	plimsoll_generator_memory_bytes (all that the runtime took), plimsoll_generator_gc_cycles_total
//
// The latency comes from a sample of one in eight transitions (the runtime's choice) and is the
// upper edge of a histogram bucket, so it errs upward by at most a quarter. The runtime books the
// CPU time of a GC cycle at its end, so the ratio is of wall time: over the time between two ends,
// which may be milliseconds, an idle program would show a fifth.
type Self struct {
	m       []metrics.Sample
	latency window
	pauses  [2]window
	gc      []gcReading
	cpu     float64
	lastT   time.Time
	turns   *Turns
	out     sink
}

// gcOver is the time over which the share of the GC is taken. A cycle is booked at its end and may
// last seconds.
const gcOver = 10 * time.Second

// A gcReading is the CPU time that garbage collection has had until a sample, in seconds.
type gcReading struct {
	at  time.Time
	cpu float64
}

const (
	selfLatency = iota
	selfPauseGC
	selfPauseOther
	selfGC
	selfGoroutines
	selfHeap
	selfMemory
	selfCycles
)

// NewSelf fails if the Go runtime this program was built with lacks one of the metrics.
func NewSelf() (*Self, error) {
	s := &Self{m: []metrics.Sample{
		selfLatency:    {Name: "/sched/latencies:seconds"},
		selfPauseGC:    {Name: "/sched/pauses/total/gc:seconds"},
		selfPauseOther: {Name: "/sched/pauses/total/other:seconds"},
		selfGC:         {Name: "/cpu/classes/gc/total:cpu-seconds"},
		selfGoroutines: {Name: "/sched/goroutines:goroutines"},
		selfHeap:       {Name: "/memory/classes/heap/objects:bytes"},
		selfMemory:     {Name: "/memory/classes/total:bytes"},
		selfCycles:     {Name: "/gc/cycles/total:gc-cycles"},
	}}
	metrics.Read(s.m)
	for _, m := range s.m {
		if m.Value.Kind() == metrics.KindBad {
			return nil, fmt.Errorf("probe of this program: the Go runtime has no metric %s", m.Name)
		}
	}
	s.latency.since(s.m[selfLatency].Value.Float64Histogram())
	s.pauses[0].since(s.m[selfPauseGC].Value.Float64Histogram())
	s.pauses[1].since(s.m[selfPauseOther].Value.Float64Histogram())
	return s, nil
}

// UseTurns makes the CPU time and the cores in use those of the run's turns; nil: all time is the
// run's. Latencies, pauses and the share of the GC stay those of the whole process. It is called
// before the first Sample.
func (s *Self) UseTurns(t *Turns) { s.turns = t }

// Name returns "self".
func (s *Self) Name() string { return "self" }

// Sample reads the runtime. The latency is left out, without an error, when no transition was
// sampled since the last call: the program was asleep.
func (s *Self) Sample(_ context.Context, t time.Time) ([]series.Sample, error) {
	s.out.reset()
	k := &s.out
	metrics.Read(s.m)

	s.latency.since(s.m[selfLatency].Value.Float64Histogram())
	if v, ok := s.latency.quantile(0.99); ok {
		k.add("plimsoll_generator_sched_latency_p99_seconds", nil, v)
	}
	var longest float64
	for i := range s.pauses {
		s.pauses[i].since(s.m[selfPauseGC+i].Value.Float64Histogram())
		if v, ok := s.pauses[i].quantile(1); ok {
			longest = max(longest, v)
		}
	}
	k.add("plimsoll_generator_pause_max_seconds", nil, longest)

	if v, ok := s.gcShare(t, s.m[selfGC].Value.Float64()); ok {
		k.add("plimsoll_generator_gc_cpu_ratio", nil, v)
	}
	k.add("plimsoll_generator_goroutines", nil, float64(s.m[selfGoroutines].Value.Uint64()))
	k.add("plimsoll_generator_heap_bytes", nil, float64(s.m[selfHeap].Value.Uint64()))
	k.add("plimsoll_generator_memory_bytes", nil, float64(s.m[selfMemory].Value.Uint64()))
	k.add("plimsoll_generator_gc_cycles_total", nil, float64(s.m[selfCycles].Value.Uint64()))

	if n, err := countFDs("/proc/self", 1); err == nil {
		k.add("plimsoll_generator_open_fds", nil, n)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return k.s, fmt.Errorf("this program's open files: %w", err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return k.s, fmt.Errorf("this program's limit of open files: %w", err)
	}
	k.add("plimsoll_generator_fds_limit", nil, float64(limit.Cur))

	used, err := s.turns.SelfCPU()
	if err != nil {
		return k.s, fmt.Errorf("this program's CPU time: %w", err)
	}
	cpu := used.Seconds()
	k.add("plimsoll_generator_cpu_seconds_total", nil, cpu)
	if dt := t.Sub(s.lastT).Seconds(); !s.lastT.IsZero() {
		if dt <= 0 {
			return k.s, errors.New(
				"this program's CPU share: no time has passed since the last sample",
			)
		}
		k.add("plimsoll_generator_cpu_ratio", nil, (cpu-s.cpu)/dt)
	}
	s.cpu, s.lastT = cpu, t
	return k.s, nil
}

// gcShare notes the CPU time of the GC, in seconds, and returns its share of the cores' time over
// [gcOver] or since the first sample. ok is false at the first sample.
func (s *Self) gcShare(t time.Time, cpu float64) (share float64, ok bool) {
	for len(s.gc) > 1 && t.Sub(s.gc[1].at) >= gcOver {
		s.gc = s.gc[1:]
	}
	s.gc = append(s.gc, gcReading{t, cpu})
	first := s.gc[0]
	dt := t.Sub(first.at).Seconds()
	if dt <= 0 {
		return 0, false
	}
	return (cpu - first.cpu) / (dt * float64(runtime.GOMAXPROCS(0))), true
}

// window is the increase of a cumulative histogram since the last reading.
type window struct {
	last, delta []uint64
	edges       []float64
}

func (w *window) since(h *metrics.Float64Histogram) {
	if len(w.last) != len(h.Counts) {
		w.last, w.delta = make([]uint64, len(h.Counts)), make([]uint64, len(h.Counts))
	}
	for i, c := range h.Counts {
		w.delta[i] = c - w.last[i]
		w.last[i] = c
	}
	w.edges = h.Buckets
}

// quantile returns the upper edge of the bucket in which the share q of the counts is reached; of
// the last bucket, which has no upper edge, the lower one. ok is false if there is no count.
func (w *window) quantile(q float64) (v float64, ok bool) {
	var n uint64
	for _, c := range w.delta {
		n += c
	}
	if n == 0 {
		return 0, false
	}
	rank := uint64(math.Ceil(q * float64(n)))
	var sum uint64
	for i, c := range w.delta {
		if sum += c; c > 0 && sum >= rank {
			if v = w.edges[i+1]; math.IsInf(v, 1) {
				v = w.edges[i]
			}
			return max(v, 0), true
		}
	}
	return 0, false
}
