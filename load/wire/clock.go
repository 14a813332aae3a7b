package wire

import (
	"sync/atomic"
	"time"
)

// Clocks counts, over the life of the process, which clock dated the arrival of responses and
// WebSocket messages.
type Clocks struct {
	Kernel int64 // the kernel's stamp of the segment that carried the last byte
	// the moment the read returned to this process: no stamp was to be had, or it was not to be
	// trusted
	Process int64
	// times that the wall clock was seen to be set; each makes stamps untrusted for one second
	Steps int64
	// Requests counts the HTTP requests that were sent. Repeats counts the ones that were sent a
	// second time, on a new connection, because the server had closed the one that it had kept
	// open; Reopened counts the ones that found that before they were sent.
	Requests, Repeats, Reopened int64
}

// Stamps returns the counts so far. Any number of goroutines may call it at any time.
func Stamps() Clocks {
	c := Clocks{Steps: wall.steps.Load()}
	for i := range tallies {
		c.Kernel += tallies[i].kernel.Load()
		c.Process += tallies[i].process.Load()
		c.Requests += tallies[i].requests.Load()
		c.Repeats += tallies[i].repeats.Load()
		c.Reopened += tallies[i].reopened.Load()
	}
	return c
}

// Sub returns the counts since an earlier reading.
func (c Clocks) Sub(old Clocks) Clocks {
	return Clocks{c.Kernel - old.Kernel, c.Process - old.Process, c.Steps - old.Steps,
		c.Requests - old.Requests, c.Repeats - old.Repeats, c.Reopened - old.Reopened}
}

// Add returns the counts of two processes.
func (c Clocks) Add(o Clocks) Clocks { return c.Sub(Clocks{}.Sub(o)) }

// A tally is one stripe of the counts, on a cache line of its own; connections are dealt out over
// the stripes.
type tally struct {
	kernel, process             atomic.Int64
	requests, repeats, reopened atomic.Int64
	_                           [24]byte
}

var (
	tallies [16]tally
	dealt   atomic.Uint32
)

func nextTally() *tally { return &tallies[dealt.Add(1)%uint32(len(tallies))] }

func (t *tally) count(kernel bool) {
	switch {
	case t == nil: // a connection made by a test
	case kernel:
		t.kernel.Add(1)
	default:
		t.process.Add(1)
	}
}

// A moment is the arrival of the bytes of one read.
type moment struct {
	now   time.Time // when the read returned
	stamp int64     // the kernel's stamp of its newest byte, see wallClock; 0 for none
}

// momentOf is to be called when a read from the connection over s, which may be nil, has just
// returned.
func momentOf(s *sock) moment {
	m := moment{now: time.Now()}
	if s != nil {
		m.stamp = s.stamp
	}
	return m
}

// arrival returns when the bytes arrived, and whether the time is the kernel's. It is not before
// since.
func (m moment) arrival(since time.Time) (time.Time, bool) {
	if m.stamp == 0 {
		return m.now, false
	}
	at, ok := wall.at(m.stamp, m.now)
	if !ok || at.Before(since) {
		return m.now, false
	}
	return at, true
}

const (
	// stepLimit is the distance by which wall and monotonic clock may move against each other
	// without a step. NTP slews both alike (clock_gettime(2)); the rest is the time between reading
	// the one and the other.
	stepLimit = 100 * time.Microsecond
	// after a step, for bytes may have arrived before it that are read after it.
	distrust = time.Second
)

// A wallClock relates stamps of CLOCK_REALTIME, which the kernel uses for sockets, to the monotonic
// clock inside every time.Time. The relation is computed at each read from the one time.Now that
// follows it, so it needs no calibration and cannot drift; it only has to detect a wall clock that
// was set between arrival and read.
type wallClock struct {
	base time.Time
	// gain of the wall clock over the monotonic one since base, as of the last step
	offset  atomic.Int64
	stepped atomic.Int64 // monotonic moment of the last step, after base; 0 if there was none
	steps   atomic.Int64
	now     func() time.Time
	gained  func(time.Time) time.Duration // the same gain between base and then
}

var wall = newWallClock()

func newWallClock() *wallClock {
	base := time.Now()
	return &wallClock{base: base, now: time.Now, gained: func(t time.Time) time.Duration {
		return time.Duration(t.UnixNano()-base.UnixNano()) - t.Sub(base)
	}}
}

// at returns the moment of a kernel stamp, in nanoseconds since 1970, for bytes whose read returned
// at read. It refuses a stamp in the future and any stamp near a step of the wall clock.
func (w *wallClock) at(stamp int64, read time.Time) (time.Time, bool) {
	ref := read
	if !w.steady(ref) {
		// Either the wall clock was set, or this thread lost its core while time.Now read first one
		// clock, then the other.
		for range 3 {
			if ref = w.now(); w.steady(ref) {
				break
			}
		}
		if gain := w.gained(ref); !w.steady(ref) {
			w.offset.Store(int64(gain))
			w.stepped.Store(max(int64(ref.Sub(w.base)), 1))
			w.steps.Add(1)
			return read, false
		}
	}
	if s := w.stepped.Load(); s != 0 && ref.Sub(w.base) < time.Duration(s)+distrust {
		return read, false
	}
	arrived := ref.Add(time.Duration(stamp - ref.UnixNano()))
	if arrived.After(read) {
		return read, false
	}
	return arrived, true
}

func (w *wallClock) steady(t time.Time) bool {
	d := w.gained(t) - time.Duration(w.offset.Load())
	return -stepLimit < d && d < stepLimit
}
