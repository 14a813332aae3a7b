package main

import (
	"maps"
	"slices"

	"plimsoll/dialect"
	"plimsoll/engine"
	"plimsoll/plan"
	"plimsoll/workload"
)

// arrivalBehaviors are the behaviors that can serve arrivals.
func arrivalBehaviors(behaviors dialect.Registry) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(behaviors)) {
		if _, ok := behaviors[name]().(workload.ArrivalBehavior); ok {
			names = append(names, name)
		}
	}
	return names
}

// arrivals translates the plan's open model, and says how many connections it may need. The main behavior is the first
// of the mix.
func (s *session) arrivals(mix []engine.Part) (a *engine.Arrivals, connections int) {
	p := s.plan.Workload.Arrival
	if p == nil {
		return nil, 0
	}
	b, _ := mix[0].Behavior.(workload.ArrivalBehavior) // the plan was checked; the engine refuses a nil
	return &engine.Arrivals{Behavior: b, Rate: float64(p.Rate), Poisson: p.Process == plan.Poisson, InFlight: p.InFlight, Queue: p.Queue}, p.InFlight
}
