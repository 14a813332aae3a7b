package probe

import (
	"testing"
	"time"
)

// TestTrail: a copy that stands still falls behind by the time since the server was first beyond
// it.
func TestTrail(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	var r Trail
	if _, _, ok := r.Behind(at(0)); ok {
		t.Error("a copy that was not heard of has a lag")
	}
	check := func(s int, lag time.Duration, distance uint64) {
		t.Helper()
		if l, d, ok := r.Behind(at(s)); l != lag || d != distance || !ok {
			t.Errorf("at %d s: behind by %v and %d, %v; want %v and %d", s, l, d, ok, lag, distance)
		}
	}
	r.Head(at(0), 10)
	r.Applied(10)
	check(0, 0, 0)
	r.Head(at(60), 10) // nothing was written for a minute
	r.Head(at(61), 20)
	check(61, 0, 10)
	r.Head(at(62), 20)
	r.Head(at(63), 30)
	check(66, 5*time.Second, 20) // since 61
	r.Applied(25)
	check(67, 4*time.Second, 5) // since 63
	r.Applied(15)               // an old answer
	check(67, 4*time.Second, 5)
	r.Applied(30)
	check(68, 0, 0)
	for i := range 3 * mostPoints {
		r.Head(at(100+i), uint64(31+i))
	}
	if len(r.points) > mostPoints {
		t.Errorf("%d points", len(r.points))
	}
	if l, d, _ := r.Behind(at(100 + 3*mostPoints)); d != 3*mostPoints ||
		l < 3*(mostPoints-10)*time.Second {
		t.Errorf("behind by %v and %d", l, d)
	}
}
