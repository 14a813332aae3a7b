package duet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"plimsoll/load/clock"
)

const (
	deadline  = 30 * time.Second // of a test's waits
	someSlice = 5 * time.Millisecond
)

// A house holds the targets of a test, and checks that only one of the targets in turns runs.
type house struct {
	t       *testing.T
	table   *RoundTable
	mu      sync.Mutex
	runs    []*fakeRun
	turns   []string // the seats in the order of their turns
	stopped bool     // turns are recorded no more: a run is over
}

// A fakeRun is a run and its target.
type fakeRun struct {
	house    *house
	seat     *Seat
	inFlight func() int
	onBegin  func()
	onPause  func(ctx context.Context, n int) error // the n-th call, from 1
	onGo     func(n int) error
	begun    chan struct{} // a turn has; capacity 1

	// What follows is under the house's mu.
	running           bool
	exempt            bool // from turns: it is leaving, or its table has ended
	pauses, continues int
	begins, ends      int
	clock             *clock.Clock
	at                time.Duration // on the clock, at the last pause
}

func newHouse(t *testing.T, cfg Config) *house {
	if cfg.Slice == 0 {
		cfg.Slice = someSlice
	}
	cfg.Log = t.Logf
	return &house{t: t, table: New(cfg)}
}

func (h *house) sit(name, group string) *fakeRun {
	r := &fakeRun{
		house:   h,
		seat:    h.table.Sit(name, group),
		running: true,
		begun:   make(chan struct{}, 1),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = append(h.runs, r)
	return r
}

func (r *fakeRun) seated() Seated {
	return Seated{Target: r, Begin: r.begin, End: r.end, InFlight: r.inFlight}
}

// join joins, and tells the target its clock.
func (r *fakeRun) join(ctx context.Context) (*clock.Clock, error) {
	c, err := r.seat.Join(ctx, r.seated())
	r.house.mu.Lock()
	defer r.house.mu.Unlock()
	r.clock = c
	return c, err
}

// leave leaves, and checks that target and clock run.
func (r *fakeRun) leave() {
	h := r.house
	h.mu.Lock()
	r.exempt, h.stopped = true, true
	h.mu.Unlock()
	r.seat.Leave()
	r.checkFree()
}

// checkFree checks that the target and the clock run.
func (r *fakeRun) checkFree() {
	h := r.house
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !r.running {
		h.t.Errorf("the target of %s stands still", r.seat)
	}
	if r.clock != nil && !r.clock.Running() {
		h.t.Errorf("the clock of %s stands still", r.seat)
	}
}

// live is the whole of a run: it joins, and leaves in its last turn, or when its context ends.
func (r *fakeRun) live(ctx context.Context, turns int) error {
	defer r.leave()
	ctx, cancel := r.seat.Context(ctx)
	defer cancel()
	if _, err := r.join(ctx); err != nil {
		return err
	}
	for {
		select {
		case <-r.begun:
			if r.seat.Stats().Turns >= turns {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forever is more turns than a test has.
const forever = 1 << 30

func (r *fakeRun) Pause(ctx context.Context) error {
	h := r.house
	h.mu.Lock()
	r.pauses++
	n := r.pauses
	if r.clock != nil {
		r.at = r.clock.Now()
		if r.clock.Running() {
			h.t.Errorf("%s is paused with a running clock", r.seat)
		}
	}
	r.running = false
	h.mu.Unlock()
	if r.onPause != nil {
		return r.onPause(ctx, n)
	}
	return nil
}

func (r *fakeRun) Continue() error {
	h := r.house
	h.mu.Lock()
	r.continues++
	n := r.continues
	h.mu.Unlock()
	if r.onGo != nil {
		if err := r.onGo(n); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.checkAlone("is continued")
	if r.clock != nil && !r.exempt && (r.clock.Running() || r.clock.Now() != r.at) {
		h.t.Errorf("%s is continued at %v of its clock, paused at %v", r.seat, r.clock.Now(), r.at)
	}
	r.running = true
	return nil
}

// checkAlone checks that no other target in turns runs. The caller holds the house's mu.
func (r *fakeRun) checkAlone(event string) {
	for _, other := range r.house.runs {
		if other != r && other.running && !other.exempt && !r.exempt {
			r.house.t.Errorf("%s %s while %s runs", r.seat, event, other.seat)
		}
	}
}

func (r *fakeRun) begin() {
	h := r.house
	h.mu.Lock()
	r.begins++
	r.checkAlone("has its turn")
	if !h.stopped {
		h.turns = append(h.turns, r.seat.String())
	}
	if !r.running || r.clock != nil && !r.clock.Running() {
		h.t.Errorf("%s begins a turn with its target running: %v", r.seat, r.running)
	}
	h.mu.Unlock()
	select {
	case r.begun <- struct{}{}:
	default:
	}
	if r.onBegin != nil {
		r.onBegin()
	}
}

func (r *fakeRun) end() {
	h := r.house
	h.mu.Lock()
	defer h.mu.Unlock()
	r.ends++
	if !r.running || r.clock != nil && !r.clock.Running() {
		h.t.Errorf("%s ends a turn with its target running: %v", r.seat, r.running)
	}
}

// exemptAll ends the checks of turns: the table is about to end.
func (h *house) exemptAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		r.exempt = true
	}
}

// errStuck is the cause of a test's context that has reached its deadline.
var errStuck = errors.New("the test's deadline has passed")

func testContext(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(deadline, func() { cancel(errStuck) })
	t.Cleanup(func() { timer.Stop(); cancel(nil) })
	return ctx, cancel
}

// play runs the table and the runs until both are over, and returns the runs' errors, and the
// table's.
func (h *house) play(ctx context.Context, bodies ...func() error) ([]error, error) {
	h.t.Helper()
	errs := make([]error, len(bodies))
	var wg sync.WaitGroup
	for i, body := range bodies {
		wg.Go(func() { errs[i] = body() })
	}
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return h.table.Run(ctx)
	}()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(deadline):
		h.t.Fatal("the runs do not end after the table")
	}
	if errors.Is(err, errStuck) {
		h.t.Fatal(err)
	}
	return errs, err
}

// when waits until a condition holds.
func when(t *testing.T, text string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !condition(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Errorf("waited in vain until %s", text)
			return
		}
	}
}
