package clock

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fired reports whether a timer has fired, without waiting for it.
func fired(t *Timer) bool {
	synctest.Wait()
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func TestTimerIsRungSetAgainAndStopped(t *testing.T) {
	started := func(epoch time.Time) *Clock { c := NewStopped(epoch); c.Start(); return c }
	own := func(c *Clock) *Timer { return c.NewTimer() }
	wheel := func(c *Clock) *Timer { return c.NewWheel(4).NewTimer(7) }
	for name, of := range map[string]struct {
		clock func(epoch time.Time) *Clock
		timer func(*Clock) *Timer
	}{
		"never stopped":           {New, own},
		"never stopped, of wheel": {New, wheel},
		"stopped":                 {NewStopped, own},
		"stopped, of a wheel":     {NewStopped, wheel},
		"running":                 {started, own},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := of.clock(time.Now())
				a := of.timer(c)
				if fired(a) {
					t.Error("a timer that was not set has fired")
				}
				a.Reset(c.Now() + time.Minute)
				if a.Ring(); !fired(a) {
					t.Error("rung, and not fired")
				}
				a.Ring()
				a.Ring()
				if a.Reset(c.Now() + time.Minute); fired(a) {
					t.Error("a ring before Reset is still there after it")
				}
				a.Ring()
				if a.Stop(); fired(a) {
					t.Error("a ring before Stop is still there after it")
				}
				if !c.Running() {
					a.Reset(0)
					if time.Sleep(time.Minute); fired(a) {
						t.Error("a time that is reached has fired in a stop")
					}
					if c.Start(); !fired(a) {
						t.Error("not fired with the start")
					}
				}
				a.ResetFrom(c.Now(), c.Now()+time.Minute)
				a.ResetFrom(c.Now(), c.Now()+time.Second)
				if time.Sleep(time.Second); !fired(a) {
					t.Error("set to an earlier time, and not fired then")
				}
				a.Reset(c.Now() + time.Second)
				a.Reset(c.Now() + time.Minute)
				if time.Sleep(59 * time.Second); fired(a) {
					t.Error("set to a later time, and fired before")
				}
				if time.Sleep(time.Second); !fired(a) {
					t.Error("set to a later time, and not fired then")
				}
				a.Reset(c.Now() - time.Second)
				if !fired(a) {
					t.Error("a time that is past has not fired")
				}
				a.Reset(c.Now() + time.Second)
				a.Stop()
				if time.Sleep(time.Minute); fired(a) {
					t.Error("fired after Stop")
				}
				var calls atomic.Int64
				f := c.AfterFunc(c.Now()+time.Second, func() { calls.Add(1) })
				time.Sleep(time.Second)
				synctest.Wait()
				f.Reset(c.Now() + time.Second)
				time.Sleep(time.Second)
				synctest.Wait()
				f.Reset(c.Now() + time.Second)
				f.Stop()
				time.Sleep(time.Minute)
				if n := calls.Load(); n != 2 {
					t.Errorf("%d calls, want 2", n)
				}
			})
		})
	}
}

// Each of many timers fires at its time of the clock, and no other, whatever the turns, also one
// that is set in a stop; none is forgotten, and a stop needs no timer of the runtime.
func TestManyTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 1))
		c := NewStopped(time.Now())
		ctx, end := context.WithCancel(t.Context())
		var turns, users sync.WaitGroup
		chance := rand.New(rand.NewPCG(6, 1))
		turns.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(chance.IntN(100_000_000)))
				c.Start()
				time.Sleep(time.Duration(chance.IntN(100_000_000)))
				c.Stop()
				c.mu.Lock()
				if c.next != never {
					t.Error("a timer of the runtime is set in a stop")
				}
				c.mu.Unlock()
			}
			c.Start()
		})
		var sum atomic.Int64
		for range 500 {
			seed := r.Uint64()
			users.Go(func() {
				r := rand.New(rand.NewPCG(seed, 2))
				timer := c.NewTimer()
				defer timer.Stop()
				at := time.Duration(0)
				for range 20 {
					at += time.Duration(r.IntN(1_000_000_000))
					timer.Reset(at + time.Duration(r.IntN(1_000_000_000)))
					timer.Reset(at)
					<-timer.C
					if now := c.Now(); now != at {
						t.Errorf("fired at %v, want %v", now, at)
						return
					}
					sum.Add(1)
				}
			})
		}
		users.Wait()
		end()
		turns.Wait()
		if sum.Load() != 500*20 || len(c.timers) != 0 {
			t.Errorf("%d timers have fired, %d are left", sum.Load(), len(c.timers))
		}
	})
}

// Goroutines use a clock, and ring each other's timers, while it is stopped and started. The race
// detector looks on.
func TestClockIsForManyGoroutines(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := NewStopped(time.Now())
	timers := make([]*Timer, 20)
	for i := range timers {
		timers[i] = c.NewTimer()
	}
	var users, turns sync.WaitGroup
	over := make(chan struct{})
	turns.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-time.After(100 * time.Microsecond):
			}
			if n%2 == 0 {
				c.Start()
			} else {
				c.Stop()
			}
		}
	})
	for i := range timers {
		users.Go(func() {
			before := time.Duration(0)
			for n := range 200 {
				now := c.Now()
				if now < before || c.Of(time.Now()) < now || c.Lost() < 0 {
					t.Errorf("the clock showed %v, then %v", before, now)
				}
				for range 500 {
					if before, now = now, c.Now(); now < before {
						t.Errorf("the clock showed %v, then %v", before, now)
					}
				}
				before = now
				timers[i].Reset(now + time.Duration(n%7)*50*time.Microsecond)
				timers[(i+1)%len(timers)].Ring()
				select {
				case <-timers[i].C:
				case <-ctx.Done():
					t.Error("a timer has not fired within a minute")
					return
				}
				if n%10 != 0 {
					continue
				}
				if err := c.SleepUntil(ctx, c.Now()+100*time.Microsecond); err != nil {
					t.Error(err)
					return
				}
				limit, end := c.WithTimeout(ctx, 50*time.Microsecond)
				<-limit.Done()
				end()
			}
			timers[i].Stop()
		})
	}
	users.Wait()
	close(over)
	turns.Wait()
}

// BenchmarkTimer sets the timer of one user among many, of a clock that can be stopped.
func BenchmarkTimer(b *testing.B) {
	c := NewStopped(time.Now())
	c.Start()
	r := rand.New(rand.NewPCG(1, 1))
	timers := make([]*Timer, 10_000)
	for i := range timers {
		timers[i] = c.NewTimer()
		timers[i].Reset(time.Hour + time.Duration(r.IntN(1_000_000_000)))
	}
	for i := 0; b.Loop(); i++ {
		timers[i%len(timers)].Reset(time.Hour + time.Duration(r.IntN(1_000_000_000)))
	}
}
