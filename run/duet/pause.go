package duet

import (
	"context"
	"fmt"
	"time"
)

// remedy ends the errors of targets that do not obey.
const remedy = "a comparison in sequence pauses no target"

// pauseFirst pauses the target before the first round.
func (s *Seat) pauseFirst(ctx context.Context) {
	s.hand.Lock()
	defer s.hand.Unlock()
	if s.clock != nil && !s.out {
		s.pause(ctx)
	}
}

// pause pauses the target, or fails the seat. The caller holds hand. The end of ctx does not cut a
// pause short: the table continues the target then.
func (s *Seat) pause(ctx context.Context) {
	if s.with.Target == nil {
		return
	}
	limit := s.table.limit
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	s.paused = true // a part of it, whatever happens
	began := time.Now()
	err := s.with.Target.Pause(ctx)
	took := time.Since(began)
	s.count(func(c *SeatStats) {
		c.Pausing += took
		c.PausingMax = max(c.PausingMax, took)
	})
	if err != nil {
		s.release(
			fmt.Errorf("duet: pausing the target of %s within %v: %w (%s)", s, limit, err, remedy),
		)
	}
}

// proceed continues the target if it may be paused. The caller holds hand.
func (s *Seat) proceed() error {
	if !s.paused {
		return nil
	}
	if err := s.with.Target.Continue(); err != nil {
		return fmt.Errorf("duet: continuing the target of %s: %w (%s)", s, err, remedy)
	}
	s.paused = false
	return nil
}
