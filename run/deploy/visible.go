package deploy

import (
	"slices"

	"plimsoll/plan"
	"plimsoll/run/sharedhost"
)

// VisibleRoles returns the roles of a system whose CPU may be seen, but for the generator.
func (s *System) VisibleRoles(p *plan.Plan) []string {
	roles := slices.Clone(p.WatchedRoles())
	for _, r := range s.Roles() {
		roles = append(roles, r.Name)
	}
	for _, probe := range s.Probes {
		if probe.ShowsCPU() {
			roles = append(roles, probe.Role)
		}
	}
	slices.Sort(roles)
	roles = slices.Compact(roles)
	return slices.DeleteFunc(roles, func(role string) bool { return role == "generator" })
}

// CheckVisible returns an error if nothing can show the CPU of an arm's target.
func (e *Resolver) CheckVisible(p *plan.Plan, arm string) error {
	seen := len(p.MetricsOf(arm).Roles()) > 0 ||
		slices.ContainsFunc(p.ProbesOf(arm), plan.Probe.ShowsCPU)
	if p.Target.OwnHost() || seen {
		return nil
	}
	t := p.Target
	if p.Compare != nil {
		a, _ := p.Compare.Arm(arm)
		t = t.With(a)
	}
	t, err := e.Resolve(t, p.Workload)
	if err == nil && len(sharedhost.Reached(t.URL)) == 0 {
		err = plan.Usagef("bounded.users: auto needs the CPU of the target, which is elsewhere; " +
			"write a number, or add a probe of kind agent on its host, or metrics of it")
	}
	return err
}
