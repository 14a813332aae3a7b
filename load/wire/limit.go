package wire

import (
	"context"
	"errors"
	"os"
	"time"

	"plimsoll/load/clock"
)

// A limit ends an operation: at an instant, or at a time of a clock that can be stopped. The zero
// limit ends none.
type limit struct {
	at    time.Time
	clock *clock.Clock // nil: at counts
	due   time.Duration
}

// within returns the limit of an operation that begins now and may take d, by the clock if there is
// one. The deadline of ctx is one of real time, and counts if it is earlier.
func within(ctx context.Context, now time.Time, d time.Duration, c *clock.Clock) limit {
	l := limit{at: now.Add(d), clock: c}
	if c != nil {
		l.due = c.Now() + d
	}
	if at, ok := ctx.Deadline(); ok && at.Before(l.at) {
		return limit{at: at}
	}
	return l
}

// patience returns the clock in whose time an answer is awaited: nil, real time, where the target
// works on while the clock stands still.
func patience(c *clock.Clock) *clock.Clock {
	if c == nil || c.Unpaused() {
		return nil
	}
	return c
}

// stoppable returns a clock that can be stopped, or nil: the time of any other is real time.
func stoppable(c *clock.Clock) *clock.Clock {
	if c == nil || !c.Stops() {
		return nil
	}
	return c
}

// context returns a context that ends with the limit.
func (l limit) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.clock != nil {
		return l.clock.WithDeadline(ctx, l.due)
	}
	return context.WithDeadline(ctx, l.at)
}

// instant returns when the limit comes if the clock is not stopped until then.
func (l limit) instant() time.Time {
	if l.clock == nil {
		return l.at
	}
	return time.Now().Add(l.due - l.clock.Now())
}

// The sides of a connection, which have deadlines of their own.
const (
	reads = iota
	writes
	sides
)

// standLook is the time after which a connection whose deadline strikes while its clock stands
// still looks again.
const standLook = 10 * time.Millisecond

// bound gives a limit to one side of the connection, or forgets the one before. The
// connection's own deadline is set afterwards; when that strikes and the clock was stopped
// meanwhile, stood puts it off.
func (s *sock) bound(side int, l limit) {
	due := int64(0)
	if l.clock != nil {
		due = int64(l.due)
	}
	s.due[side].Store(due)
}

// stood reports whether the deadline of a side has struck because the clock stood still, and then
// puts it off.
func (s *sock) stood(side int) bool {
	for {
		due := s.due[side].Load()
		left := time.Duration(due) - s.clock.Now()
		if due == 0 || left <= 0 {
			return false
		}
		set := s.Conn.SetReadDeadline
		if side == writes {
			set = s.Conn.SetWriteDeadline
		}
		s.armed.Store(0) // it is unknown to deadline
		if set(time.Now().Add(max(left, standLook))) != nil {
			return false
		}
		if s.due[side].Load() == due {
			return true // otherwise the operation was ended meanwhile, or the deadline set
		}
	}
}

// early reports whether err comes from a deadline of a side before its time, which has been put
// right.
func (s *sock) early(err error, side int) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	if s.clock != nil && s.due[side].Load() != 0 {
		return s.stood(side)
	}
	return s.hasty()
}
