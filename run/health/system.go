package health

import (
	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/run/deploy"
)

// SharesOf begins to compare the requests of the servers of a system. requests is the metric that
// counts them, "" for none.
func SharesOf(sys *deploy.System, requests string, run *clock.Clock) *Shares {
	servers := Servers{
		Addresses: len(sys.Deployment.URLs()),
		Instances: sys.Deployment.Describe().Instances,
		Pages:     sys.Deployment.MetricsURLs(),
		Requests:  requests,
	}
	for _, part := range sys.Mix {
		servers.Behaviors = append(servers.Behaviors, part.Share)
	}
	return NewShares(servers, run)
}

// TargetCPU returns a function that reads the CPU times of a system's roles. Roles on the cores of
// the target share them, so they are one role; others on the host are no part of it.
func (s *Signals) TargetCPU(
	p *plan.Plan, cores deploy.HostCores, sys *deploy.System, arm string,
) func() map[string][2]float64 {
	n := float64(len(cores.Of(sys)))
	if c := p.Compare; c != nil {
		if a, _ := c.Arm(arm); a.Deployment != nil && a.Deployment.CPUs > 0 {
			n *= a.Deployment.CPUs
		}
	}
	return s.CPUTimes(sys.VisibleRoles(p), n)
}
