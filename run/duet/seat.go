package duet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
)

// A Seat is the place of one run at a [RoundTable]. Its methods are safe for concurrent use. The
// callbacks of [Seated] and the target must not call Leave.
type Seat struct {
	table       *RoundTable
	name, group string
	p95         atomic.Int64
	gone        chan struct{} // closed by Leave

	// hand is held while the target or the clock is made to run or to stand. It is taken before the
	// table's mu.
	hand    sync.Mutex
	with    Seated
	paused  bool          // the target may be
	stopped time.Time     // when the clock was stopped last
	began   time.Duration // of the turn, on the clock

	// The following fields are written under the table's mu; fields that both the table's goroutine
	// and Leave need, under hand too.
	clock   *clock.Clock // nil before the first round
	joined  bool
	out     bool // has no turns any more
	left    bool
	err     error
	cancels []context.CancelCauseFunc
	stats   SeatStats
	alone   bool          // all others had left when
	aloneAt time.Duration // the clock showed this
}

// Seated is the run that joins.
type Seated struct {
	// Target is paused between the turns; nil for a target that cannot be paused and works on. The
	// clock of its run comes from [clock.NewUnpaused].
	Target Target
	// Begin is called right after the clock was started for a turn, and End right before it is
	// stopped, both by the table, which waits for them: they return at once. Either may be nil. A
	// last turn before the seat is left or the table ends has no End. Only turns have a Begin: the
	// start of the clock by Leave has none.
	Begin, End func()
	// CatchUp is called after the target was continued and before the clock is started, where no
	// operation is under way. It returns when the target has done what its timers left in the
	// pause, at the latest after limit, so that this work delays no operation. It may be nil.
	CatchUp func(limit time.Duration)
	// InFlight returns the number of operations under way. It may be nil: no slice is lengthened
	// then.
	InFlight func() int
}

// SeatStats sums up the turns of a seat.
type SeatStats struct {
	Turns int           // that began
	Time  time.Duration // on the clock, until the seat was left or failed
	Alone time.Duration // part of Time: after all others had left

	// of the turns that were neither cut nor the last run's, with their guards
	SliceMin, SliceMax time.Duration
	Guard              time.Duration // total time by which slices were lengthened
	Carried            int           // turns that ended with operations in flight
	CarriedOps         int           // those operations

	// the longest time between two turns, or before the first one
	Foreign                   time.Duration
	Pausing, PausingMax       time.Duration // pauses of the target, in all and the longest
	Continuing, ContinuingMax time.Duration
	// of targets that were continued, before their clocks were started
	CatchingUp time.Duration
}

// String returns the run's name for messages.
func (s *Seat) String() string {
	if s.group == "" {
		return s.name
	}
	return s.name + " on " + s.group
}

// Join blocks until all seats of the table were joined or left, and returns the run's clock, which
// stands at 0 and starts with the first turn. The target runs when Join is called; the table pauses
// it before Join returns, unless it cannot be paused or no other run has joined. After an error the
// run does not begin, and the caller calls Leave.
func (s *Seat) Join(ctx context.Context, with Seated) (*clock.Clock, error) {
	t := s.table
	s.hand.Lock()
	t.mu.Lock()
	var err error
	switch {
	case s.left:
		err = s.errLeft()
	case t.ended != nil:
		err = fmt.Errorf("duet: %s joins too late: %w", s, t.ended)
	case s.joined:
		err = fmt.Errorf("duet: %s joins twice", s)
	default:
		s.with, s.joined = with, true
	}
	t.mu.Unlock()
	s.hand.Unlock()
	if err != nil {
		return nil, err
	}
	t.notify()
	select {
	case <-t.released:
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case s.left:
			return nil, s.errLeft()
		case s.err != nil:
			return nil, s.err
		case s.clock == nil: // an earlier Join was given up when the rounds began
			return nil, fmt.Errorf("duet: %s joins too late: the turns have begun", s)
		}
		return s.clock, nil
	case <-s.gone:
		return nil, s.errLeft()
	case <-ctx.Done():
		t.mu.Lock()
		s.joined = s.clock != nil // too late: it has turns until it is left
		t.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

func (s *Seat) errLeft() error { return fmt.Errorf("duet: %s was left before its run began", s) }

// Context returns a context that ends with ctx, and when the seat fails, then with [Seat.Err] as
// its cause. The run is done under it. The caller calls cancel.
func (s *Seat) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancelCause(ctx)
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if s.err != nil {
		cancel(s.err)
	}
	s.cancels = append(s.cancels, cancel)
	return out, func() { cancel(context.Canceled) }
}

// Err returns the reason for which the seat has no turns any more, though it was not left: its
// target could not be paused or continued, or the table has ended. After Leave it may be an error
// of the last continuing of the target.
func (s *Seat) Err() error {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return s.err
}

// Report sets the 95th percentile of the recent latencies of the run, from which the lengths of
// automatic slices follow. It never blocks.
func (s *Seat) Report(p95 time.Duration) { s.p95.Store(int64(max(p95, 0))) }

// Leave gives up the seat: the run is over, or will not begin. When it returns, the target was
// continued and the clock runs, also while another run has its turn. It does nothing to a seat that
// was left.
func (s *Seat) Leave() {
	s.hand.Lock()
	defer s.hand.Unlock()
	s.table.mu.Lock()
	again := s.left
	s.left = true
	s.table.mu.Unlock()
	s.release(nil)
	if !again {
		close(s.gone)
		s.table.notify()
	}
}

// Stats returns the counts so far.
func (s *Seat) Stats() SeatStats {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	stats := s.stats
	if s.clock != nil && !s.out {
		stats.Time = s.clock.Now()
	}
	if s.alone {
		stats.Alone = stats.Time - s.aloneAt
	}
	return stats
}

// settled reports whether the table need not wait for the seat. The caller holds the table's mu.
func (s *Seat) settled() bool { return s.joined || s.left }

// hasLeft reports whether the seat was left. The caller holds the table's mu.
func (s *Seat) hasLeft() bool { return s.left }

// prepare makes the clock of a seat that was joined.
func (s *Seat) prepare(epoch time.Time) {
	s.hand.Lock()
	defer s.hand.Unlock()
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if s.joined && !s.out {
		s.clock, s.stopped = clock.NewStopped(epoch), epoch
		if s.with.Target == nil {
			s.clock = clock.NewUnpaused(epoch)
		}
	}
}

// start gives the turn to the seat, and reports whether it has it. A turn of a slice has a backlog
// that takes no longer.
func (s *Seat) start(slice time.Duration) bool {
	s.hand.Lock()
	defer s.hand.Unlock()
	if s.clock == nil || s.out {
		return false
	}
	began := time.Now()
	if err := s.proceed(); err != nil {
		s.release(err)
		return false
	}
	continued := time.Now()
	if s.with.CatchUp != nil && (s.with.InFlight == nil || s.with.InFlight() == 0) {
		s.with.CatchUp(slice)
	}
	caughtUp := time.Since(continued)
	s.began = s.clock.Start()
	now := time.Now()
	s.count(func(c *SeatStats) {
		c.Turns++
		c.Foreign = max(c.Foreign, now.Sub(s.stopped))
		took := now.Sub(began) - caughtUp
		c.Continuing += took
		c.ContinuingMax = max(c.ContinuingMax, took)
		c.CatchingUp += caughtUp
	})
	if s.with.Begin != nil {
		s.with.Begin()
	}
	return true
}

// wait waits for a slice, and reports whether the seat is still taken and ctx has not ended.
func (s *Seat) wait(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.gone:
	case <-ctx.Done():
	}
	return false
}

// guard waits until nothing is in flight, but no longer than limit, and reports as wait does.
func (s *Seat) guard(ctx context.Context, limit time.Duration) bool {
	if s.with.InFlight == nil {
		return true
	}
	began := time.Now()
	defer func() { s.count(func(c *SeatStats) { c.Guard += time.Since(began) }) }()
	for s.with.InFlight() > 0 {
		rest := limit - time.Since(began)
		if rest <= 0 {
			break
		}
		if !s.wait(ctx, min(rest, guardPoll)) {
			return false
		}
	}
	return true
}

// stop ends the turn.
func (s *Seat) stop(ctx context.Context) {
	s.hand.Lock()
	defer s.hand.Unlock()
	if s.out {
		return
	}
	if s.with.End != nil {
		s.with.End()
	}
	length := s.clock.Stop() - s.began
	s.stopped = time.Now()
	carried := 0
	if s.with.InFlight != nil {
		carried = s.with.InFlight()
	}
	s.count(func(c *SeatStats) {
		if c.SliceMin == 0 || length < c.SliceMin {
			c.SliceMin = length
		}
		c.SliceMax = max(c.SliceMax, length)
		if carried > 0 {
			c.Carried++
			c.CarriedOps += carried
		}
	})
	s.pause(ctx)
}

// end releases a seat that was not left, and tries again to continue the target of one that was.
func (s *Seat) end(cause error) {
	s.hand.Lock()
	defer s.hand.Unlock()
	s.table.mu.Lock()
	left := s.left
	s.table.mu.Unlock()
	if left {
		cause = nil
	} else {
		cause = fmt.Errorf("duet: %s has no turns any more: %w", s, cause)
	}
	s.release(cause)
}

// release takes the seat out of the rounds, continues its target and lets its clock run. A cause
// fails the seat, unless it has failed before. The caller holds hand.
func (s *Seat) release(cause error) {
	t := s.table
	t.mu.Lock()
	if !s.out && s.clock != nil {
		s.stats.Time = s.clock.Now()
	}
	s.out = true
	t.mu.Unlock()
	defer func() { // the run ends also when Continue panics
		if s.clock != nil {
			s.clock.Start()
		}
		s.fail(cause)
	}()
	if err := s.proceed(); err != nil && (cause == nil || cause.Error() != err.Error()) {
		cause = errors.Join(cause, err)
	}
}

// fail sets the first error of the seat, and ends the contexts of its run.
func (s *Seat) fail(cause error) {
	t := s.table
	t.mu.Lock()
	first := s.err == nil && cause != nil
	if first {
		s.err = cause
		for _, cancel := range s.cancels {
			cancel(cause)
		}
	}
	t.mu.Unlock()
	if first {
		t.cfg.Log("%v", cause)
	}
}

// count changes the counts.
func (s *Seat) count(f func(*SeatStats)) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	f(&s.stats)
}
