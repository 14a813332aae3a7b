package duet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	firstSlice = 100 * time.Millisecond // automatic, before any report
	leastSlice = 200 * time.Millisecond // automatic, after one
	mostSlice  = 5 * time.Second
	perP95     = 10 // automatic slices, in the largest p95

	// for one pause: what waits for a disk freezes only when that has answered.
	pauseLimit = 10 * time.Second
	guardPoll  = 200 * time.Microsecond // between two looks at the operations in flight
)

// A Target can be paused. A table never makes two calls to one target at a time.
type Target interface {
	// Pause returns when nothing of the target runs any more, or an error when ctx has ended
	// before. After an error some of the target may be paused.
	Pause(ctx context.Context) error
	// Continue undoes Pause, also one that failed, and returns at once. It does nothing to a target
	// that runs.
	Continue() error
}

// Config configures a [RoundTable].
type Config struct {
	// Seats is the number of runs that will sit down. No turn begins before each of them has joined
	// or left.
	Seats int
	// Seed determines the order of turns.
	Seed uint64
	// Slice is the length of a turn. 0 means ten times the largest p95 among the last reports of
	// the seats, at least 200 ms and at most 5 s, and 100 ms before the first report
	// ([Seat.Report]). It is the same for all turns of a pair of rounds.
	Slice time.Duration
	// guard limits the time that is added to a slice, so that it ends with nothing in flight. 0
	// means a tenth of the slice, and tests alone set another.
	guard time.Duration
	// Log receives lines on the course of the duet. It may be nil. It is called from several
	// goroutines.
	Log func(format string, args ...any)
}

// A RoundTable hands out turns to the runs that have a [Seat] at it. Its methods are safe for
// concurrent use.
type RoundTable struct {
	cfg   Config
	limit time.Duration // for one pause

	changed  chan struct{} // 1: a seat was joined or left
	released chan struct{} // closed when the runs may begin, and when none will

	mu    sync.Mutex
	seats []*Seat
	ran   bool
	ended error // after Run, the reason for the seats that were still taken
}

// New returns a table without seats. The caller calls [RoundTable.Run].
func New(cfg Config) *RoundTable {
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	return &RoundTable{
		cfg:      cfg,
		limit:    pauseLimit,
		changed:  make(chan struct{}, 1),
		released: make(chan struct{}),
	}
}

// Sit gives a run its seat. Runs of one group have adjacent turns in each round. The name and the
// group together should be unique: they decide the seat's place in the seeded order, and stand in
// errors. Sit panics when all [Config.Seats] are taken. The caller calls [Seat.Leave].
func (t *RoundTable) Sit(name, group string) *Seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seats) >= t.cfg.Seats {
		panic(fmt.Sprintf("duet: more seats than the %d of Config", t.cfg.Seats))
	}
	s := &Seat{table: t, name: name, group: group, gone: make(chan struct{})}
	t.seats = append(t.seats, s)
	return s
}

var (
	errTwice  = errors.New("duet: Run was called twice")
	errPanic  = errors.New("the table has panicked")
	errUnused = errors.New("all other runs have left")
)

// Run hands out turns until all seats are left, and returns nil then, or until ctx ends, and
// returns its cause. A target that cannot be paused or continued fails its seat ([Seat.Err]), and
// the others go on.
//
// When Run returns, or panics because a callback did, every target has been continued and every
// clock runs, and seats that were not left have failed: their runs are in turns no more. The last
// run that is left keeps its turn, and its target is not paused.
func (t *RoundTable) Run(ctx context.Context) error {
	t.mu.Lock()
	twice := t.ran
	t.ran = true
	t.mu.Unlock()
	if twice {
		return errTwice
	}
	cause := errPanic
	defer func() { t.end(cause) }()
	err := t.rounds(ctx)
	if cause = err; err == nil {
		cause = errUnused
	}
	return err
}

// rounds does the work of Run.
func (t *RoundTable) rounds(ctx context.Context) error {
	if err := t.await(ctx, (*Seat).settled); err != nil {
		return err
	}
	seats := t.begin(ctx)
	groups := make([]string, len(seats))
	for i, s := range seats {
		groups[i] = s.group
	}
	order := newOrder(t.cfg.Seed, groups)
	for ctx.Err() == nil && t.playing(nil) > 0 {
		length := t.slice()
		for _, i := range order.pair() {
			t.turn(ctx, seats[i], length)
		}
	}
	return t.await(ctx, (*Seat).hasLeft)
}

// await waits until a condition holds for all seats.
func (t *RoundTable) await(ctx context.Context, condition func(*Seat) bool) error {
	for {
		t.mu.Lock()
		n := 0
		for _, s := range t.seats {
			if condition(s) {
				n++
			}
		}
		t.mu.Unlock()
		if n >= t.cfg.Seats {
			return nil
		}
		select {
		case <-t.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notify makes await look again.
func (t *RoundTable) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// begin pauses the targets of all seats that were joined, unless there is only one, lets their runs
// begin, and returns all seats.
func (t *RoundTable) begin(ctx context.Context) []*Seat {
	t.mu.Lock()
	seats := sorted(t.seats)
	t.mu.Unlock()
	epoch := time.Now()
	for _, s := range seats {
		s.prepare(epoch)
	}
	if n := t.playing(nil); n > 1 {
		for _, s := range seats {
			s.pauseFirst(ctx)
		}
	}
	close(t.released)
	return seats
}

// playing counts the seats other than one that have turns.
func (t *RoundTable) playing(other *Seat) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.seats {
		if s != other && s.clock != nil && !s.out {
			n++
		}
	}
	return n
}

// slice returns the length of the turns of the next rounds.
func (t *RoundTable) slice() time.Duration {
	if t.cfg.Slice > 0 {
		return t.cfg.Slice
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var largest time.Duration
	for _, s := range t.seats {
		if !s.out {
			largest = max(largest, time.Duration(s.p95.Load()))
		}
	}
	if largest == 0 {
		return firstSlice
	}
	return min(max(perP95*min(largest, mostSlice), leastSlice), mostSlice)
}

// turn gives a seat its turn. It returns early when the seat is left, and when ctx ends, with the
// target running.
func (t *RoundTable) turn(ctx context.Context, s *Seat, length time.Duration) {
	if ctx.Err() != nil || !s.start(length) {
		return
	}
	if !s.wait(ctx, length) {
		return
	}
	if t.playing(s) == 0 {
		t.mu.Lock()
		if !s.out {
			s.alone, s.aloneAt = true, s.clock.Now()
		}
		t.mu.Unlock()
		select {
		case <-s.gone:
		case <-ctx.Done():
		}
		return
	}
	guard := t.cfg.guard
	if guard <= 0 {
		guard = length / 10
	}
	if s.guard(ctx, guard) {
		s.stop(ctx)
	}
}

// end continues all targets and starts all clocks. Seats that were not left fail.
func (t *RoundTable) end(cause error) {
	t.mu.Lock()
	t.ended = cause
	seats := slices.Clone(t.seats)
	t.mu.Unlock()
	defer func() {
		select {
		case <-t.released:
		default:
			close(t.released)
		}
	}()
	endAll(seats, cause)
}

// endAll ends all seats, also when the target of one of them panics.
func endAll(seats []*Seat, cause error) {
	if len(seats) == 0 {
		return
	}
	defer endAll(seats[1:], cause)
	seats[0].end(cause)
}
