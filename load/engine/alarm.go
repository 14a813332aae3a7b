package engine

import (
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
)

// An alarm wakes one goroutine at its time, or earlier when another goroutine rings. It is one
// channel to wait on instead of four: of thousands of users hardly anything is in the processor's
// caches when they wake, and a select touches every channel twice. wait is for the goroutine, ring
// for all.
type alarm struct {
	clock *clock.Clock
	timer *clock.Timer
	rung  atomic.Bool
}

func newAlarm(c *clock.Clock, timer *clock.Timer) *alarm { return &alarm{clock: c, timer: timer} }

// wait returns at the latest when the clock runs and has reached the time until, and reports
// whether ring was called since wait last returned true. It may return early without that. The
// clock has just shown now.
func (a *alarm) wait(now, until time.Duration) bool {
	if until > now || !a.clock.Running() {
		// In this order: a ring after the check sets the timer again.
		a.timer.ResetFrom(now, until)
		if !a.rung.Load() {
			<-a.timer.C
		}
	}
	return a.rung.Load() && a.rung.Swap(false)
}

// ring wakes the goroutine to check its state. Call it after changing that state.
func (a *alarm) ring() {
	a.rung.Store(true)
	a.timer.Ring()
}
