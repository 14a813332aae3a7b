package capacity

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// The utilization law: a target's CPU time is its users times what one of them costs, so windows of
// the ramp far below the capacity predict where its CPU is used up. The prediction is a statement
// only: it moves no users.
const (
	// apart is the least difference of the users of two windows, in log users, that tells the cost
	// of a user.
	apart = 0.14
	// leastCosts is the least number of windows that have an interval.
	leastCosts = 4
	// leastUtilization is the least CPU utilization that tells something about the users.
	leastUtilization = 0.02
)

// A cost is the CPU utilization of a window of the ramp.
type cost struct{ users, util float64 }

// A Prediction is the number of users at which the target's CPU is used up.
type Prediction struct {
	Users float64
	// Lo and Hi are its 95 % interval by the scatter of the windows about their line; 0 with fewer
	// than four windows. The interval supposes that a user costs the same at any load.
	Lo, Hi float64
	Levels int // windows of the ramp
}

// String returns the prediction as a clause.
func (p Prediction) String() string {
	if p.Hi == 0 {
		return fmt.Sprintf("the limit of CPU is near %.0f users", p.Users)
	}
	return fmt.Sprintf("the limit of CPU is near %.0f users [%.0f, %.0f]", p.Users, p.Lo, p.Hi)
}

// Predicted returns where the CPU is used up, by least squares through the windows of the ramp, and
// false if they do not tell: fewer than two that are apart, or a utilization that does not rise
// with the users.
func (s *Search) Predicted() (Prediction, bool) {
	n := float64(len(s.costs))
	var ss float64
	lo, hi := math.Inf(1), 0.0
	for _, c := range s.costs {
		lo, hi = min(lo, c.users), max(hi, c.users)
	}
	if !(math.Log(hi/lo) >= apart) { // NaN without windows
		return Prediction{}, false
	}
	mx, my, sxx, sxy := trend(s.costs)
	b := sxy / sxx
	if b <= 0 {
		return Prediction{}, false
	}
	for _, c := range s.costs {
		e := c.util - my - b*(c.users-mx)
		ss += e * e
	}
	p := Prediction{Users: mx + (s.cfg.Saturation-my)/b, Levels: len(s.costs)}
	if n >= leastCosts {
		far := p.Users - mx
		half := stats.TQuantile(level, n-2) * math.Sqrt(ss/(n-2)*(1/n+far*far/sxx)) / b
		p.Lo, p.Hi = max(p.Users-half, 0), p.Users+half
	}
	return p, p.Users > 0
}

// trend returns the means of users and utilization, and the sums of squares and products about
// them.
func trend(of []cost) (mx, my, sxx, sxy float64) {
	n := float64(len(of))
	for _, c := range of {
		mx, my = mx+c.users/n, my+c.util/n
	}
	for _, c := range of {
		sxx += (c.users - mx) * (c.users - mx)
		sxy += (c.users - mx) * (c.util - my)
	}
	return mx, my, sxx, sxy
}

// costly keeps the utilization of a window of the ramp that held, and predicts the limit once there
// are enough.
func (s *Search) costly(w sample) {
	if w.util < leastUtilization || w.users <= 0 {
		return
	}
	s.costs = append(s.costs, cost{w.users, w.util})
	p, ok := s.Predicted()
	if !ok || p.Hi == 0 || s.foreseen != "" {
		return
	}
	s.foreseen = fmt.Sprintf("%v, by the CPU utilization in %d windows of the ramp", p, p.Levels)
	ahead := s.cfg
	ahead.Start = int(s.users)
	if _, reach := ahead.rampTo(p.Users, s.cfg.Budget-(s.last-s.start)); reach < min(
		0.99*p.Users,
		float64(s.cfg.Max),
	) {
		s.foreseen += fmt.Sprintf(
			"; the budget of %v ends near %.0f users at this pace of steps",
			s.cfg.Budget,
			reach,
		)
	}
}

// Foreseen returns a sentence on the predicted limit, and on the end of the budget if that is below
// it; "" as long as there is none. It does not change any more.
func (s *Search) Foreseen() string { return s.foreseen }
