package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// censored is the result of a search that something other than the target ended: the most users
// that were held for as long as a bound must be.
func (s *Search) censored(stopped, why string) Result {
	users, long := s.Bound()
	seconds := long.Round(100 * time.Millisecond)
	switch {
	case s.healthyUsers == 0 && users == 0:
		return Result{Kind: Invalid, Stopped: stopped,
			Why: why + ", and no whole window was healthy before that"}
	case users == 0:
		return Result{
			Kind:    Unstable,
			Stopped: stopped,
			Reached: s.healthyUsers,
			Why: fmt.Sprintf(
				"%s; every rule held at %.0f users, but no level was held without a violation for the %v that a bound takes",
				why,
				s.healthyUsers,
				seconds,
			),
		}
	case users < 0.995*s.healthyUsers:
		why += fmt.Sprintf(
			"; every rule held at %.0f users too, but no more than %.0f were held for the %v that a bound takes",
			s.healthyUsers,
			users,
			seconds,
		)
	}
	return Result{
		Kind:      AtLeast,
		Users:     users,
		Lo:        users,
		Reached:   s.healthyUsers,
		Confirmed: long,
		Stopped:   stopped,
		Why:       why,
	}
}

// Precision ends a search only after this many tracking windows, and only when all windows together
// are worth this many independent ones. An interval that looks narrow sooner has mostly not lived
// through the noise yet: stopping at the first narrow one would cover far less than 95 %.
const (
	minTrack       = 4
	minIndependent = 16
	// Of many looks the search takes the first narrow interval, which is narrow partly by luck: it
	// is widened so much.
	luck = 1.12
)

// precise reports whether the estimate has the requested precision, or lacks no more than a factor.
// Its interval is then the widened one.
func (s *Search) precise(r Result, lacks float64) (Result, bool) {
	n := 0
	for _, w := range s.samples {
		if w.phase == Track || w.phase == Steady {
			n++
		}
	}
	if n < minTrack || r.eff*lacks < minIndependent {
		return Result{}, false
	}
	r.Lo, r.Hi = r.Users*math.Pow(r.Lo/r.Users, luck), r.Users*math.Pow(r.Hi/r.Users, luck)
	if r.halfWidth() > s.cfg.Precision*lacks {
		return Result{}, false
	}
	r.Stopped = r.precision()
	return r, true
}

// halfWidth is half the interval as a fraction of the estimate, which need not be its middle.
func (r Result) halfWidth() float64 { return (r.Hi - r.Lo) / 2 / r.Users }

// precision explains that a search stopped because its interval is narrow enough.
func (r Result) precision() string {
	return fmt.Sprintf(
		"precision: half of the interval is %.1f %% of the estimate",
		100*r.halfWidth(),
	)
}

// conclude returns the best result from the windows so far when time is over.
func (s *Search) conclude(stopped string) Result {
	if s.phase == Overload {
		return s.outcome()
	}
	if s.phase == Ramp {
		why := "the ramp was not over: no violation lasted for a whole window"
		if p, ok := s.Predicted(); ok && p.Users > s.healthyUsers {
			why += "; " + p.String()
		}
		return s.censored(stopped, why)
	}
	if r, ok := s.logistic(); ok {
		r.Stopped = stopped
		if n := len(s.plateaus); n < leastPlateaus {
			r.Warnings = append(
				r.Warnings,
				fmt.Sprintf("only %d plateaus were measured, want %d", n, leastPlateaus),
			)
		}
		return r
	}
	if r, ok := s.estimate(true); ok {
		r.Stopped = stopped
		return r
	}
	for _, w := range s.samples {
		if w.violated && w.users > s.healthyUsers {
			return s.censored(
				stopped,
				"a violation lasted for a whole window, but the time was too short to find where it begins",
			)
		}
	}
	return s.censored(
		stopped,
		"a rule broke for a whole window and held afterwards with as many users; the time was over before one broke again",
	)
}

// complete adds the fields that every result has.
func (s *Search) complete(r Result) Result {
	if r.Kind == Estimate {
		r.Why += fmt.Sprintf("; users were near it for %v: what the server does later, "+
			"such as adding an instance or filling a cache, would not have shown",
			s.nearby(r.Users).Round(time.Second))
	}
	for i, b := range s.rules {
		m := s.margin(i, r.Users)
		switch {
		case r.Kind == Invalid:
		case b.rate && r.Users > 0: // without a number there are no windows near it
			p := s.pool(i, r.Users)
			if p.of > 0 {
				m.Ratio, m.Windows = p.rate()/b.limit, p.windows
			}
			if w := p.warning(b, r.Rule); w != "" {
				r.Warnings = append(r.Warnings, w)
			}
		case !b.decided:
			what := fmt.Sprintf(
				"it asks for %d operations, and a window had at most %d",
				b.minCount,
				b.most,
			)
			switch {
			case b.brief:
				what = "it was violated all the time, for less than it asks for"
			case b.most == 0:
				what = "it never had data"
			}
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s was never decided: %s", b.name, what))
		}
		r.Margins = append(r.Margins, m)
	}
	return r
}

// nearby is the time since there were nine tenths of so many users.
func (s *Search) nearby(users float64) time.Duration {
	for _, w := range s.samples {
		if w.users >= 0.9*users {
			return s.last - w.at
		}
	}
	return 0
}

// margin is the median ratio of a rule over the up to eight windows nearest to users.
func (s *Search) margin(rule int, users float64) RuleUse {
	m := RuleUse{Rule: s.rules[rule].name}
	type near struct{ distance, ratio float64 }
	var all []near
	for _, w := range s.samples {
		if rule < len(w.ratios) && !math.IsNaN(w.ratios[rule]) {
			all = append(all, near{math.Abs(w.users - users), w.ratios[rule]})
		}
	}
	if users == 0 || len(all) == 0 {
		return m
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	all = all[:min(len(all), 8)]
	v := make([]float64, len(all))
	for i := range all {
		v[i] = all[i].ratio
	}
	m.Windows, m.Ratio = len(v), middle(v)
	return m
}
