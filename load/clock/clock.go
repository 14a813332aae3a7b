package clock

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock counts the time of a run as an offset from its epoch. Its methods are safe for concurrent use, but Start and
// Stop are for one goroutine. Make it with [New] or [NewStopped].
type Clock struct {
	epoch time.Time
	can   bool // stop
	turns atomic.Pointer[[]turn]

	mu     sync.Mutex
	parked map[*Timer]time.Duration // timers that were set while the clock stood still, and until when
}

// A turn is a moment at which the clock was stopped or started. They are appended and never changed.
type turn struct {
	real, at time.Duration // since the epoch: on the monotonic clock, and on this one
	running  bool
}

// New returns a clock that runs, and counts from an epoch that may lie in the future. It cannot be stopped.
func New(epoch time.Time) *Clock { return &Clock{epoch: epoch} }

// NewStopped returns a clock that stands at 0 until Start.
func NewStopped(epoch time.Time) *Clock {
	c := &Clock{epoch: epoch, can: true, parked: map[*Timer]time.Duration{}}
	c.turns.Store(&[]turn{{}})
	return c
}

// Epoch returns the instant from which the clock counts.
func (c *Clock) Epoch() time.Time { return c.epoch }

// Stops reports whether the clock can be stopped.
func (c *Clock) Stops() bool { return c.can }

// Running reports whether the clock runs.
func (c *Clock) Running() bool {
	turns := c.turns.Load()
	return turns == nil || (*turns)[len(*turns)-1].running
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Duration {
	real := time.Since(c.epoch)
	turns := c.turns.Load()
	if turns == nil {
		return real
	}
	return (*turns)[len(*turns)-1].time(real)
}

// time returns the time of the clock at an instant after the turn and before the next one.
func (t turn) time(real time.Duration) time.Duration {
	if !t.running {
		return t.at
	}
	return t.at + max(real-t.real, 0)
}

// Of returns the time of the clock at an instant that is past. An instant before the first start of a clock that
// [NewStopped] made is 0.
func (c *Clock) Of(t time.Time) time.Duration {
	real := t.Sub(c.epoch)
	turns := c.turns.Load()
	if turns == nil {
		return real
	}
	all := *turns
	last := len(all) - 1
	if all[last].real > real { // most instants are of the present turn
		last = max(sort.Search(len(all), func(i int) bool { return all[i].real > real })-1, 0)
	}
	return all[last].time(real)
}

// Between returns how much time has passed on the clock between two instants that are past.
func (c *Clock) Between(from, to time.Time) time.Duration {
	if c.turns.Load() == nil {
		return to.Sub(from)
	}
	return c.Of(to) - c.Of(from)
}

// Date returns the date that stands for a time of the clock in records: the epoch plus that time. Of a clock that was
// stopped, it is earlier than the date at which the clock showed that time.
func (c *Clock) Date(at time.Duration) time.Time { return c.epoch.Add(at) }

// Lost returns for how long the clock has stood still since its epoch, the present stop included.
func (c *Clock) Lost() time.Duration {
	if !c.can {
		return 0
	}
	return time.Since(c.epoch) - c.Now()
}

// Stop stops the clock and returns its time. It does nothing to a clock that stands still, and panics for one of
// [New].
func (c *Clock) Stop() time.Duration { return c.turn(false) }

// Start lets the clock go on, and returns its time.
func (c *Clock) Start() time.Duration { return c.turn(true) }

func (c *Clock) turn(running bool) time.Duration {
	if !c.can {
		panic("clock: a clock of New cannot be stopped")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := *c.turns.Load()
	last := all[len(all)-1]
	real := max(time.Since(c.epoch), last.real)
	now := last.time(real)
	if last.running == running {
		return now
	}
	all = append(all, turn{real, now, running})
	c.turns.Store(&all)
	if running {
		for t, until := range c.parked {
			t.timer.Reset(max(until-now, 0))
		}
		clear(c.parked)
	}
	return now
}

// A Timer wakes one goroutine when its clock has reached a time. Receive from C, then check the clock: when the clock
// was stopped meanwhile, the timer fires early, and has to be set again. [Clock.SleepUntil] does that.
type Timer struct {
	C     <-chan time.Time
	clock *Clock
	timer *time.Timer
}

// NewTimer returns a timer that is not set. The caller calls Stop.
func (c *Clock) NewTimer() *Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &Timer{C: t.C, clock: c, timer: t}
}

// Reset makes the timer fire when the clock has reached a time, or early, as said above.
func (t *Timer) Reset(until time.Duration) {
	c := t.clock
	if c.Running() {
		t.timer.Reset(max(until-c.Now(), 0))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Running() {
		t.timer.Reset(max(until-c.Now(), 0))
		return
	}
	t.timer.Stop()
	if until <= c.Now() {
		t.timer.Reset(0)
		return
	}
	c.parked[t] = until
}

// Ring makes the timer fire at once, also while the clock stands still.
func (t *Timer) Ring() { t.timer.Reset(0) }

// Stop ends the timer.
func (t *Timer) Stop() {
	t.timer.Stop()
	if t.clock.can {
		t.clock.mu.Lock()
		delete(t.clock.parked, t)
		t.clock.mu.Unlock()
	}
}

// SleepUntil waits until the clock has reached a time, or for ctx, whose cause it returns.
func (c *Clock) SleepUntil(ctx context.Context, at time.Duration) error {
	if c.Now() >= at {
		return context.Cause(ctx)
	}
	t := c.NewTimer()
	defer t.Stop()
	for {
		t.Reset(at)
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if c.Now() >= at {
			return nil
		}
	}
}

// WithTimeout is context.WithTimeout in the time of the clock. When the clock can be stopped, the error of an expired
// context is context.Canceled, and its cause context.DeadlineExceeded.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if !c.can {
		return context.WithTimeout(ctx, d)
	}
	out, cancel := context.WithCancelCause(ctx)
	until := c.Now() + d
	go func() { // ends with out, which the caller cancels
		if c.SleepUntil(out, until) == nil {
			cancel(context.DeadlineExceeded)
		}
	}()
	return out, func() { cancel(context.Canceled) }
}
