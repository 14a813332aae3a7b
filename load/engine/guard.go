package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// closeTime is the longest time that the actor of a user that panicked may take to close: it may
// wait for a lock that is never released.
const closeTime = time.Second

// end is the boundary of one user, which defers it: it closes the actor. A user that panics has
// failed for good, and the operation that it had under way counts as one whose answer could not be
// used. The others go on. It is not a frame below the user's: stacks are most of a user's memory.
func (l *Local) end(u *workload.User, actor workload.Actor) {
	v := recover()
	if v == nil {
		l.errandOf(u.ID, "a user that closes", actor.Close)
		return
	}
	u.Broke(measure.Decode)
	l.broken(u.ID, boundary.New("a user", v))
	closed := make(chan struct{})
	go func() { // at worst it stays behind, with the lock
		defer close(closed)
		l.errandOf(u.ID, "a user that closes after a panic", actor.Close)
	}()
	t := time.NewTimer(closeTime)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
		l.report(u.ID, fmt.Errorf("after its panic it has not closed within %v", closeTime))
	}
}

// broken counts a user that has failed for good, and reports the reason.
func (l *Local) broken(user int, err error) {
	l.failed.Add(1)
	l.report(user, err)
}

// fail counts and reports a user that cannot go on, unless the run is over or the user itself ends
// there.
func (l *Local) fail(ctx context.Context, user int, err error) {
	if ctx.Err() == nil && !errors.Is(err, workload.ErrStop) {
		l.broken(user, err)
	}
}

// errand is the boundary of a goroutine of the engine's own.
func (l *Local) errand(what string, f func()) { l.errandOf(-1, what, f) }

func (l *Local) errandOf(user int, what string, f func()) {
	if err := boundary.Do(what, func() error { f(); return nil }); err != nil {
		l.broken(user, err)
	}
}
