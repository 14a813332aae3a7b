package duet

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A target works off its backlog while the clock of its run stands, for a slice at most, unless an
// operation is under way, which would be answered in no time.
func TestCatchUp(t *testing.T) {
	ctx, _ := testContext(t)
	h := newHouse(t, Config{Seats: 2})
	idle, busy := h.sit("idle", ""), h.sit("busy", "")
	busy.inFlight = func() int { return 1 }
	var caughtUp, early atomic.Int64
	live := func(r *fakeRun, catchUp func(time.Duration)) func() error {
		return func() error {
			defer r.leave()
			with := r.seated()
			with.CatchUp = catchUp
			c, err := r.seat.Join(ctx, with)
			if err != nil {
				return err
			}
			h.mu.Lock()
			r.clock = c
			h.mu.Unlock()
			for range 4 {
				<-r.begun
			}
			return nil
		}
	}
	errs, err := h.play(ctx, live(idle, func(limit time.Duration) {
		h.mu.Lock()
		defer h.mu.Unlock()
		caughtUp.Add(1)
		if !idle.running || idle.clock != nil && idle.clock.Running() || limit != someSlice {
			t.Errorf("a backlog of %v with the target running: %v", limit, idle.running)
		}
	}), live(busy, func(time.Duration) { early.Add(1) }))
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	if n := early.Load(); n != 0 || caughtUp.Load() < 4 {
		t.Errorf(
			"%d turns began after a backlog, and %d with an operation under way did",
			caughtUp.Load(),
			n,
		)
	}
}
