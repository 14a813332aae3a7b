package clock

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock counts the time of a run as an offset from its epoch. Its methods are safe for concurrent
// use. Make it with [New], [NewStopped] or [NewUnpaused].
type Clock struct {
	epoch time.Time
	can   bool // stop; of the others only the epoch is used
	// unpaused: the target works on while the clock stands still.
	unpaused bool

	turns   atomic.Pointer[[]turn] // points to turning while one is made
	turning []turn

	mu     sync.Mutex  // of turns and timers
	timers []*Timer    // those that are set, a heap with the earliest first
	wake   *time.Timer // releases the earliest; stopped while the clock stands still
	next   time.Duration
}

// A turn is a moment at which the clock was stopped or started. They are appended and never
// changed.
type turn struct {
	real, at time.Duration // since the epoch: on the monotonic clock, and on this one
	running  bool
}

// New returns a clock that runs, and counts from an epoch that may lie in the future. It cannot be
// stopped.
func New(epoch time.Time) *Clock { return &Clock{epoch: epoch} }

// NewStopped returns a clock that stands at 0 until Start.
func NewStopped(epoch time.Time) *Clock {
	c := &Clock{epoch: epoch, can: true, next: never}
	c.turns.Store(&[]turn{{}})
	c.wake = time.AfterFunc(never, c.due)
	c.wake.Stop()
	return c
}

// NewUnpaused returns a clock like one of [NewStopped], of a run whose target works on while the
// clock stands still.
func NewUnpaused(epoch time.Time) *Clock {
	c := NewStopped(epoch)
	c.unpaused = true
	return c
}

// Epoch returns the instant from which the clock counts.
func (c *Clock) Epoch() time.Time { return c.epoch }

// Stops reports whether the clock can be stopped.
func (c *Clock) Stops() bool { return c.can }

// Running reports whether the clock runs.
func (c *Clock) Running() bool {
	return !c.can || c.last().running
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Duration {
	if !c.can {
		return time.Since(c.epoch)
	}
	_, now := c.read()
	return now
}

// read returns the real time since the epoch, and that of the clock at this moment. What it has
// returned is not taken back: a turn that is made meanwhile is later.
func (c *Clock) read() (real, now time.Duration) {
	for {
		turns := c.made()
		real = time.Since(c.epoch)
		if c.turns.Load() == turns {
			return real, (*turns)[len(*turns)-1].time(real)
		}
	}
}

// made returns the turns that were made. It waits for the one that is being made.
func (c *Clock) made() *[]turn {
	turns := c.turns.Load()
	if turns == &c.turning {
		c.mu.Lock()
		turns = c.turns.Load()
		c.mu.Unlock()
	}
	return turns
}

func (c *Clock) last() turn {
	turns := *c.made()
	return turns[len(turns)-1]
}

// time returns the time of the clock at an instant after the turn and before the next one.
func (t turn) time(real time.Duration) time.Duration {
	if !t.running {
		return t.at
	}
	return t.at + max(real-t.real, 0)
}

// Of returns the time of the clock at an instant that is past. An instant before the first start of
// a clock that [NewStopped] made is 0.
func (c *Clock) Of(t time.Time) time.Duration {
	real := t.Sub(c.epoch)
	if !c.can {
		return real
	}
	all := *c.made()
	last := len(all) - 1
	if all[last].real > real { // most instants are of the present turn
		last = max(sort.Search(len(all), func(i int) bool { return all[i].real > real })-1, 0)
	}
	return all[last].time(real)
}

// Between returns how much time has passed on the clock between two instants that are past.
func (c *Clock) Between(from, to time.Time) time.Duration {
	if !c.can {
		return to.Sub(from)
	}
	return c.Of(to) - c.Of(from)
}

// Took returns how long the target took from one instant that is past to another: the time on the
// clock, or real time where the target works on while the clock stands still.
func (c *Clock) Took(from, to time.Time) time.Duration {
	if c.unpaused {
		return to.Sub(from)
	}
	return c.Between(from, to)
}

// Target returns an instant that is past as an offset from the epoch in the time of the target, of
// which [Clock.Took] is the difference.
func (c *Clock) Target(t time.Time) time.Duration {
	if c.unpaused {
		return t.Sub(c.epoch)
	}
	return c.Of(t)
}

// OfTarget is [Clock.Of] for an offset that [Clock.Target] returned.
func (c *Clock) OfTarget(at time.Duration) time.Duration {
	if c.unpaused {
		return c.Of(c.epoch.Add(at))
	}
	return at
}

// Unpaused reports whether the target works on while the clock stands still.
func (c *Clock) Unpaused() bool { return c.unpaused }

// Date returns the date that stands for a time of the clock in records: the epoch plus that time.
// Of a clock that was stopped, it is earlier than the date at which the clock showed that time.
func (c *Clock) Date(at time.Duration) time.Time { return c.epoch.Add(at) }

// Lost returns for how long the clock has stood still since its epoch, the present stop included.
func (c *Clock) Lost() time.Duration {
	if !c.can {
		return 0
	}
	real, now := c.read()
	return max(real-now, 0)
}

// Stop stops the clock and returns its time. It does nothing to a clock that stands still, and
// panics for one of [New].
func (c *Clock) Stop() time.Duration { return c.turn(false) }

// Start lets the clock go on, and returns its time. Like Stop it panics for a clock of [New].
func (c *Clock) Start() time.Duration { return c.turn(true) }

// clockReads is the number of times that a turn reads the time, which takes it a microsecond.
// Processors agree to some nanoseconds alone on the time, and on whether a reading or the check
// after it was first: by that much, read might have shown times after the turn.
const clockReads = 32

func (c *Clock) turn(running bool) time.Duration {
	if !c.can {
		panic("clock: a clock of New cannot be stopped")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := *c.turns.Load()
	last := all[len(all)-1]
	if last.running == running {
		return last.time(time.Since(c.epoch))
	}
	c.turns.Store(&c.turning) // no time is shown that the turn would take back
	real := last.real
	for range clockReads {
		real = max(real, time.Since(c.epoch))
	}
	now := last.time(real)
	all = append(all, turn{real, now, running})
	c.turns.Store(&all)
	if running {
		c.release()
	} else {
		c.wake.Stop()
		c.next = never
	}
	return now
}
