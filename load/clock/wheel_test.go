package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Every timer of a wheel fires, never early, and at most a tick late, for whatever times it is set
// to, set again, rung or stopped.
func TestWheelFires(t *testing.T) {
	spans := []time.Duration{
		0,
		50 * time.Microsecond,
		3 * time.Millisecond,
		300 * time.Millisecond,
		40 * time.Second,
		3 * time.Minute,
		3 * time.Hour,
	}
	synctest.Test(t, func(t *testing.T) {
		c := New(time.Now())
		w := c.NewWheel(2)
		var wg sync.WaitGroup
		for k := range 300 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(1, uint64(k)))
				timer := w.NewTimer(k)
				defer timer.Stop()
				for range 40 {
					now := c.Now()
					at := now + time.Duration(rnd.Float64()*float64(spans[rnd.IntN(len(spans))]))
					timer.ResetFrom(now, at)
					switch rnd.IntN(6) {
					case 0: // rung
						time.Sleep(time.Duration(rnd.Float64() * float64(at-now)))
						timer.Ring()
						<-timer.C
						continue
					case 1: // stopped: it must not fire before it is set again
						timer.Stop()
						time.Sleep(at - now + 2*wheelTick)
						select {
						case <-timer.C:
							t.Errorf("timer %d fired after it was stopped", k)
						default:
						}
						continue
					case 2: // set again
						at = now + time.Duration(rnd.Float64()*float64(time.Second))
						timer.Reset(at)
					}
					<-timer.C
					if late := c.Now() - at; late < 0 || late > wheelTick {
						t.Errorf("timer %d, set %v ahead, fired %v late", k, at-now, late)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Timers fire at their times; only where they are dense, all of a tick fire at one moment.
func TestWheelGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(time.Now())
		w := c.NewWheel(1)
		for k := range 200 { // two in a tick, and then a pause
			a, b := w.NewTimer(0), w.NewTimer(0)
			at := c.Now() + 1234567*time.Nanosecond
			a.Reset(at)
			b.Reset(at + time.Microsecond)
			<-a.C
			early := c.Now()
			<-b.C
			if late := c.Now(); early != at || late != at+time.Microsecond {
				t.Errorf(
					"the timers of pair %d fired %v and %v late",
					k,
					early-at,
					late-at-time.Microsecond,
				)
			}
		}
		const n, span = 4000, 200 * time.Millisecond
		at := c.Now() + time.Millisecond
		var mu sync.Mutex
		moments := map[time.Duration]int{}
		var wg sync.WaitGroup
		for k := range n {
			timer := w.NewTimer(k)
			timer.Reset(at + time.Duration(k)*span/n)
			wg.Go(func() {
				<-timer.C
				mu.Lock()
				defer mu.Unlock()
				moments[c.Now()]++
			})
		}
		wg.Wait()
		// until it gathers, each by itself
		most := int(span/wheelTick) + gatherOver*n/int(span/wheelTick)
		if least := int(span / wheelTick); len(moments) > most || len(moments) < least {
			t.Errorf(
				"%d timers within %v fired at %d moments; want %d to %d",
				n,
				span,
				len(moments),
				least,
				most,
			)
		}
	})
}

// Setting a timer and firing it allocates nothing once the slots have grown.
func TestWheelAllocates(t *testing.T) {
	c := New(time.Now())
	w := c.NewWheel(1)
	var all []*Timer
	for k := range nearSlots { // every slot
		all = append(all, w.NewTimer(k))
		all[k].Reset(c.Now() + time.Duration(k)*wheelTick)
	}
	for _, timer := range all {
		<-timer.C
	}
	if n := testing.AllocsPerRun(50, func() {
		all[0].Reset(c.Now() + 10*time.Microsecond)
		<-all[0].C
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
