package duet

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var errTarget = errors.New("the target does not obey")

// A target that cannot be paused or continued fails its own run, and the others go on.
func TestTargetFails(t *testing.T) {
	tests := []struct {
		name string
		err  string
		set  func(*fakeRun)
	}{
		{"first pause", "pausing the target of bad", func(r *fakeRun) {
			r.onPause = func(context.Context, int) error { return errTarget }
		}},
		{"third pause", "pausing the target of bad", func(r *fakeRun) {
			r.onPause = func(_ context.Context, n int) error {
				if n == 3 {
					return errTarget
				}
				return nil
			}
		}},
		{"pause without end", "deadline exceeded", func(r *fakeRun) {
			r.house.table.limit = 10 * time.Millisecond
			r.onPause = func(ctx context.Context, n int) error {
				if n == 3 {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
		}},
		{"second continue, once", "continuing the target of bad", func(r *fakeRun) {
			r.onGo = func(n int) error {
				if n == 2 {
					return errTarget
				}
				return nil
			}
		}},
		{"second continue, twice", "continuing the target of bad", func(r *fakeRun) {
			r.onGo = func(n int) error { // and succeeds when the seat is left
				if n == 2 || n == 3 {
					return errTarget
				}
				return nil
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, _ := testContext(t)
			h := newHouse(t, Config{Seats: 3})
			bad := h.sit("bad", "")
			a := h.sit("a", "")
			b := h.sit("b", "")
			test.set(bad)
			pause := bad.onPause
			bad.onPause = func(ctx context.Context, n int) (err error) {
				if pause != nil {
					err = pause(ctx, n)
				}
				if err != nil { // its target runs from now on
					h.mu.Lock()
					bad.exempt = true
					h.mu.Unlock()
				}
				return err
			}
			goes := bad.onGo
			bad.onGo = func(n int) (err error) {
				if goes != nil {
					err = goes(n)
				}
				if err != nil {
					h.mu.Lock()
					bad.exempt = true
					h.mu.Unlock()
				}
				return err
			}
			errs, err := h.play(ctx, func() error { return bad.live(ctx, forever) },
				func() error { return a.live(ctx, 6) }, func() error { return b.live(ctx, 6) })
			if err := errors.Join(err, errs[1], errs[2], a.seat.Err(), b.seat.Err()); err != nil {
				t.Errorf("the others: %v", err)
			}
			got := bad.seat.Err()
			if got == nil || errs[0] != got {
				t.Fatalf("seat's error %v, run's %v", got, errs[0])
			}
			if !strings.Contains(got.Error(), test.err) ||
				!strings.Contains(got.Error(), "sequence") {
				t.Errorf("error %v, want %q in it and a remedy", got, test.err)
			}
			if n := strings.Count(got.Error(), "duet:"); n != 1 {
				t.Errorf("error of %d parts: %v", n, got)
			}
			inner, cancel := bad.seat.Context(ctx)
			defer cancel()
			if context.Cause(inner) != got {
				t.Errorf("a context of a seat that failed: %v", context.Cause(inner))
			}
		})
	}
}

// A callback that panics ends the table; no target stays paused, even if one cannot be continued
// without a panic.
func TestPanic(t *testing.T) {
	for _, continues := range []bool{false, true} {
		t.Run(map[bool]string{
			false: "in Begin",
			true:  "in Begin and in Continue",
		}[continues], func(t *testing.T) {
			ctx, _ := testContext(t)
			h := newHouse(t, Config{Seats: 3})
			var bodies []func() error
			for _, name := range []string{"a", "b", "c"} {
				r := h.sit(name, "")
				bodies = append(bodies, func() error {
					inner, cancel := r.seat.Context(ctx)
					defer cancel()
					c, err := r.join(ctx)
					if err == nil {
						err = c.SleepUntil(inner, time.Hour)
					}
					if name != "a" || !continues {
						r.checkFree()
					} else if !c.Running() {
						t.Error("the clock of a stands still")
					}
					r.leave()
					return err
				})
			}
			a, b := h.runs[0], h.runs[1]
			panicked := false // in the table's goroutine
			b.onBegin = func() {
				if b.seat.Stats().Turns == 4 {
					h.exemptAll()
					panicked = true
					panic("begin")
				}
			}
			once := false
			a.onGo = func(int) error {
				if continues && panicked && !once {
					once = true
					panic("continue")
				}
				return nil
			}
			errs, err := h.play(ctx, bodies...)
			if err == nil || !strings.HasPrefix(err.Error(), "panic: ") {
				t.Errorf("the table ended with %v", err)
			}
			for i, err := range errs {
				if !errors.Is(err, errPanic) || h.runs[i].seat.Err() != err {
					t.Errorf(
						"%s ended with %v, seat's error %v",
						h.runs[i].seat,
						err,
						h.runs[i].seat.Err(),
					)
				}
			}
		})
	}
}

// Runs join, give up joining, leave and fail at any moments. The table ends, and no target stays
// paused.
func TestRaces(t *testing.T) {
	for seed := range uint64(60) {
		ctx, cancel := testContext(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		h := newHouse(t, Config{
			Seats: 6,
			Seed:  seed,
			Slice: time.Millisecond,
			guard: time.Millisecond,
		})
		after := func(most int) time.Duration {
			return time.Duration(rng.IntN(most)) * time.Microsecond
		}
		var bodies []func() error
		for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
			r := h.sit(name, []string{"m", "p"}[i%2])
			r.exempt = true
			r.inFlight = func() int { return int(time.Now().UnixNano() / 1000 % 3) }
			fail := 1 + rng.IntN(60)
			r.onPause = func(_ context.Context, n int) error {
				if n == fail {
					return errTarget
				}
				return nil
			}
			way := rng.IntN(6)
			wait := after(3000)
			length := after(20000)
			bodies = append(bodies, func() error {
				defer r.leave()
				time.Sleep(wait)
				switch way {
				case 0: // never joins
				case 1: // gives up joining
					short, cancel := context.WithTimeout(ctx, length/8)
					defer cancel()
					if c, err := r.join(short); err == nil {
						return c.SleepUntil(short, time.Hour)
					}
				case 2: // is left by another goroutine
					other := make(chan struct{})
					go func() { time.Sleep(length); r.leave(); close(other) }()
					defer func() { <-other }()
					c, err := r.join(ctx)
					if err != nil {
						return err
					}
					return c.SleepUntil(ctx, length)
				default:
					inner, cancel := r.seat.Context(ctx)
					defer cancel()
					c, err := r.join(ctx)
					if err != nil {
						return err
					}
					r.seat.Report(length)
					return c.SleepUntil(inner, length)
				}
				return nil
			})
		}
		over := errors.New("over")
		if seed%3 == 0 {
			timer := time.AfterFunc(after(40000), func() { cancel(over) })
			defer timer.Stop()
		}
		if _, err := h.play(ctx, bodies...); err != nil && !errors.Is(err, over) {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, r := range h.runs {
			r.checkFree()
			if st := r.seat.Stats(); st.Time < 0 || st.Turns == 0 && st.Time > 0 {
				t.Errorf("seed %d: %s: stats %+v", seed, r.seat, st)
			}
		}
	}
}
