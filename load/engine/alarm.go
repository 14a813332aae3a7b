package engine

import (
	"sync/atomic"
	"time"
)

// An alarm wakes one goroutine at its time, or earlier when another goroutine rings. It is one channel to wait on
// instead of four: of thousands of users hardly anything is in the processor's caches when they wake, and a select
// touches every channel twice. wait is for the goroutine, ring for all.
type alarm struct {
	timer *time.Timer
	rung  atomic.Bool
}

func newAlarm() *alarm { return &alarm{timer: time.NewTimer(0)} }

// wait returns after d at the latest and reports whether ring was called since wait last returned true. It may return
// early without that.
func (a *alarm) wait(d time.Duration) bool {
	if d > 0 {
		// In this order: a ring after the check sets the timer again.
		a.timer.Reset(d)
		if !a.rung.Load() {
			<-a.timer.C
		}
	}
	return a.rung.Load() && a.rung.Swap(false)
}

// ring wakes the goroutine to check its state. Call it after changing that state.
func (a *alarm) ring() {
	a.rung.Store(true)
	a.timer.Reset(0)
}
