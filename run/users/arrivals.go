package users

import (
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// Arrivals translates the plan's open model for a mix, whose first behavior is the main one; nil without one.
func Arrivals(p *plan.Plan, mix []engine.Part) *engine.Arrivals {
	a := p.Workload.Arrival
	if a == nil {
		return nil
	}
	return arrivalsOf(mix, engine.Arrivals{Rate: float64(a.Rate), Poisson: a.Process == plan.Poisson, InFlight: a.InFlight, Queue: a.Queue})
}

// arrivalsOf has the main behavior of a mix serve arrivals.
func arrivalsOf(mix []engine.Part, a engine.Arrivals) *engine.Arrivals {
	a.Behavior, _ = mix[0].Behavior.(workload.ArrivalBehavior) // the plan was checked; the engine refuses a nil
	return &a
}
