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
	s.samples = append(s.samples, w)
	s.lastSample = s.last
	s.hold = s.last + s.cfg.Window
	s.seen++
	if w.violated {
		s.bad++
	} else {
		s.healthyUsers = max(s.healthyUsers, w.users)
	}
	if s.seen < plateauMeasure {
		return s.action(
			fmt.Sprintf("plateau %d: %d of %d windows violated", len(s.plateaus)+1, s.bad, s.seen),
		)
	}
	held := float64(s.bad) <= tolerated*float64(s.seen)
	s.plateaus = append(s.plateaus, plateau{x: math.Log(w.users), held: held})
	why := fmt.Sprintf("plateau %d: %d of %d windows violated", len(s.plateaus), s.bad, s.seen)
	s.seen, s.bad = 0, 0
	if r, ok := s.narrow(); ok {
		r.Stopped = r.precision()
		return s.finish(r)
	}
	if held && s.users >= float64(s.cfg.Max) {
		if s.topped++; s.topped >= 3 && s.heldMax() {
			return s.finish(s.censored(
				"max users: every rule held there",
				fmt.Sprintf(
					"three plateaus in a row held at all %d users that the plan allows",
					s.cfg.Max,
				),
			))
		}
	} else {
		s.topped = 0
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
// are alike. Nine of ten plateaus hold at a - b ln 9. b is bounded by 0.006, a quarter of a stair,
// the finest that plateaus can resolve, and 0.1. It looks as far as 0.2 beyond the outermost
// plateaus; an interval that reaches there has a warning. An estimate beyond all plateaus is
// refused: nobody measured there.
func (s *Search) logistic() (Result, bool) {
	const (
		narrow, broad = stair / 4, 0.1
		grid, widths  = 300, 20
	)
	held := 0
	lo := math.Inf(1)
	hi := math.Inf(-1)
	for _, p := range s.plateaus {
		if p.held {
			held++
		}
		lo, hi = min(lo, p.x), max(hi, p.x)
	}
	if n := len(s.plateaus); n < 4 || held == 0 || held == n {
		return Result{}, false
	}
	least, most := lo, hi
	lo, hi = lo-2*broad, hi+2*broad
	t := stats.TQuantile(level, float64(len(s.plateaus))/2)
	half95 := t * t / 2
	var profile, width [grid + 1]float64
	best := math.Inf(-1)
	for i := range profile {
		a := lo + (hi-lo)*float64(i)/grid
		profile[i] = math.Inf(-1)
		for j := range widths {
			b := narrow * math.Pow(broad/narrow, float64(j)/(widths-1))
			l := 0.0
			for _, p := range s.plateaus {
				z := (p.x - a) / b // log odds of not holding
				if p.held {
					z = -z
				}
				l -= math.Log1p(math.Exp(-z))
			}
			if l > profile[i] {
				profile[i], width[i] = l, b
			}
		}
		best = max(best, profile[i])
	}
	at := func(i int) float64 { return lo + (hi-lo)*float64(i)/grid }
	first := -1
	last := 0
	sum := 0.0
	wide := 0.0
	n := 0
	for i, l := range profile {
		if l >= best-half95 {
			if first < 0 {
				first = i
			}
			last = i
		}
		if l >= best-1e-3 { // where the likelihood is flat, its middle
			sum, wide, n = sum+at(i), wide+width[i], n+1
		}
	}
	a, b := sum/float64(n), wide/float64(n)
	if a < least || a > most {
		return Result{}, false
	}
	// The likelihood falls below the cut between two places of the grid: the interval reaches to
	// the outer one.
	r := Result{
		Kind:        Estimate,
		Users:       math.Exp(a),
		Lo:          math.Exp(at(max(first-1, 0))),
		Hi:          math.Exp(at(min(last+1, grid))),
		Estimator:   Logistic,
		Recommended: math.Exp(a - b*math.Log(9)),
		Windows:     plateauMeasure * len(s.plateaus),
		Why: fmt.Sprintf(
			"half of the plateaus hold there: a logistic fit to %d plateaus, %d of which held; nine of ten hold at %.0f users",
			len(s.plateaus),
			held,
			math.Exp(a-b*math.Log(9)),
		),
	}
	if first == 0 || last == grid {
		r.Warnings = append(
			r.Warnings,
			"the interval reaches a fifth beyond the outermost plateaus, as far as the fit looks: the capacity may lie further away",
		)
	}
	if rules := s.binding(); len(rules) > 0 {
		r.Rule = s.rules[rules[0]].name
	}
	return r, true
}
