package rig

import (
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// arrivals translates the plan's open model, and returns how many connections it may need. The main behavior is the
// first of the mix.
func (s *Session) arrivals(mix []engine.Part) (a *engine.Arrivals, connections int) {
	p := s.Plan.Workload.Arrival
	if p == nil {
		return nil, 0
	}
	b, _ := mix[0].Behavior.(workload.ArrivalBehavior) // the plan was checked; the engine refuses a nil
	return &engine.Arrivals{Behavior: b, Rate: float64(p.Rate), Poisson: p.Process == plan.Poisson, InFlight: p.InFlight, Queue: p.Queue}, p.InFlight
}
