package capacity

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// Times of a plateau in windows, how many plateaus an answer takes, and how much they differ in
// users.
const (
	plateauSettle  = 4
	plateauMeasure = 8
	leastPlateaus  = 12
	stair          = 0.025
	// tolerated is the share of a plateau's windows that may be violated.
	tolerated = 1.0 / 3
)

// A plateau is a time of constant users, and whether it held.
type plateau struct {
	x    float64 // log of the users
	held bool
}

// stairs measures one plateau after the other: up after one that held, down after one that did not.
func (s *Search) stairs(w sample) Action {
	if s.last < s.hold {
		return s.action("waiting for the plateau to settle")
	}
	if !w.complete && !w.violated { // as in track
		return s.action("paused: a rule has no data")
	}
	s.record(w)
	s.hold = s.last + s.cfg.Window
	s.seen++
	if w.violated {
		s.bad++
	} else {
		s.healthyUsers = max(s.healthyUsers, w.users)
	}
	why := fmt.Sprintf("plateau %d: %d of %d windows violated", len(s.plateaus)+1, s.bad, s.seen)
	if s.seen < plateauMeasure {
		return s.action(why)
	}
	held := float64(s.bad) <= tolerated*float64(s.seen)
	s.plateaus = append(s.plateaus, plateau{x: math.Log(w.users), held: held})
	s.seen, s.bad = 0, 0
	if r, ok := s.narrow(); ok {
		r.Stopped = r.precision()
		return s.finish(r)
	}
	a, over := s.top(held, "three plateaus in a row held at all %d users that the plan allows")
	if over {
		return a
	}
	dir := -1.0
	if held {
		dir = 1
	}
	s.users = min(max(s.users+dir*max(stair*s.users, 1), 1), float64(s.cfg.Max))
	s.hold = s.last + (plateauSettle+1)*s.cfg.Window
	return s.action(why)
}

// narrow returns the estimate of a staircase that may end with it.
func (s *Search) narrow() (Result, bool) {
	if len(s.plateaus) < leastPlateaus {
		return Result{}, false
	}
	r, ok := s.logistic()
	return r, ok && r.halfWidth() <= s.cfg.Precision
}

// logistic fits the chance that a plateau holds, 1/(1+exp((x-a)/b)) over x = log users, by maximum
// likelihood. The estimate is a, where half of the plateaus hold; its interval is that of the
// profile likelihood, cut at t²/2 with half as many degrees of freedom as plateaus, for neighbors
// are alike. Nine of ten plateaus hold at a - b ln 9. It looks as far as 0.2 beyond the outermost
// plateaus; an interval that reaches there has a warning. An estimate beyond all plateaus is
// refused: nobody measured there.
func (s *Search) logistic() (Result, bool) {
	held := 0
	least := math.Inf(1)
	most := math.Inf(-1)
	for _, p := range s.plateaus {
		if p.held {
			held++
		}
		least, most = min(least, p.x), max(most, p.x)
	}
	if n := len(s.plateaus); n < 4 || held == 0 || held == n {
		return Result{}, false
	}
	fit := profileOf(s.plateaus, least-2*broadest, most+2*broadest)
	a, b := fit.peak()
	if a < least || a > most {
		return Result{}, false
	}
	t := stats.TQuantile(level, float64(len(s.plateaus))/2)
	first, last := fit.above(fit.best - t*t/2)
	// The likelihood falls below the cut between two places of the grid: the interval reaches to
	// the outer one.
	r := Result{
		Kind:        Estimate,
		Users:       math.Exp(a),
		Lo:          math.Exp(fit.at(max(first-1, 0))),
		Hi:          math.Exp(fit.at(min(last+1, profileGrid))),
		Estimator:   Logistic,
		Recommended: math.Exp(a - b*math.Log(9)),
		Windows:     plateauMeasure * len(s.plateaus),
		Why: fmt.Sprintf("half of the plateaus hold there: a logistic fit to %d plateaus, "+
			"%d of which held; nine of ten hold at %.0f users",
			len(s.plateaus), held, math.Exp(a-b*math.Log(9))),
	}
	if first == 0 || last == profileGrid {
		r.Warnings = append(r.Warnings,
			"the interval reaches a fifth beyond the outermost plateaus, as far as the fit looks: "+
				"the capacity may lie further away")
	}
	if rules := s.binding(); len(rules) > 0 {
		r.Rule = s.rules[rules[0]].name
	}
	return r, true
}

// The grid on which the fit looks for a and b. A quarter of a stair, 0.006, is the finest width
// that plateaus can resolve.
const (
	profileGrid   = 300
	profileWidths = 20
	narrowest     = stair / 4
	broadest      = 0.1
)

// A profile is the log likelihood of each place a of a grid, with the width b that suits it best.
type profile struct {
	lo, hi     float64 // of the places, log of the users
	likelihood [profileGrid + 1]float64
	width      [profileGrid + 1]float64
	best       float64 // of all places
}

// profileOf computes the profile of plateaus between two places.
func profileOf(plateaus []plateau, lo, hi float64) *profile {
	f := &profile{lo: lo, hi: hi, best: math.Inf(-1)}
	for i := range f.likelihood {
		f.likelihood[i] = math.Inf(-1)
		for j := range profileWidths {
			b := narrowest * math.Pow(broadest/narrowest, float64(j)/(profileWidths-1))
			if l := likelihoodOf(plateaus, f.at(i), b); l > f.likelihood[i] {
				f.likelihood[i], f.width[i] = l, b
			}
		}
		f.best = max(f.best, f.likelihood[i])
	}
	return f
}

// likelihoodOf returns the log likelihood of a place and a width.
func likelihoodOf(plateaus []plateau, a, b float64) float64 {
	l := 0.0
	for _, p := range plateaus {
		z := (p.x - a) / b // log odds of not holding
		if p.held {
			z = -z
		}
		l -= math.Log1p(math.Exp(-z))
	}
	return l
}

// at returns the place with a number.
func (f *profile) at(i int) float64 { return f.lo + (f.hi-f.lo)*float64(i)/profileGrid }

// peak returns the place and the width of the greatest likelihood; where it is flat, its middle.
func (f *profile) peak() (a, b float64) {
	n := 0
	for i, l := range f.likelihood {
		if l >= f.best-1e-3 {
			a += f.at(i)
			b += f.width[i]
			n++
		}
	}
	return a / float64(n), b / float64(n)
}

// above returns the first and the last place whose likelihood reaches a cut.
func (f *profile) above(cut float64) (first, last int) {
	first = -1
	for i, l := range f.likelihood {
		if l >= cut {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}
