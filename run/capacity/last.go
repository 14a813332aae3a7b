package capacity

import (
	"fmt"
	"math"
	"time"

	"plimsoll/stats"
)

// The last tests of an estimate. The tracker's windows hold arrivals, departures and overloads of
// its own, and the capacity is defined at constant users. So the search holds its estimate, and
// then returns to the overload that ended the ramp: does the server read as before?
const (
	// steadyShare and overloadShare are the lengths of the tests, as shares of the time before
	// them, and leastTest the least length in windows; a shorter search has none.
	steadyShare, overloadShare = 0.15, 0.07
	leastTest                  = 5
	// almost is the factor of precision that a search may lack when it holds its estimate: these
	// windows are evidence.
	almost = 1.4
	// moving is the distance that the limit moves at constant users, from the first third of the
	// windows to the last, in log users and in standard deviations, where the server has not
	// settled.
	moving, movingSpread = 0.04, 2.5
	// apartSpread is the distance from the estimate at which constant users meet the limit, in
	// standard deviations of a window, before they contradict it.
	apartSpread = 1.5
	// The overload lies above the interval by the factor above at least, and above the estimate by
	// steep at most.
	above, steep = 1.02, 1.1
)

// An ending is the state of the last tests.
type ending struct {
	steadied bool // users were held at an estimate
	left     int  // windows of that

	estimate Result
	users    float64 // of the overload
	long     time.Duration
	since    time.Duration // when there were so many; -1 before
	violated []bool        // by window
}

// lastTests begins them where the estimate is precise, or no more time is left than they take, and
// finishes after them. It reports whether it has decided.
func (s *Search) lastTests() (Action, bool) {
	took, rest := float64(s.last-s.start), float64(s.cfg.Budget-leastTest*s.cfg.Window)
	late := took*(1+overloadShare) > rest
	r, ok := s.estimate(false)
	if !s.end.steadied && ok && r.Estimator == Regression {
		n := int(steadyShare * took / float64(s.cfg.Window))
		_, near := s.precise(r, almost)
		if n >= leastTest && (near || took*(1+steadyShare+overloadShare) > rest) {
			return s.steady(r, n), true
		}
	}
	if ok {
		r, ok = s.precise(r, 1)
	}
	if !ok && (!late || s.end.long > 0) {
		return Action{}, false
	}
	if !ok {
		r = s.conclude(fmt.Sprintf("budget: the time of %v is over", s.cfg.Budget))
	}
	if s.overload(r) {
		return s.climb("does the overload last?"), true
	}
	if ok {
		return s.finish(r), true
	}
	return Action{}, false
}

// steady begins n windows of constant users at the estimate.
func (s *Search) steady(r Result, n int) Action {
	s.phase, s.users = Steady, r.Users
	s.end.steadied, s.end.left = true, n
	s.hold = s.last + s.cfg.Window + s.settling
	return s.action("constant users: does the estimate stay?")
}

// constant records a window of constant users.
func (s *Search) constant(w sample) Action {
	switch {
	case s.last < s.hold:
		return s.action("waiting for a window at these users")
	case !w.complete && !w.violated:
		return s.action("paused: a rule has no data")
	}
	s.record(w)
	s.hold = s.last + s.cfg.Window
	if s.end.left--; s.end.left > 0 {
		return s.action("constant users")
	}
	s.phase = Track
	s.dir, s.run = 0, 0
	if a, over := s.lastTests(); over {
		return a
	}
	return s.action("the tracking goes on")
}

// held widens an estimate that the windows at constant users contradict: the limit moves in them,
// or their later two thirds meet it elsewhere.
func (s *Search) held(r Result, binding []int, slope float64) Result {
	var z, ones, tracked []float64
	for _, w := range s.samples {
		q := w.ratio(binding)
		if !(q > 0) {
			continue
		}
		switch v := math.Log(w.users) - math.Log(q)/slope; w.phase {
		case Steady:
			z, ones = append(z, v), append(ones, 1)
		case Track:
			tracked = append(tracked, v)
		}
	}
	n := len(z) / 3
	if n < 2 || len(tracked) < minTrack {
		return r
	}
	first, s1 := spread(z[:n])
	last, s3 := spread(z[len(z)-n:])
	_, all := spread(tracked)
	d, sd := math.Abs(last-first), math.Sqrt((s1*s1+s3*s3)/2)
	if d > moving && d > movingSpread*sd && d > 2*all {
		r.Lo = min(r.Lo, math.Exp(min(first, last)-sd))
		r.Hi = max(r.Hi, math.Exp(max(first, last)+sd))
		r.Why += fmt.Sprintf("; at constant users the limit moved from %.0f users to %.0f, "+
			"and the interval holds both",
			math.Exp(first), math.Exp(last))
		return r
	}
	m, v, df, _ := correlatedMean(z[n:], ones[n:])
	half := stats.TQuantile(level, df) * math.Sqrt(v)
	d = math.Abs(m - math.Log(r.Users))
	if d > apartSpread*all && d > math.Hypot(half, math.Log(r.Hi/r.Lo)/2) {
		r.Lo, r.Hi = min(r.Lo, math.Exp(m-half)), max(r.Hi, math.Exp(m+half))
		r.Why += fmt.Sprintf("; constant users met the limit at %.0f, and the interval holds that",
			math.Exp(m))
	}
	return r
}

// overload prepares the test of an overload above the interval of an estimate, and reports whether
// there can be one: it is long enough, the interval narrow enough, and the plan allows its users.
func (s *Search) overload(r Result) bool {
	s.end.long = time.Duration(overloadShare * float64(s.last-s.start))
	peak := 0.0
	for _, p := range s.samples {
		peak = max(peak, p.users)
	}
	users := max(above*r.Hi, min(peak, (1+steep)/2*r.Users))
	if s.settle(r).Kind != Estimate || s.end.long < leastTest*s.cfg.Window ||
		users > min(steep*r.Users, float64(s.cfg.Max)) {
		return false
	}
	s.phase = Overload
	s.end.estimate = r
	s.end.users = users
	s.end.since = -1
	return true
}

// climb moves one stride towards the overload.
func (s *Search) climb(why string) Action {
	s.users = min(max(s.users*(1+maxStep(s.cfg)), s.users+1), s.end.users)
	s.hold = s.last + s.cfg.Window
	if s.users == s.end.users {
		s.end.since = s.last
	}
	return s.action(why)
}

// overloaded judges a window of the overload.
func (s *Search) overloaded(w sample) Action {
	switch {
	case s.last < s.hold:
		return s.action("waiting for a window of overload")
	case s.end.since < 0:
		return s.climb("up to an overload")
	case !w.complete && !w.violated:
		return s.action("paused: a rule has no data")
	}
	s.end.violated = append(s.end.violated, w.violated)
	s.hold = s.last + s.cfg.Window
	if s.last-s.end.since < s.end.long {
		return s.action("overload: does it last?")
	}
	return s.finish(s.outcome())
}

// outcome is the estimate, or an unstable result where every window in the last third of the
// overload held.
func (s *Search) outcome() Result {
	r, n := s.end.estimate, len(s.end.violated)
	if s.end.since < 0 || n < leastTest {
		return r
	}
	long := s.last - s.end.since
	for _, v := range s.end.violated[n*2/3:] {
		if v {
			r.Why += fmt.Sprintf("; an overload at %.0f users lasted for %v",
				s.end.users, long.Round(100*time.Millisecond))
			return r
		}
	}
	return Result{Kind: Unstable, Rule: r.Rule, Stopped: r.Stopped, Windows: r.Windows,
		Lo: r.Lo, Hi: s.end.users, Held: r.Users, Reached: s.end.users,
		Why: fmt.Sprintf("the rules stop to hold near %.0f users, and hold again at %.0f after %v "+
			"there: the server has changed and carries more",
			r.Users, s.end.users, long.Round(time.Second))}
}
