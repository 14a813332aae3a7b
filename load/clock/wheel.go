package clock

import (
	"math"
	"math/bits"
	"sync"
	"time"
)

// A Wheel has timers for the many goroutines of simulated users at a fraction of the cost of one
// timer of the runtime each. It has rims that do not meet, one for each core that is to turn it,
// and each rim a single timer of the runtime.
//
// Each timer fires at its time, as one of the runtime would, unless a rim has had more than two in
// a tick for 32 ticks. Such a rim rests for a tick after it has fired, and all timers of that time
// fire together: the goroutines run one after the other, what they send is answered together, and
// the process sleeps once for all of them. No timer fires early; it fires at most a tick later than
// one of the runtime would. A user's lateness is lag, whatever the cause.
//
// The methods are safe for concurrent use. Nothing need be closed: a wheel without set timers has
// no timer either.
type Wheel struct {
	clock *Clock
	rims  []rim
}

const (
	// wheelTick is the longest time for which a due timer waits for others.
	wheelTick = time.Millisecond
	nearSlots = 512 // of a tick each: half a second
	farSlots  = 256 // of nearSlots ticks each: 131 s
	// gatherAt is the number of timers in a tick, over gatherOver ticks, that is worth a rest.
	gatherAt, gatherOver = 2, 32
)

// NewWheel returns a wheel of n rims (at least one). Those of a clock that can be stopped have that
// clock's timers.
func (c *Clock) NewWheel(n int) *Wheel {
	w := &Wheel{clock: c}
	if c.can {
		return w
	}
	w.rims = make([]rim, max(n, 1))
	for i := range w.rims {
		w.rims[i].begin(c)
	}
	return w
}

// NewTimer returns a timer that is not set; k chooses the rim. The caller calls Stop.
func (w *Wheel) NewTimer(k int) *Timer {
	if len(w.rims) == 0 {
		return w.clock.NewTimer()
	}
	fire := make(chan time.Time, 1)
	return &Timer{C: fire, clock: w.clock, fire: fire, rim: &w.rims[k%len(w.rims)]}
}

// A rim is a timing wheel of two levels (Varghese and Lauck 1987). The near slots are those ticks
// that have the number of the present block in common; when the next block begins, its far slot is
// spread over them.
type rim struct {
	clock *Clock
	base  time.Duration // when tick 0 began

	mu    sync.Mutex // of all below, and of the rim's timers
	near  [nearSlots]slot
	held  [nearSlots / 64]uint64 // which near slots hold anything
	far   [farSlots]slot
	away  slot          // beyond the far ones
	tick  int64         // all earlier ones are empty
	last  time.Duration // when timers fired
	from  time.Duration // since when it counts:
	fired int64         // timers
	dense bool          // it rests
	next  time.Duration // when wake is set; never if it is not
	wake  *time.Timer
	spare []spoke // for the slot that is being emptied

	_ [64]byte // to another cache line
}

// A slot holds timers that fire within a stretch of time, in no order.
type slot struct {
	spokes []spoke
	first  time.Duration // of the times; not defined in an empty slot
}

// A spoke is a timer as it was set. It means nothing once the timer was stopped or set to another
// time.
type spoke struct {
	t  *Timer
	at time.Duration
}

func (s *slot) put(k spoke) {
	if len(s.spokes) == 0 || k.at < s.first {
		s.first = k.at
	}
	s.spokes = append(s.spokes, k)
}

func (r *rim) begin(c *Clock) {
	r.clock, r.base, r.last, r.next = c, c.Now(), math.MinInt64/2, never
	r.from = r.base
	r.wake = time.AfterFunc(never, r.turn)
	r.wake.Stop()
}

// set sets a timer. The lock is not held.
func (r *rim) set(t *Timer, now, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.empty()
	t.until, t.place = at, 1
	r.put(spoke{t, at})
	r.arm(now, at)
}

// arm makes sure that the rim turns when a timer is due at a time, after its rest. The lock is
// held.
func (r *rim) arm(now, at time.Duration) {
	if r.dense {
		at = max(at, r.last+wheelTick)
	}
	if at < r.next {
		r.next = at
		r.wake.Reset(at - now)
	}
}

// put puts a spoke into its slot. The lock is held.
func (r *rim) put(k spoke) {
	tick := max(int64((k.at-r.base)/wheelTick), r.tick)
	switch blocks := tick/nearSlots - r.tick/nearSlots; {
	case blocks == 0:
		i := tick % nearSlots
		r.near[i].put(k)
		r.held[i/64] |= 1 << (i % 64)
	case blocks < farSlots:
		r.far[tick/nearSlots%farSlots].put(k)
	default:
		r.away.put(k)
	}
}

// turn fires what is due, and sets the wheel's timer for the next.
func (r *rim) turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	r.next = never
	if n := r.release(now); n > 0 {
		r.last = now
		r.fired += n
	}
	if ticks := int64((now - r.from) / wheelTick); ticks >= gatherOver {
		r.dense = r.fired > gatherAt*ticks
		r.from, r.fired = now, 0
	}
	if at := r.earliest(); at != never {
		r.arm(now, at)
	}
}

// release fires the timers whose time has come, and returns how many. The lock is held.
func (r *rim) release(now time.Duration) (fired int64) {
	to := int64((now - r.base) / wheelTick)
	for r.tick <= to {
		last := min(to, r.tick|(nearSlots-1)) // of this block
		for i := r.hold(r.tick % nearSlots); i >= 0 && i <= last%nearSlots; i = r.hold(i + 1) {
			fired += r.drain(i, now)
		}
		if r.tick = last; last == to { // a timer may yet be set to the rest of it
			break
		}
		r.enter(last/nearSlots + 1)
	}
	return fired
}

// hold returns the first near slot from i on that holds anything; -1 if there is none.
func (r *rim) hold(i int64) int64 {
	mask := ^uint64(0) << (i % 64)
	for w := i / 64; w < int64(len(r.held)); w++ {
		if b := r.held[w] & mask; b != 0 {
			return w*64 + int64(bits.TrailingZeros64(b))
		}
		mask = ^uint64(0)
	}
	return -1
}

// enter spreads a block, which begins, over the near slots, all of which are empty.
func (r *rim) enter(block int64) {
	r.tick = block * nearSlots
	r.spread(&r.far[block%farSlots])
	if block%farSlots == 0 {
		r.spread(&r.away)
	}
}

// spread puts all spokes of a slot where they belong now.
func (r *rim) spread(s *slot) {
	all := s.spokes
	s.spokes, r.spare = r.spare[:0], nil
	for _, k := range all {
		if k.valid() {
			r.put(k)
		}
	}
	clear(all)
	r.spare = all[:0]
}

// drain fires the timers of a near slot that are due, and returns how many.
func (r *rim) drain(i int64, now time.Duration) (fired int64) {
	s := &r.near[i]
	left := s.spokes[:0]
	for _, k := range s.spokes {
		switch {
		case !k.valid():
		case k.at <= now:
			k.t.place = 0
			k.t.ring()
			fired++
		default:
			if len(left) == 0 || k.at < s.first {
				s.first = k.at
			}
			left = append(left, k)
		}
	}
	clear(s.spokes[len(left):])
	if s.spokes = left; len(left) == 0 {
		r.held[i/64] &^= 1 << (i % 64)
	}
	return fired
}

func (k spoke) valid() bool { return k.t.place != 0 && k.t.until == k.at }

// earliest returns when the first timer is due, or one that was stopped would have been; never if
// there is none. The lock is held.
func (r *rim) earliest() time.Duration {
	if i := r.hold(r.tick % nearSlots); i >= 0 {
		return r.near[i].first
	}
	at := never
	if len(r.away.spokes) > 0 {
		at = r.away.first
	}
	for block := r.tick/nearSlots + 1; block < r.tick/nearSlots+farSlots; block++ {
		if s := &r.far[block%farSlots]; len(s.spokes) > 0 {
			return min(at, s.first)
		}
	}
	return at
}
