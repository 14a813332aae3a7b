package capacity

import (
	"math"
	"strings"
	"testing"
	"time"
)

// An effect of overload that comes 20 s late is seen when the load is long somewhere else: searches
// swing between 1,700 and 4,400 users, and reported 4,000 ± 3 %.
func TestLateOverloadIsNotATightEstimate(t *testing.T) {
	sc := named(t, unkind(), "x10: 20 s late 3000")
	for seed := range uint64(20) {
		r, _, _ := sc.search(seed + 1)
		switch {
		case r.Kind != Unstable || r.Users != 0:
			t.Errorf(
				"seed %d: got %s of %.0f [%.0f, %.0f], want it unstable",
				seed,
				r.Kind,
				r.Users,
				r.Lo,
				r.Hi,
			)
		case !(r.Lo <= sc.capacity && sc.capacity <= r.Hi) || !strings.Contains(r.Why, "late"):
			t.Errorf(
				"seed %d: between %.0f and %.0f: %s; want the capacity between them, and why",
				seed,
				r.Lo,
				r.Hi,
				r.Why,
			)
		}
	}
}

// Before the search could climb again, a late effect and a capacity look alike: both violate at
// every level on the way down.
func TestNothingHeldAgainIsNoEstimate(t *testing.T) {
	sc := named(t, unkind(), "x10: 10 s late 3000, 36 s")
	for _, delay := range []float64{5, 7} {
		sc.server = late(delay)
		for seed := range uint64(20) {
			r, _, _ := sc.search(seed + 1)
			if r.Kind == Estimate || r.Kind == AtLeast && r.Users > sc.capacity {
				t.Errorf(
					"%v s late, seed %d: got %s of %.0f [%.0f, %.0f]: %s",
					delay,
					seed,
					r.Kind,
					r.Users,
					r.Lo,
					r.Hi,
					r.Why,
				)
			}
		}
	}
}

// A server that carries three fifths after an overload has two capacities, and the search names
// both.
func TestLatchedServerHasTwoCapacities(t *testing.T) {
	sc := named(t, unkind(), "x10: latched 3000")
	for seed := range uint64(20) {
		r, _, _ := sc.search(seed + 1)
		if r.Kind != Unstable || math.Abs(r.Reached/sc.capacity-1) > 0.1 ||
			math.Abs(r.Held/sc.held-1) > 0.03 {
			t.Errorf(
				"seed %d: got %s of %.0f, reached %.0f, held %.0f; want it unstable between %.0f and %.0f: %s",
				seed,
				r.Kind,
				r.Users,
				r.Reached,
				r.Held,
				sc.capacity,
				sc.held,
				r.Why,
			)
		}
	}
}

// A ramp whose time is over before the effect of overload shows reported "at least 3,570" for a
// server of 3,000. A level must be held for a third of the search to be a bound.
func TestFalseBoundIsConfirmed(t *testing.T) {
	sc := named(t, unkind(), "x10: 10 s late 3000, 36 s")
	for seed := range uint64(20) {
		r, _, _ := sc.search(seed + 1)
		if r.Kind == AtLeast &&
			(r.Users > sc.capacity || r.Users < 0.9*sc.capacity || r.Confirmed.Round(time.Millisecond) != 12*time.Second) {
			t.Errorf(
				"seed %d: at least %.0f, held for %v; want at most %.0f, held for 12s",
				seed,
				r.Users,
				r.Confirmed,
				sc.capacity,
			)
		}
		if r.Kind == AtLeast && !strings.Contains(r.Why, "users too, but no more than") {
			t.Errorf("seed %d: want said what was reached beyond the bound: %s", seed, r.Why)
		}
	}
}

// A level that was violated within the time of a bound confirms nothing, and a fall ends the hold
// of the higher level.
func TestConfirm(t *testing.T) {
	s, err := New(Config{Start: 100, Max: 1000, Window: 5 * time.Second, Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		n                         int
		users                     float64
		violated, complete, sound bool
		want                      float64
		long                      time.Duration
		what                      string
	}{
		{10, 100, false, true, true, 0, 10 * time.Second, "9 s are too short: two windows"},
		{1, 100, false, true, true, 100, 10 * time.Second, "10 s"},
		{9, 200, false, true, true, 100, 10 * time.Second, "8 s at 200"},
		{40, 150, false, true, true, 150, 20 * time.Second, "a fall to 150"},
		{30, 300, false, true, true, 150, 30 * time.Second, "29 s at 300, with 90 s behind"},
		{1, 300, true, true, true, 150, 30 * time.Second, "a violation: 300 were held for 29 s only"},
		{20, 300, false, true, true, 150, 30 * time.Second, "19 s at 300"},
		{40, 300, false, false, true, 150, 30 * time.Second, "no data do not count"},
		{40, 300, false, true, false, 150, 30 * time.Second, "unsound windows do not count"},
		{10, 300, false, true, true, 150, 30 * time.Second, "29 s at 300 that count"},
		{1, 300, false, true, true, 300, 30 * time.Second, "30 s at 300 that count"},
		{1, 400, true, true, true, 300, 30 * time.Second, "a violation ends it, and leaves what was held"},
	} {
		for range step.n {
			s.last += time.Second
			s.confirm(Observation{
				At:      s.last,
				Unsound: !step.sound,
			}, sample{
				users:    step.users,
				violated: step.violated,
				complete: step.complete,
			}, time.Second)
		}
		if got, long := s.Bound(); got != step.want || long != step.long {
			t.Errorf(
				"%s: the bound is %v, held for %v; want %v and %v",
				step.what,
				got,
				long,
				step.want,
				step.long,
			)
		}
	}
}

// Where 35 of 100 windows are slow, the cut that parts best leaves many on the wrong side, and does
// not determine the capacity to one window.
func TestSlowWindowsWidenTheBracket(t *testing.T) {
	var w [][2]float64
	for i := range 36 {
		held, over := [2]float64{60 + float64(i), 0.8}, [2]float64{97 + float64(i), 1.2}
		if i%4 == 1 && i < 24 {
			held[1] = 2.4
		}
		if i%7 == 1 {
			over[1] = 0.9
		}
		w = append(w, held, over)
	}
	r, _, ok := windows(len(w), w...).bracket()
	clean := func(lo, hi float64) bool { return lo <= 92 && hi >= 101 }
	if !ok || !clean(r.Lo, r.Hi) {
		t.Errorf(
			"got [%.0f, %.0f] of 72 windows, 12 on the wrong side; want at least [92, 101]",
			r.Lo,
			r.Hi,
		)
	}
}

func TestConfirmation(t *testing.T) {
	for _, tt := range []struct {
		window, took, want time.Duration
	}{
		{15 * time.Second, time.Hour, 30 * time.Second},
		{1500 * time.Millisecond, 6 * time.Minute, 30 * time.Second},
		{1500 * time.Millisecond, 36 * time.Second, 12 * time.Second},
		{1500 * time.Millisecond, 6 * time.Second, 3 * time.Second},
		{20 * time.Second, time.Hour, 40 * time.Second},
	} {
		if got := confirmation(tt.window, tt.took); got != tt.want {
			t.Errorf(
				"a window of %v, %v into the search: got %v, want %v",
				tt.window,
				tt.took,
				got,
				tt.want,
			)
		}
	}
}

// The first users come in at once and slow the server for some windows. Nothing was held before
// these, so they are no memory of an overload: such searches were unstable, "up to about 88 users
// going up, and after an overload 85".
func TestHerdOfTheStartIsNoSecondCapacity(t *testing.T) {
	sc := scenario{
		server:   herd,
		capacity: 88,
		noise:    0.02,
		tau:      20,
		pace:     0.25,
		cfg: Config{Start: 60, Max: 500, Window: 3750 * time.Millisecond,
			RampRate: 0.008, Budget: 5 * time.Minute},
	}
	for seed := range uint64(20) {
		r, _, _ := sc.search(seed + 1)
		if r.Kind != Estimate || math.Abs(r.Users/sc.capacity-1) > 0.05 {
			t.Errorf(
				"seed %d: got %s of %.0f [%.0f, %.0f]: %s",
				seed,
				r.Kind,
				r.Users,
				r.Lo,
				r.Hi,
				r.Why,
			)
		}
	}
}
