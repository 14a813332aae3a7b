package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A search assumes that a server responds to its present users, and forgets earlier load. Where
// either is wrong, healthy windows lie above violated ones, further apart than noise puts them, and
// any number from between looks precise. These constants set how far is too far.
const (
	// loopMost is the largest distance, in log users, from where violations begin to where they end
	// again, in the median of the search's swings. A tracker that follows noise turns where it came
	// from.
	loopMost = 0.12
	// The highest healthy windows lie above the lowest violated ones by the spread of the tracker's
	// users: two to four of their standard deviations where nothing is remembered. More than
	// overlapSpread is more than noise, if it is overlapMost in log users.
	overlapMost   = 0.12
	overlapSpread = 5
	// overlapEver is more than noise however much the users spread: they may do so because the
	// windows contradict each other.
	overlapEver = 0.4
	// extremes is the number of windows at either end that are left to chance.
	extremes = 3
	// widest is the interval, highest end over lowest, at which an estimate is rejected.
	widest = 2
)

// confirmMost is the time for which a level is held before it is called a bound, in a search that
// is long enough. It is not scaled with the pace: queues, caches and checkpoints of a server are
// not either.
const confirmMost = 30 * time.Second

// confirmation returns the time for which a level must be held without a violation to be a bound,
// in a search that has taken so long: a third of that, up to 30 s, and two windows at least. An
// effect of overload that comes later is not seen.
func confirmation(window, took time.Duration) time.Duration {
	return max(2*window, min(confirmMost, took/3))
}

// A held level is one that was reached at a time and not left downward since, nor violated.
type held struct {
	at    time.Duration
	users float64
}

// A hold is a level and for how long it was held.
type hold struct {
	users float64
	long  time.Duration
}

// confirm keeps for how long levels were held without a violation. Time without evidence does not
// count. A later level that is lower ends those above it: the kept levels rise with time.
func (s *Search) confirm(o Observation, w sample, tick time.Duration) {
	end := func(from int) {
		for _, l := range s.levels[from:] {
			s.ended(hold{l.users, s.last - tick - l.at})
		}
		s.levels = s.levels[:from]
	}
	if w.violated {
		end(0)
		return
	}
	if !w.complete || o.Unsound {
		for i := range s.levels {
			s.levels[i].at += tick
		}
		return
	}
	since, from := o.At, len(s.levels)
	for from > 0 && s.levels[from-1].users >= w.users {
		from--
		since = s.levels[from].at
	}
	end(from)
	s.levels = append(s.levels, held{since, w.users})
	for len(s.levels) > 1 && o.At-s.levels[1].at >= confirmMost && s.cfg.Window <= confirmMost/2 {
		s.levels = s.levels[1:] // the next one is higher, and was held for as long as matters
	}
}

// ended keeps a hold that is over, unless a higher level was held as long.
func (s *Search) ended(h hold) {
	if h.long < 2*s.cfg.Window {
		return
	}
	for _, o := range s.holds {
		if o.users >= h.users && o.long >= h.long {
			return
		}
	}
	s.holds = slices.DeleteFunc(s.holds, func(o hold) bool {
		return o.users <= h.users && o.long <= h.long
	})
	s.holds = append(s.holds, h)
}

// Bound returns the most users that were held, without a violation, for as long as a bound must be
// by now: 0 when none were. It also returns that time.
func (s *Search) Bound() (users float64, long time.Duration) {
	long = confirmation(s.cfg.Window, s.last-s.start)
	for _, h := range s.holds {
		if h.long >= long {
			users = max(users, h.users)
		}
	}
	return max(users, s.holding(long)), long
}

// holding returns the most users that have been held for so long since the last violation.
func (s *Search) holding(long time.Duration) (users float64) {
	for _, l := range s.levels {
		if s.last-l.at >= long {
			users = max(users, l.users)
		}
	}
	return users
}

// heldMax reports whether the most users that there may be were held for long enough.
func (s *Search) heldMax() bool {
	users, _ := s.Bound()
	return float64(s.cfg.Max)-users <= max(0.5, 0.002*float64(s.cfg.Max))
}

// A swing is one turn of the search: where a violation began, and where it was over.
type swing struct{ up, down float64 } // log users

// swings returns the turns of the search, the first one that of the ramp. Single windows turn
// nothing: noise and false alarms are that long.
func (s *Search) swings() []swing {
	var out []swing
	var up float64
	bad := false
	for k := 1; k < len(s.samples); k++ {
		p, w := s.samples[k-1], s.samples[k]
		switch {
		case w.violated != p.violated || w.violated == bad:
		case w.violated:
			bad, up = true, math.Log(p.users)
		default:
			bad = false
			out = append(out, swing{up, math.Log(p.users)})
		}
	}
	return out
}

// unstable returns why windows of the search contradict each other, with the two levels that they
// part, or "".
func (s *Search) unstable() (why string, reached, again float64) {
	var healthy, violated, tracked []float64
	for k, w := range s.samples {
		x := math.Log(w.users)
		switch alone := k > 0 && s.samples[k-1].violated != w.violated; {
		case alone: // or the first of several: noise and false alarms are that long
		case w.violated && len(healthy) < extremes: // the first users came in at once; there is no load to remember
		case w.violated:
			violated = append(violated, x)
		default:
			healthy = append(healthy, x)
		}
		if w.phase != Ramp {
			tracked = append(tracked, x)
		}
	}
	if len(violated) < extremes || len(healthy) < extremes {
		return "", 0, 0
	}
	slices.Sort(healthy)
	slices.Sort(violated)
	if turns := s.swings(); len(turns) >= 2 {
		var loops, ups, downs []float64
		for _, t := range turns[1:] { // after the ramp the search backs off by design
			loops, ups, downs = append(loops, t.up-t.down), append(ups, t.up), append(downs, t.down)
		}
		if middle(loops) > loopMost {
			return "overload begins to show at one level and is over only at a much lower one, time after time: its effect comes late, or the server recovers late",
				math.Exp(middle(ups)), math.Exp(middle(downs))
		}
	}
	top := healthy[len(healthy)-extremes]
	bottom := violated[max(extremes-1, len(violated)/10)]
	tracked = tracked[len(tracked)/4:] // the first came from where the ramp ended
	slices.Sort(tracked)
	spread := 0.0
	if n := len(tracked); n > 0 {
		spread = (tracked[n*84/100] - tracked[n*16/100]) / 2
	}
	if top-bottom > min(max(overlapMost, overlapSpread*spread), overlapEver) {
		return "windows that held lie far above windows that did not: the server remembers an overload, its effect comes late, or it has changed",
			math.Exp(healthy[len(healthy)-1]), math.Exp(bottom)
	}
	return "", 0, 0
}

// settle turns an estimate, or a bound after a violation, into an unstable result where the windows
// contradict each other, or where nothing held again after the overload: then an effect that comes
// late and a capacity look alike, or where the interval is as good as none.
func (s *Search) settle(r Result) Result {
	if r.Kind != Estimate && r.Kind != AtLeast || s.phase == Ramp {
		return r
	}
	u := Result{Kind: Unstable, Rule: r.Rule, Stopped: r.Stopped, Windows: r.Windows}
	if !s.bracketed {
		if r.Kind == AtLeast {
			return r
		}
		u.Lo, _ = s.Bound()
		u.Hi, u.Reached = max(r.Hi, s.healthyUsers), s.healthyUsers
		u.Why = fmt.Sprintf(
			"every rule held up to %.0f users going up, and after the overload nothing held again, down to %.0f users, before the search ended: "+
				"an effect that comes late and a capacity look alike",
			u.Reached,
			s.samples[len(s.samples)-1].users,
		)
		return u
	}
	if r.Kind == AtLeast && s.holding(r.Confirmed) >= 0.99*r.Users {
		return r // held since the last violation, which was a false alarm
	}
	why, reached, again := s.unstable()
	if from, to, moved := s.moved(); why == "" && r.Kind == Estimate && moved {
		u.Lo, u.Hi = min(r.Lo, from, to), max(r.Hi, from, to)
		u.Why = fmt.Sprintf(
			"the capacity moved while the search tracked it, from about %.0f users to about %.0f",
			from,
			to,
		)
		return u
	}
	if why == "" && r.Kind == Estimate && r.Hi > widest*r.Lo {
		u.Lo, u.Hi = r.Lo, r.Hi
		u.Why = fmt.Sprintf(
			"the interval reaches from %.0f to %.0f users: too few windows tell where the rules stop to hold",
			r.Lo,
			r.Hi,
		)
		return u
	}
	if why == "" {
		return r
	}
	u.Reached, u.Held = reached, again
	if r.Kind == Estimate && r.Users < reached {
		u.Held = r.Users
	}
	u.Lo, u.Hi = min(u.Held, again), reached
	u.Why = fmt.Sprintf(
		"every rule held up to about %.0f users going up, and after an overload up to about %.0f: %s",
		u.Reached,
		u.Held,
		why,
	)
	return u
}

// Contradicted returns the unstable result that the search would have if it ended now, where
// windows after a violation contradict the bound; ok reports whether they do. A wide interval of an
// estimate is not a contradiction: a bound has none.
func (s *Search) Contradicted() (u Result, ok bool) {
	bound, long := s.Bound()
	switch n := len(s.samples); {
	case s.phase == Ramp,
		bound > 0 && s.holding(long) >= 0.99*bound: // held since the last violation
		return u, false
	case !s.bracketed && n > 0 && s.samples[n-1].users >= bound: // nothing has been violated below it
		return u, false
	}
	r := s.conclude("interrupted: the search was stopped from outside")
	r.Lo, r.Hi = r.Users, r.Users
	if r.Kind == Unstable { // nothing was held
		return u, false
	}
	u = s.settle(r)
	return s.complete(u), u.Kind == Unstable
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
