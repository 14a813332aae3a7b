package capacity

import (
	"math"
	"strings"
	"testing"
	"time"
)

func named(t *testing.T, all []scenario, name string) scenario {
	t.Helper()
	for _, sc := range all {
		if sc.name == name {
			return sc
		}
	}
	t.Fatalf("no server is called %q", name)
	return scenario{}
}

// A user who costs a minute of steady work when joining made estimates 1.3 % too low. The search
// waits a window after a rise where that costs, and nowhere else.
func TestSettlesByTheCostOfArrivals(t *testing.T) {
	costly, free := 0, 0
	for seed := range uint64(10) {
		sc := named(t, changing(), "x10: arrivals of 60 s")
		if s, _ := sc.run(sc.seeds + seed); s.settling > 0 {
			costly++
		}
		sc = named(t, unseen(), "well-behaved, x10")
		if s, _ := sc.run(sc.seeds + seed); s.settling > 0 {
			free++
		}
	}
	if costly < 9 || free > 1 {
		t.Errorf("of 10 searches, %d settled where joining costs and %d where it does not; "+
			"want 9 and 1", costly, free)
	}
}

// A cache that fills while the search watches moves the capacity: the mean of the tracker is no
// estimate.
func TestMovingCapacityIsUnstable(t *testing.T) {
	sc, unstable := named(t, changing(), "x10: cache of 5 min, a third"), 0
	for seed := range uint64(10) {
		if r, _, _ := sc.search(sc.seeds + seed + 1); r.Kind == Unstable {
			unstable++
		}
	}
	if unstable < 9 {
		t.Errorf("%d of 10 searches are unstable, want 9", unstable)
	}
}

func TestParted(t *testing.T) {
	// y rises with slope 4 to 0 at ln 100, and scatters by 0.02 in a pattern.
	at := func(i int, up float64) reading {
		x := math.Log(100) + 0.004*float64(i%20-10)
		return reading{x: x, y: 4*(x-math.Log(100)) + 0.02*math.Sin(float64(7*i)) + up}
	}
	var one, half, few, risen []reading
	for i := range 60 {
		one = append(one, at(i, 0))
		half = append(half, at(i, math.Ln2*float64(i*i/3%2)))
		few = append(few, at(i, 0))
		if i == 30 {
			few[i].y += math.Ln2
		}
	}
	if m := parted(one); m.found {
		t.Error("windows about one line have two modes")
	}
	if m := parted(few); m.found {
		t.Error("a single slow window is a mode")
	}
	for i := range 200 { // one in five is slow with the fewest users, four with the most
		slow := 0.0
		if i*13%17 < 3+i%20*11/20 {
			slow = 1
		}
		risen = append(risen, at(i, slow))
	}
	if m := parted(risen); !m.found || m.even {
		t.Errorf("got %+v; want two modes of which the users decide", m)
	}
	m := parted(half)
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.02 }
	if !m.found || !m.even || !near(m.up, 100) || !near(m.slow, 84.1) {
		t.Errorf("got %+v; want two modes that come alike, with limits of 84 and 100 users", m)
	}
}

// Of two modes that come alike, either may decide: the interval holds the limits of both.
func TestTwoModesWidenTheInterval(t *testing.T) {
	sc := named(t, changing(), "x10: two modes, 45 %")
	for seed := range uint64(5) {
		r, _, _ := sc.search(sc.seeds + seed + 1)
		if r.Kind == Estimate && (r.Hi < 1.15*r.Lo || !strings.Contains(r.Why, "two modes")) {
			t.Errorf("seed %d: got %.0f [%.0f, %.0f]: %s", seed, r.Users, r.Lo, r.Hi, r.Why)
		}
	}
}

// A search that never sees the server without a memory of overload reaches to where the ramp
// ended, also without a slope.
func TestRampThatHeldMoreWidensTheInterval(t *testing.T) {
	s := &Search{}
	for _, w := range []sample{{users: 95}, {users: 98}, {users: 101}, {
		users:    104,
		violated: true,
	}} {
		w.phase = Ramp
		s.samples = append(s.samples, w)
	}
	if r := s.remembered(Result{Lo: 89, Users: 90, Hi: 91}); r.Lo != 89 || r.Hi != 104 {
		t.Errorf("got [%.0f, %.0f], want [89, 104]", r.Lo, r.Hi)
	}
	if r := s.remembered(Result{Lo: 97, Users: 98, Hi: 99}); r.Hi != 99 {
		t.Errorf("got up to %.0f, want 99: the ramp held no more than noise lets it", r.Hi)
	}
}

func TestEstimateStatesForHowLongItWasObserved(t *testing.T) {
	s := &Search{last: 80 * time.Second, samples: []sample{
		{at: 5 * time.Second, users: 50}, {at: 20 * time.Second, users: 95}}}
	const want = "users were near it for 1m0s"
	if r := s.complete(Result{Kind: Estimate, Users: 100}); !strings.Contains(r.Why, want) {
		t.Errorf("got %q, want %q in it", r.Why, want)
	}
}
