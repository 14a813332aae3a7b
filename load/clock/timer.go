package clock

import (
	"context"
	"math"
	"time"
)

// never is a time that no clock reaches.
const never = time.Duration(math.MaxInt64)

// A Timer fires once its clock has reached a time. While the clock stands still it waits without a
// timer of the runtime, and costs nothing. Its methods but Ring are for one goroutine; Ring is for
// all. The zero Timer is not usable.
type Timer struct {
	// C receives when the timer fires; nil for a timer of [Clock.AfterFunc].
	C <-chan time.Time

	clock *Clock
	timer *time.Timer // of a clock that cannot be stopped; nil otherwise
	rim   *rim        // of a [Wheel]; nil otherwise

	// Of a clock that can be stopped or a wheel, under its lock:
	fire  chan time.Time // C
	f     func()
	until time.Duration
	place int // in the clock's heap, from 1; 1 on a wheel; 0 while it is not set
}

// NewTimer returns a timer that is not set. The caller calls Stop.
func (c *Clock) NewTimer() *Timer {
	if c.can {
		fire := make(chan time.Time, 1)
		return &Timer{C: fire, clock: c, fire: fire}
	}
	t := time.NewTimer(never)
	t.Stop()
	return &Timer{C: t.C, clock: c, timer: t}
}

// AfterFunc calls f in a goroutine of its own when the clock has reached a time. The timer can be
// stopped and set again.
func (c *Clock) AfterFunc(at time.Duration, f func()) *Timer {
	if !c.can {
		return &Timer{clock: c, timer: time.AfterFunc(max(at-c.Now(), 0), f)}
	}
	t := &Timer{clock: c, f: f}
	t.Reset(at)
	return t
}

// Reset makes the timer fire when the clock has reached a time, instead of when it was set to
// before. A time that is reached already fires at once, or when the clock goes on.
func (t *Timer) Reset(at time.Duration) {
	now := at
	if !t.clock.can { // others need no reading
		now = t.clock.Now()
	}
	t.ResetFrom(now, at)
}

// ResetFrom is Reset for a caller that has just read the clock, which showed now.
func (t *Timer) ResetFrom(now, at time.Duration) {
	if t.timer != nil {
		t.timer.Reset(at - now)
		return
	}
	if t.rim != nil {
		t.rim.set(t, now, at)
		return
	}
	t.set(at)
}

func (t *Timer) set(at time.Duration) {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	t.empty()
	t.until = at
	c.put(t)
	if at < c.next && c.Running() {
		c.release()
	}
}

// empty takes back a firing that was not received. The clock's lock is held.
func (t *Timer) empty() {
	select {
	case <-t.fire:
	default:
	}
}

// Ring makes the timer fire at once, also while the clock stands still.
func (t *Timer) Ring() {
	if t.timer != nil {
		t.timer.Reset(0)
		return
	}
	t.unset(t.ring)
}

// unset takes a timer that is none of the runtime's from its heap or wheel, and calls then, which
// holds the lock.
func (t *Timer) unset(then func()) {
	if t.rim != nil {
		t.rim.mu.Lock()
		defer t.rim.mu.Unlock()
		t.place = 0
	} else {
		t.clock.mu.Lock()
		defer t.clock.mu.Unlock()
		t.clock.take(t)
	}
	then()
}

// ring fires the timer. The clock's lock is held.
func (t *Timer) ring() {
	if t.f != nil {
		go t.f()
		return
	}
	select {
	case t.fire <- time.Time{}:
	default: // it has fired, and nothing has received since
	}
}

// Stop ends the timer: it does not fire until it is set again.
func (t *Timer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
		return
	}
	t.unset(t.empty)
}

// due is called when the earliest timer may have to fire.
func (c *Clock) due() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = never
	if c.Running() {
		c.release()
	}
}

// release fires the timers whose time has come, and sets the clock's own timer for the earliest of
// the others. The clock runs, and its lock is held.
func (c *Clock) release() {
	now := c.Now()
	for len(c.timers) > 0 && c.timers[0].until <= now {
		t := c.timers[0]
		c.take(t)
		t.ring()
	}
	if len(c.timers) > 0 && c.timers[0].until < c.next {
		c.next = c.timers[0].until
		c.wake.Reset(c.next - now)
	}
}

// put adds a timer to the heap, or moves it to its new place. The lock is held.
func (c *Clock) put(t *Timer) {
	if t.place == 0 {
		c.timers = append(c.timers, t)
		t.place = len(c.timers)
	}
	c.sift(t.place - 1)
}

// take removes a timer from the heap, if it is there. The lock is held.
func (c *Clock) take(t *Timer) {
	if t.place == 0 {
		return
	}
	i, last := t.place-1, len(c.timers)-1
	moved := c.timers[last]
	c.timers[last] = nil
	c.timers = c.timers[:last]
	t.place = 0
	if i < last {
		c.timers[i] = moved
		moved.place = i + 1
		c.sift(i)
	}
}

// sift moves the timer at index i, the only one that may be out of order, to its place.
func (c *Clock) sift(i int) {
	h := c.timers
	t := h[i]
	for i > 0 {
		up := (i - 1) / 2
		if h[up].until <= t.until {
			break
		}
		h[i] = h[up]
		h[i].place = i + 1
		i = up
	}
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if r := down + 1; r < len(h) && h[r].until < h[down].until {
			down = r
		}
		if t.until <= h[down].until {
			break
		}
		h[i] = h[down]
		h[i].place = i + 1
		i = down
	}
	h[i] = t
	t.place = i + 1
}

// SleepUntil waits until the clock runs and has reached a time, or for ctx, whose cause it returns.
func (c *Clock) SleepUntil(ctx context.Context, at time.Duration) error {
	now := c.Now()
	if now >= at && c.Running() {
		return context.Cause(ctx)
	}
	if !c.can {
		return Sleep(ctx, at-now)
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
		if c.Now() >= at && c.Running() {
			return nil
		}
	}
}

// Sleep waits, in real time, for d or for ctx, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wait waits while the clock stands still, or for ctx, whose cause it returns.
func (c *Clock) Wait(ctx context.Context) error {
	if c.Running() {
		return nil
	}
	return c.SleepUntil(ctx, 0)
}

// WithDeadline is context.WithDeadline for a time of the clock. When the clock can be stopped, the
// context has no Deadline, but an end: its error then is context.DeadlineExceeded, as for contexts
// derived from it context.Canceled with this cause.
func (c *Clock) WithDeadline(
	ctx context.Context,
	at time.Duration,
) (context.Context, context.CancelFunc) {
	if !c.can {
		return context.WithDeadline(ctx, c.Date(at))
	}
	out, cancel := context.WithCancelCause(ctx)
	t := c.AfterFunc(at, func() { cancel(context.DeadlineExceeded) })
	return expiring{out}, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

// WithTimeout is [Clock.WithDeadline] for a time that begins now.
func (c *Clock) WithTimeout(
	ctx context.Context,
	d time.Duration,
) (context.Context, context.CancelFunc) {
	return c.WithDeadline(ctx, c.Now()+d)
}

// expiring is a context that was canceled with context.DeadlineExceeded as its cause once its
// deadline had come.
type expiring struct{ context.Context }

// Err returns the error of the context.
func (e expiring) Err() error {
	err := e.Context.Err()
	if err != nil && context.Cause(e.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}
