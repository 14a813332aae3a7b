package clock

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// A clock of New is the monotonic clock, counted from its epoch.
func TestRunningClockIsRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := New(began.Add(time.Second))
		if got := c.Now(); got != -time.Second {
			t.Errorf("now %v a second before the epoch", got)
		}
		if err := c.SleepUntil(t.Context(), 0); err != nil || time.Since(began) != time.Second {
			t.Errorf("the epoch was reached after %v (%v), want a second", time.Since(began), err)
		}
		time.Sleep(3 * time.Second)
		if c.Now() != 3*time.Second || c.Of(began) != -time.Second ||
			c.Between(began, began.Add(time.Minute)) != time.Minute ||
			c.Lost() != 0 {
			t.Errorf(
				"now %v, of the beginning %v, a minute is %v, lost %v",
				c.Now(),
				c.Of(began),
				c.Between(began, began.Add(time.Minute)),
				c.Lost(),
			)
		}
		if !c.Running() || c.Stops() || !c.Date(time.Minute).Equal(began.Add(61*time.Second)) {
			t.Errorf(
				"running %v, can be stopped %v, date of a minute %v",
				c.Running(),
				c.Stops(),
				c.Date(time.Minute),
			)
		}
		for name, f := range map[string]func() time.Duration{"stop": c.Stop, "start": c.Start} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of a clock that cannot be stopped did not panic", name)
					}
				}()
				f()
			}()
		}
	})
}

// span is a stretch in which the naive clock of the test ran.
type span struct{ from, to time.Time }

// naive is the time that a clock with these turns shows at an instant: what of all spans lies
// before it.
func naive(spans []span, at time.Time) (sum time.Duration) {
	for _, s := range spans {
		if s.from.Before(at) {
			sum += min(s.to.Sub(s.from), at.Sub(s.from))
		}
	}
	return sum
}

// Whatever the turns are, repeated ones too, past instants in and between them are what a list of
// all turns makes of them.
func TestInstantsThroughTurns(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			began := time.Now()
			// the epoch may lie in the future
			c := NewStopped(began.Add(time.Duration(r.IntN(2)) * 100 * time.Millisecond))
			var spans []span
			seen := []time.Time{began}
			shown := []time.Duration{0}
			for range 60 {
				turned := c.Now()
				switch r.IntN(4) {
				case 0:
					if turned = c.Start(); len(spans) == 0 || !spans[len(spans)-1].to.IsZero() {
						spans = append(spans, span{from: later(time.Now(), c.Epoch())})
					}
				case 1:
					if n := len(spans); n > 0 && spans[n-1].to.IsZero() {
						spans[n-1].to = later(time.Now(), spans[n-1].from)
					}
					turned = c.Stop()
				}
				if now := c.Now(); turned != now || c.Running() != (len(spans) > 0 &&
					spans[len(spans)-1].to.IsZero()) {
					t.Fatalf("seed %d: turned at %v, which is %v, running %v", seed, turned, now,
						c.Running())
				}
				seen, shown = append(seen, time.Now()), append(shown, c.Now())
				time.Sleep(time.Duration(r.IntN(50_000_000)))
				seen, shown = append(seen, time.Now()), append(shown, c.Now())
			}
			if n := len(spans); n > 0 && spans[n-1].to.IsZero() {
				spans[n-1].to = time.Now()
			}
			for i, at := range seen {
				want := naive(spans, at)
				if got := c.Of(at); got != want || shown[i] != want {
					t.Fatalf(
						"seed %d: %v after the beginning the clock showed %v, later %v, want %v",
						seed,
						at.Sub(began),
						shown[i],
						got,
						want,
					)
				}
			}
			for range 200 {
				a := began.Add(time.Duration(r.Int64N(int64(time.Since(began)))))
				b := began.Add(time.Duration(r.Int64N(int64(time.Since(began)))))
				if got, want := c.Between(a, b), naive(spans, b)-naive(spans, a); got != want {
					t.Fatalf("seed %d: %v between two instants, want %v", seed, got, want)
				}
			}
			if got, want := c.Lost(), time.Since(c.Epoch())-c.Now(); got != want || !c.Stops() {
				t.Errorf("seed %d: lost %v, want %v; can be stopped %v", seed, got, want, c.Stops())
			}
		})
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func TestSleepUntilThroughStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewStopped(time.Now())
		began := time.Now()
		turn := func(at time.Duration, f func() time.Duration) {
			time.AfterFunc(at, func() { f() })
		}
		turn(time.Second, c.Start)
		turn(3*time.Second, c.Stop) // at 2 s
		turn(13*time.Second, c.Start)
		turn(14*time.Second, c.Stop) // at 3 s
		turn(20*time.Second, c.Start)
		for _, tt := range []struct{ at, real time.Duration }{
			{0, time.Second}, // it begins with the first start
			{1500 * time.Millisecond, 2500 * time.Millisecond},
			{2500 * time.Millisecond, 13500 * time.Millisecond},
			{4 * time.Second, 21 * time.Second},
			{3 * time.Second, 21 * time.Second}, // past
		} {
			if err := c.SleepUntil(t.Context(), tt.at); err != nil || time.Since(began) != tt.real {
				t.Errorf(
					"%v was reached after %v (%v), want %v",
					tt.at,
					time.Since(began),
					err,
					tt.real,
				)
			}
		}
		c.Stop()
		why := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := c.SleepUntil(ctx, 0); err != why || time.Since(began) != 22*time.Second {
			t.Errorf("%v after %v, want the cause after 22 s", err, time.Since(began))
		}
		if err := c.Wait(ctx); err != why {
			t.Errorf("Wait in a stop: %v, want the cause", err)
		}
		time.AfterFunc(time.Second, func() { c.Start() })
		if err := c.Wait(t.Context()); err != nil || !c.Running() ||
			time.Since(began) != 23*time.Second {
			t.Errorf("%v after %v, running %v; want the start", err, time.Since(began), c.Running())
		}
	})
}

func TestTimeoutThroughStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewStopped(time.Now())
		c.Start()
		began := time.Now()
		ctx, cancel := c.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		child, cancelChild := context.WithCancel(ctx)
		defer cancelChild()
		time.Sleep(time.Second)
		c.Stop()
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("%v in a stop", ctx.Err())
		}
		c.Start()
		<-ctx.Done()
		if got := time.Since(began); got != 62*time.Second ||
			ctx.Err() != context.DeadlineExceeded ||
			context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("after %v: %v, cause %v", got, ctx.Err(), context.Cause(ctx))
		}
		<-child.Done()
		if context.Cause(child) != context.DeadlineExceeded {
			t.Errorf("cause of a child: %v", context.Cause(child))
		}

		ctx, cancel = c.WithTimeout(t.Context(), time.Second)
		cancel()
		if ctx.Err() != context.Canceled || context.Cause(ctx) != context.Canceled ||
			len(c.timers) != 0 {
			t.Errorf(
				"canceled: %v, cause %v, %d timers left",
				ctx.Err(),
				context.Cause(ctx),
				len(c.timers),
			)
		}
		parent, end := context.WithCancel(t.Context())
		ctx, cancel = c.WithTimeout(parent, time.Second)
		defer cancel()
		end()
		if <-ctx.Done(); ctx.Err() != context.Canceled {
			t.Errorf("parent canceled: %v", ctx.Err())
		}
		ctx, cancel = New(time.Now()).WithTimeout(t.Context(), time.Second)
		defer cancel()
		at, ok := ctx.Deadline()
		if <-ctx.Done(); !ok || !at.Equal(time.Now()) || ctx.Err() != context.DeadlineExceeded {
			t.Errorf("of a clock that runs: deadline %v, %v", at, ctx.Err())
		}
	})
}
