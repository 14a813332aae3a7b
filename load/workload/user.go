package workload

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
)

// A User is one simulated user: its number, its streams of chance, and the ledger line on which its
// operations are recorded. All methods but Deliver's callers' are for the user's own goroutine,
// except where noted.
type User struct {
	// ID counts from 0 over all behaviors of a run.
	ID int
	// Rank counts from 0 among the users of the same behavior.
	Rank int
	// Class is the number of the user's behavior in the mix.
	Class int
	// Pace is Env.Pace.
	Pace float64
	// Action, Think, Content and Pick are independent streams, a function of the seed and ID alone.
	Action, Think, Content, Pick *rand.Rand

	seed     uint64
	sources  [4]*rand.PCG // of the streams, in their order
	rec      *measure.Recorder
	buffered bool           // ops are recorded in batches
	batch    *measure.Batch // nil while it holds nothing
	clock    *clock.Clock
	intended time.Duration   // of the next op
	waited   time.Duration   // wait of the next op for a place so far
	fresh    bool            // nothing was done since Schedule
	flight   *measure.Flight // of the user's own goroutine; nil before its first Begin
	ops      atomic.Int64
}

// NewUser returns user id, who lives in the time of a clock.
func NewUser(id, rank int, seed uint64, pace float64, rec *measure.Recorder, c *clock.Clock) *User {
	u := &User{ID: id, Rank: rank, Pace: pace, rec: rec, clock: c, seed: seed}
	for i, r := range []**rand.Rand{&u.Action, &u.Think, &u.Content, &u.Pick} {
		u.sources[i] = rand.NewPCG(seed, uint64(id)<<8|uint64(i+1))
		*r = rand.New(u.sources[i])
	}
	return u
}

// Recorder returns the user's recorder, for goroutines of the user that record on their own (a
// WebSocket reader). It is safe for concurrent use.
func (u *User) Recorder() *measure.Recorder { return u.rec }

// heldAtMost is the longest op that a batch holds back, and heldLagAtMost the longest lateness of
// an action: an op that could affect a rule or a gate is recorded at once.
const (
	heldAtMost    = 50 * time.Millisecond
	heldLagAtMost = 2 * time.Millisecond
)

// Buffer makes the user's own goroutine record in batches from here on, which is cheaper: quick ops
// of an action are recorded when it ends, or with its next slow one. The goroutine of the user
// calls Flush before it rests.
func (u *User) Buffer() { u.buffered = true }

// Flush hands the records to the registry.
func (u *User) Flush() {
	if u.batch != nil {
		u.batch.Close()
		u.batch = nil
	}
}

// held returns the user's batch.
func (u *User) held() *measure.Batch {
	if u.batch == nil {
		u.batch = u.rec.Batch()
	}
	return u.batch
}

// Lag records how late the generator was with an action, under n.
func (u *User) Lag(n measure.Name, d time.Duration) {
	if u.buffered {
		u.held().Lag(n, d)
		if d > heldLagAtMost {
			u.Flush()
		}
	} else {
		u.rec.Lag(n, d)
	}
}

// Clock returns the clock of the user's run. It is safe for concurrent use.
func (u *User) Clock() *clock.Clock { return u.clock }

// Since returns an instant that is past as an offset from the run's epoch, in the time of its
// clock. It is safe for concurrent use.
func (u *User) Since(t time.Time) time.Duration { return u.clock.Of(t) }

// Now returns the present offset from the run's epoch. It is safe for concurrent use.
func (u *User) Now() time.Duration { return u.clock.Now() }

// Schedule opens an action, which the schedule wanted at intended. The engine calls it before
// every Act and Login.
func (u *User) Schedule(intended time.Duration) {
	u.intended = intended
	u.waited = 0
	u.fresh = true
}

// Begin records that an operation is under way, whose Done comes next: its request is ready and
// waits for a connection. When the run is cut off, Done may never come.
func (u *User) Begin(n measure.Name) {
	if u.flight == nil {
		u.flight = u.rec.Flight()
	}
	now := u.Now()
	u.flight.Begin(n, max(now-u.waited, u.intended), now)
}

// Idle records that the user's own goroutine has nothing under way: the engine calls it after an
// action.
func (u *User) Idle() {
	if u.flight != nil {
		u.flight.End()
	}
}

// Broke records the operation under way, whose Done will never come because the user's goroutine
// has panicked, in a class. It does nothing when none is under way.
func (u *User) Broke(class measure.Class) {
	if u.flight == nil {
		return
	}
	if n, ok := u.flight.UnderWay(); ok {
		u.rec.Error(n, class)
		u.flight.End()
	}
}

// Waited records how long the opened action waited for a place among those in flight. The next op
// is charged with it.
func (u *User) Waited(d time.Duration) { u.waited = d }

// Intended returns the moment from which on the user could do its next operation: that of
// [User.Schedule], then the arrival of its last answer, the end of a [User.Pause], or that of
// [User.Rejoin].
func (u *User) Intended() time.Duration { return u.intended }

// Free returns the moment at which the user was done with its action: Intended, or now if it did
// nothing.
func (u *User) Free(now time.Duration) time.Duration {
	if u.fresh {
		return now
	}
	return u.intended
}

// Done records one operation. At due the user had its request ready and requested a
// connection, sent when it had one and wrote, done when the answer arrived: only the time between
// due and sent is wait. It is intended when the schedule wanted the action, or for a later op of
// it, at the arrival of the answer before, the end of [User.Pause], or that of [User.Rejoin]. The
// time that the generator needed from then until due (reading, decoding, being scheduled, preparing
// the request) is lag. It returns when the op was due with all that it waited, as an offset from
// the epoch.
func (u *User) Done(
	n measure.Name,
	due, sent, done time.Time,
	class measure.Class,
	bytes int64,
) time.Duration {
	op := u.op(u.intended, u.waited, due, sent, done)
	op.Class, op.Bytes = class, bytes
	u.intended, u.waited, u.fresh = u.clock.Of(done), 0, false
	if u.buffered {
		u.held().Record(n, &op)
		if op.Done-op.Due > heldAtMost || op.Due-op.Intended > heldLagAtMost || u.rec.Late(op.Due) {
			u.Flush()
		}
	} else {
		u.rec.Record(n, &op)
	}
	u.Idle()
	u.ops.Add(1)
	return op.Due
}

// op returns an op of these instants that had waited before it was due.
func (u *User) op(intended, waited time.Duration, due, sent, done time.Time) measure.Op {
	wait := u.clock.Took(due, sent)
	at := u.clock.Of(due) + wait
	op := measure.Op{
		Intended:  intended,
		Sent:      at,
		Done:      at + u.clock.Took(sent, done),
		Scheduled: true,
	}
	op.Charge(waited + wait)
	return op
}

// Pause sleeps inside an action, d as at pace 1, from the moment on at which the user could go on,
// and makes its end the next op's Intended. It returns ctx's cause when the run ends first.
func (u *User) Pause(ctx context.Context, d time.Duration) error {
	until := u.intended + u.waited + time.Duration(float64(d)*u.Pace)
	u.Flush()
	if err := u.clock.SleepUntil(ctx, until); err != nil {
		return err
	}
	u.intended = until
	u.waited = 0
	u.fresh = false
	return nil
}

// Rejoin records that the user's goroutine has waited for others of the user's, which record their
// ops themselves and the last of which was done at that moment: that wait is in their ops, and the
// next op is intended when it ended, not when its own goroutine's last op was done.
func (u *User) Rejoin(at time.Duration) {
	if at > u.intended {
		u.intended = at
		u.waited = 0
		u.fresh = false
	}
}

// Beside records the operations of a user that another goroutine than the user's own makes, one
// after the other: calls that go out together with the user's, or that an event or a clock sets
// off. It is for one goroutine.
type Beside struct {
	u        *User
	intended time.Duration
	flight   *measure.Flight // nil: the end of a phase does not wait for these operations
}

// Beside returns a recorder whose first op is intended at that moment; each later one is intended
// when the one before it was done.
func (u *User) Beside(intended time.Duration) *Beside { return &Beside{u: u, intended: intended} }

// Followed lets the end of a phase wait for the operations, as it does for those of the user's own
// goroutine, until Close.
func (b *Beside) Followed() *Beside {
	b.flight = b.u.rec.Flight()
	return b
}

// Close ends that, if the last op has ended; a run that is cut off does not call it.
func (b *Beside) Close() {
	if b.flight != nil {
		b.flight.Close()
	}
}

// Begin is [User.Begin] for such an op.
func (b *Beside) Begin(n measure.Name) {
	if b.flight != nil {
		now := b.u.Now()
		b.flight.Begin(n, max(now, b.intended), now)
	}
}

// Intended returns when the last op was done, or the moment given to [User.Beside] if there was
// none.
func (b *Beside) Intended() time.Duration { return b.intended }

// Done is [User.Done] for such an op.
func (b *Beside) Done(
	n measure.Name,
	due, sent, done time.Time,
	class measure.Class,
	bytes int64,
) time.Duration {
	op := b.u.op(b.intended, 0, due, sent, done)
	op.Class, op.Bytes = class, bytes
	b.u.rec.Record(n, &op)
	b.intended = b.u.Since(done)
	if b.flight != nil {
		b.flight.End()
	}
	return op.Due
}

// Ops returns how many operations were recorded. It is safe for concurrent use.
func (u *User) Ops() int64 { return u.ops.Load() }

// SleepUntil waits, in real time, for t or for ctx, whose cause it returns. Users wait by their
// clock.
func SleepUntil(ctx context.Context, t time.Time) error { return clock.Sleep(ctx, time.Until(t)) }

// Strata deals users to classes so that any stretch of consecutive users holds the classes in
// proportion to their shares as closely as whole users allow: each user goes to the class that is
// furthest below its quota. Chance has no part in it. It is not safe for concurrent use.
type Strata struct {
	shares []float64
	counts []int
	n      int
}

// NewStrata returns a dealer for shares that add up to 1.
func NewStrata(shares ...float64) *Strata {
	return &Strata{shares: shares, counts: make([]int, len(shares))}
}

// Next returns the class of the next user and the user's number within the class, from 0.
func (s *Strata) Next() (class, rank int) {
	s.n++
	need := -1.0
	for k, share := range s.shares {
		if d := share*float64(s.n) - float64(s.counts[k]); share > 0 && d > need+1e-12 {
			class, need = k, d
		}
	}
	rank = s.counts[class]
	s.counts[class]++
	return class, rank
}
