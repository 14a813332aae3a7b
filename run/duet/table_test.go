package duet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Four runs of two groups take turns in the seeded order, one at a time, each in its own time.
func TestTurns(t *testing.T) {
	const turns = 9
	ctx, _ := testContext(t)
	h := newHouse(t, Config{Seats: 4, Seed: 9})
	var bodies []func() error
	for _, name := range []string{"new on p", "base on m", "base on p", "new on m"} {
		name, group, _ := strings.Cut(name, " on ")
		r := h.sit(name, group)
		bodies = append(bodies, func() error { return r.live(ctx, turns) })
	}
	errs, err := h.play(ctx, bodies...)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}

	var want []string
	names := []string{"base on m", "new on m", "base on p", "new on p"}
	order := newOrder(9, []string{"m", "m", "p", "p"})
	for len(want) < len(h.turns) {
		for _, i := range order.pair() {
			want = append(want, names[i])
		}
	}
	if diff := cmp.Diff(want[:len(h.turns)], h.turns); diff != "" || len(h.turns) < 4*(turns-1) {
		t.Errorf("%d turns (-want +got)\n%s", len(h.turns), diff)
	}
	for _, r := range h.runs {
		st := r.seat.Stats()
		if st.Turns != r.begins || st.Turns < turns || r.ends < st.Turns-1 {
			t.Errorf(
				"%s: %d turns, of which %d began and %d ended",
				r.seat,
				st.Turns,
				r.begins,
				r.ends,
			)
		}
		if st.Time < time.Duration(r.ends)*someSlice {
			t.Errorf("%s: %v on its clock in %d turns", r.seat, st.Time, st.Turns)
		}
		if st.SliceMin < someSlice || st.SliceMax < st.SliceMin || st.Guard != 0 ||
			st.Carried != 0 {
			t.Errorf("%s: stats %+v", r.seat, st)
		}
		if st.Foreign < 2*someSlice { // another group's two turns at least
			t.Errorf("%s: stood still for %v at most", r.seat, st.Foreign)
		}
	}
}

// The clock's time is the sum of the turns, and none of it passes elsewhere.
func TestTimeIsOfTurns(t *testing.T) {
	ctx, cancel := testContext(t)
	h := newHouse(t, Config{Seats: 2})
	began := time.Now()
	over := errors.New("over")
	a, b := h.sit("a", ""), h.sit("b", "")
	live := func(r *fakeRun) func() error {
		return func() error {
			defer r.leave()
			if _, err := r.join(ctx); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}
	}
	end := func() error {
		when(t, "each has had ten turns", func() bool {
			return a.seat.Stats().Turns > 10 && b.seat.Stats().Turns > 10
		})
		st, now := a.seat.Stats(), a.seat.clock.Now()
		if st.Time > now {
			t.Errorf("stats have %v before the clock has: %v", st.Time, now)
		}
		h.exemptAll()
		cancel(over)
		return nil
	}
	// nil: both have left by then
	if _, err := h.play(ctx, live(a), live(b), end); err != nil && !errors.Is(err, over) {
		t.Fatal(err)
	}
	x, y := a.seat.Stats(), b.seat.Stats()
	if all := time.Since(began); x.Time+y.Time > all {
		t.Errorf("clocks passed %v and %v within %v", x.Time, y.Time, all)
	}
	for _, st := range []SeatStats{x, y} {
		if st.SliceMin < someSlice || st.Time < time.Duration(st.Turns-1)*st.SliceMin {
			t.Errorf(
				"%v on the clock, in %d turns of %v to %v",
				st.Time,
				st.Turns,
				st.SliceMin,
				st.SliceMax,
			)
		}
	}
}

func TestSlice(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		fixed   time.Duration
		reports []time.Duration
		want    time.Duration
	}{
		{"fixed", 30 * ms, []time.Duration{time.Second, 0}, 30 * ms},
		{"no report", 0, []time.Duration{0, 0}, 100 * ms},
		{"fast", 0, []time.Duration{ms, 2 * ms}, 200 * ms},
		{"the slower", 0, []time.Duration{70 * ms, 40 * ms}, 700 * ms},
		{"the slower is the other", 0, []time.Duration{40 * ms, 70 * ms}, 700 * ms},
		{"slow", 0, []time.Duration{0, 700 * ms}, 5 * time.Second},
		{"absurd", 0, []time.Duration{1 << 62, 0}, 5 * time.Second},
		{"negative", 0, []time.Duration{-1, 0}, 100 * ms},
		{"a seat that was left", 0, []time.Duration{30 * ms, 0, 300 * ms}, 300 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := New(Config{Seats: len(test.reports), Slice: test.fixed})
			for i, p95 := range test.reports {
				s := table.Sit(string(rune('a'+i)), "")
				s.Report(time.Hour)
				s.Report(p95) // the last report counts
				if i == 2 {
					s.Leave()
				}
			}
			if got := table.slice(); got != test.want {
				t.Errorf("slice %v, want %v", got, test.want)
			}
		})
	}
}

// A slice that would end with operations in flight is lengthened, with its load, until there are
// none or the guard is over; the rest is carried over.
func TestGuard(t *testing.T) {
	tests := []struct {
		name     string
		guard    time.Duration
		inFlight func(polls int) int // polls since the turn's begin, from 1
		check    func(st SeatStats, ended int) bool
	}{
		{"nothing in flight", 0, func(int) int { return 0 },
			func(st SeatStats, _ int) bool { return st.Carried == 0 && st.CarriedOps == 0 }},
		{"always three", 3 * time.Millisecond, func(int) int { return 3 },
			func(st SeatStats, ended int) bool {
				return st.Carried == ended && st.CarriedOps == 3*ended &&
					st.SliceMin >= someSlice+3*time.Millisecond &&
					st.Guard >= time.Duration(ended)*3*time.Millisecond
			}},
		{"a tenth by default", 0, func(int) int { return 1 },
			func(st SeatStats, ended int) bool {
				return st.Carried == ended && st.SliceMin >= someSlice*11/10 &&
					st.Guard >= time.Duration(ended)*someSlice/10
			}},
		// Two whole guards of this length would outlast the test.
		{"soon none", deadline, func(polls int) int { return max(3-polls, 0) },
			func(st SeatStats, ended int) bool {
				return st.Carried == 0 && st.Guard >= time.Duration(ended)*2*guardPoll &&
					st.SliceMin >= someSlice+2*guardPoll
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, _ := testContext(t)
			h := newHouse(t, Config{Seats: 2, guard: test.guard})
			a, b := h.sit("a", ""), h.sit("b", "")
			polls := 0 // of a, in the table's goroutine
			a.onBegin = func() { polls = 0 }
			a.inFlight = func() int { polls++; return test.inFlight(polls) }
			errs, err := h.play(ctx,
				func() error { return a.live(ctx, 6) }, func() error { return b.live(ctx, 6) })
			if err := errors.Join(append(errs, err)...); err != nil {
				t.Fatal(err)
			}
			// The last turn may have been cut in its guard.
			if st := a.seat.Stats(); a.ends == 0 || !test.check(st, a.ends) {
				t.Errorf("%d turns ended, stats %+v", a.ends, st)
			}
			if st := b.seat.Stats(); st.Guard != 0 {
				t.Errorf("without a count of operations, slices were lengthened by %v", st.Guard)
			}
		})
	}
}

// The last run keeps its turn, and its target runs on.
func TestAlone(t *testing.T) {
	t.Run("one seat", func(t *testing.T) {
		ctx, _ := testContext(t)
		h := newHouse(t, Config{Seats: 1})
		a := h.sit("a", "")
		errs, err := h.play(ctx, func() error { return a.liveAlone(ctx) })
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		st := a.seat.Stats()
		if a.pauses != 0 || a.begins != 1 || a.ends != 0 || st.Turns != 1 ||
			st.Time < st.Alone+someSlice {
			t.Errorf("%d pauses, %d begins, %d ends, stats %+v", a.pauses, a.begins, a.ends, st)
		}
	})
	t.Run("the other leaves before it joins", func(t *testing.T) {
		ctx, _ := testContext(t)
		h := newHouse(t, Config{Seats: 2})
		a, b := h.sit("a", ""), h.sit("b", "")
		errs, err := h.play(ctx, func() error {
			return a.liveAlone(ctx)
		}, func() error {
			b.leave()
			return nil
		})
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		if a.pauses != 0 || a.begins != 1 || b.begins != 0 || b.continues != 0 {
			t.Errorf(
				"%d pauses and %d turns of the one that joined, %d turns of the other",
				a.pauses,
				a.begins,
				b.begins,
			)
		}
	})
	t.Run("the other has failed, and does not leave", func(t *testing.T) {
		ctx, _ := testContext(t)
		h := newHouse(t, Config{Seats: 2})
		a, b := h.sit("a", ""), h.sit("b", "")
		b.exempt = true
		b.onPause = func(_ context.Context, n int) error {
			if n == 3 {
				return errTarget
			}
			return nil
		}
		over := make(chan struct{})
		errs, err := h.play(ctx, func() error {
			defer close(over)
			return a.liveAlone(ctx)
		}, func() error {
			defer b.leave()
			_, err := b.join(ctx)
			<-over
			return err
		})
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(b.seat.Err(), errTarget) {
			t.Errorf("error %v of the seat that failed", b.seat.Err())
		}
	})
	t.Run("the other is over first", func(t *testing.T) {
		ctx, _ := testContext(t)
		h := newHouse(t, Config{Seats: 2})
		a, b := h.sit("a", ""), h.sit("b", "")
		errs, err := h.play(ctx, func() error {
			return a.liveAlone(ctx)
		}, func() error {
			return b.live(ctx, 3)
		})
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		if st := a.seat.Stats(); st.Turns < 2 || st.Time < st.Alone+2*someSlice {
			t.Errorf("stats %+v of the longer run", st)
		}
		if st := b.seat.Stats(); st.Alone != 0 {
			t.Errorf("stats %+v of the shorter run", st)
		}
	})
}

// liveAlone is a run that goes on for some slices after all others.
func (r *fakeRun) liveAlone(ctx context.Context) error {
	defer r.leave()
	c, err := r.join(ctx)
	if err != nil {
		return err
	}
	when(r.house.t, "the run is alone", func() bool { return r.seat.Stats().Alone > 0 })
	turns := r.seat.Stats().Turns
	err = c.SleepUntil(ctx, c.Now()+5*someSlice)
	if st := r.seat.Stats(); st.Turns != turns || st.Alone < 5*someSlice {
		r.house.t.Errorf("stats %+v of a run that is alone since turn %d", st, turns)
	}
	return err
}

// A run that never comes to an end does not take the others' turns.
func TestBlockedRun(t *testing.T) {
	ctx, _ := testContext(t)
	h := newHouse(t, Config{Seats: 3})
	over := make(chan struct{})
	blocked := h.sit("blocked", "")
	bodies := []func() error{func() error {
		defer blocked.leave()
		_, err := blocked.join(ctx)
		select {
		case <-over:
		case <-ctx.Done():
		}
		return err
	}}
	ended := make(chan struct{}, 2)
	for _, name := range []string{"a", "b"} {
		r := h.sit(name, "")
		bodies = append(bodies, func() error {
			defer func() { ended <- struct{}{} }()
			return r.live(ctx, 10)
		})
	}
	bodies = append(bodies, func() error { <-ended; <-ended; close(over); return nil })
	errs, err := h.play(ctx, bodies...)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
}

// A seat is left during its own turn, and during another's. The turns of the others go on at once.
func TestLeave(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(map[bool]string{
			true:  "in its turn",
			false: "in another's turn",
		}[own], func(t *testing.T) {
			ctx, _ := testContext(t)
			// A slice outlasts the test: the other's turn begins only because the first is left, or
			// never has to end.
			h := newHouse(t, Config{Seats: 2, Slice: 2 * deadline})
			a, b := h.sit("a", ""), h.sit("b", "")
			begun := make(chan *fakeRun, 2)
			a.onBegin = func() { begun <- a }
			b.onBegin = func() { begun <- b }
			// Both leave in the order that the case wants, from the test's goroutine.
			body := func(r *fakeRun) func() error {
				return func() error {
					_, err := r.join(ctx)
					<-r.seat.gone
					return err
				}
			}
			end := func() error {
				first := <-begun
				second := a
				if first == a {
					second = b
				}
				if !own {
					first, second = second, first
				}
				when(t, "both have joined", func() bool {
					h.mu.Lock()
					defer h.mu.Unlock()
					return first.clock != nil && second.clock != nil
				})
				first.leave()
				first.seat.Leave() // does nothing
				if own {
					<-begun
				}
				if got := second.seat.Stats().Turns; got != 1 {
					t.Errorf("the other has had %d turns", got)
				}
				second.leave()
				if st := first.seat.Stats(); st.Turns != map[bool]int{
					true:  1,
					false: 0,
				}[own] || (st.Time > 0) != own {
					t.Errorf("stats %+v of the one that left", st)
				}
				return nil
			}
			errs, err := h.play(ctx, body(a), body(b), end)
			if err := errors.Join(append(errs, err)...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A seat is left while its run waits for the others.
func TestLeaveEndsJoin(t *testing.T) {
	ctx, _ := testContext(t)
	h := newHouse(t, Config{Seats: 2})
	a, b := h.sit("a", ""), h.sit("b", "")
	left := make(chan struct{})
	errs, err := h.play(ctx, func() error {
		defer close(left)
		_, err := a.join(ctx)
		return err
	}, func() error {
		when(t, "a waits", func() bool {
			h.table.mu.Lock()
			defer h.table.mu.Unlock()
			return a.seat.joined
		})
		a.leave()
		select {
		case <-left: // before b does
		case <-ctx.Done():
		}
		b.leave()
		return context.Cause(ctx)
	})
	if err := errors.Join(err, errs[1]); err != nil || errs[0] == nil {
		t.Errorf("table and b: %v, a: %v", err, errs[0])
	}
}

// When the context ends, in a turn or while runs are awaited, all targets run, all clocks run, and
// all seats fail.
func TestContextEnds(t *testing.T) {
	over := errors.New("over")
	for _, joined := range []bool{true, false} {
		t.Run(map[bool]string{
			true:  "in a turn",
			false: "before the first",
		}[joined], func(t *testing.T) {
			ctx, cancel := testContext(t)
			h := newHouse(t, Config{Seats: 4})
			var bodies []func() error
			for _, name := range []string{"a", "b", "c", "d"} {
				r := h.sit(name, "")
				bodies = append(bodies, func() error {
					if !joined && name == "d" {
						return nil
					}
					inner, stop := r.seat.Context(context.Background())
					defer stop()
					c, err := r.join(context.Background())
					if err == nil {
						err = c.SleepUntil(inner, time.Hour)
					}
					r.checkFree() // before it leaves
					r.leave()
					return err
				})
			}
			errs, err := h.play(ctx, append(bodies, func() error {
				when(t, "turns go on", func() bool {
					return !joined || h.runs[0].seat.Stats().Turns > 3
				})
				h.exemptAll()
				cancel(over)
				return nil
			})...)
			if !errors.Is(err, over) {
				t.Errorf("the table's error is %v", err)
			}
			for i, r := range h.runs {
				err := errs[i]
				if !joined && i == 3 {
					continue
				}
				if !errors.Is(err, over) {
					t.Errorf("%s: error %v", r.seat, err)
				}
				// A run that joins too late may leave before the table fails its seat.
				if joined && !errors.Is(r.seat.Err(), over) {
					t.Errorf("%s: error of its seat %v", r.seat, r.seat.Err())
				}
			}
			if _, err := h.runs[3].seat.Join(context.Background(), h.runs[3].seated()); err == nil {
				t.Error("joined after the end")
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	table := New(Config{Seats: 2})
	a, b := table.Sit("a", ""), table.Sit("b", "")
	a.Leave()
	a.Leave()
	if _, err := a.Join(ctx, Seated{Target: &fakeRun{}}); err == nil {
		t.Error("joined after Leave")
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Join(short, Seated{Target: &fakeRun{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("joined under a canceled context: %v", err)
	}
	if table.await(short, (*Seat).settled) == nil {
		t.Error("a seat whose join was given up counts as joined")
	}
	b.Leave()
	if err := table.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := table.Run(ctx); err == nil {
		t.Error("ran twice")
	}
	defer func() {
		if recover() == nil {
			t.Error("a third run sat down at a table of two")
		}
	}()
	table.Sit("c", "")
}

// A table of no seats has nothing to do.
func TestNoSeats(t *testing.T) {
	if err := New(Config{}).Run(context.Background()); err != nil {
		t.Error(err)
	}
}
