package session

import (
	"slices"
	"time"

	"plimsoll/plan"
	"plimsoll/run/capacity"
	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/sharedhost"
	"plimsoll/run/trial"
)

// FirstAccounts is the number of users for which a pilot that finds their number prepares its
// target at first: accounts cost a real server most of a deployment.
const FirstAccounts = 100

// levelTest returns the test of a pilot that finds users. Its least times are the target's own: a
// faster pace makes no server finish the work of arrivals sooner.
func (s *Session) levelTest(pt RunPart) *trial.LevelTest {
	w := s.Plan.Workload
	t := &trial.LevelTest{
		Ramp:   paced(w, 2*time.Second, time.Second),
		Window: paced(w, 5*time.Second, 3*time.Second),
	}
	t.LevelConfig = capacity.LevelConfig{Start: pt.Start, Max: pt.Most, Budget: LevelTime(w),
		Step: t.Ramp + 2*t.Window}
	return t
}

// LevelTime returns how long a pilot looks for the users of a workload.
func LevelTime(w plan.Workload) time.Duration { return paced(w, time.Minute, time.Minute) }

// paced returns a wait at the pace of the users, in whole seconds.
func paced(w plan.Workload, d, least time.Duration) time.Duration {
	return max(w.Wait(d).Round(time.Second), least)
}

// cpuUsed returns a function that reads the CPU times of a system's roles. Roles on the cores of
// the target share them, so they are one role; others on the host are no part of it.
func (s *Session) cpuUsed(sys *deploy.System, arm string, sig *health.Signals) func() map[string][2]float64 {
	cores := float64(len(s.coresOf(sys)))
	if c := s.Plan.Compare; c != nil {
		if a, _ := c.Arm(arm); a.Deployment != nil && a.Deployment.CPUs > 0 {
			cores *= a.Deployment.CPUs
		}
	}
	return sig.CPUTimes(s.seenRoles(sys), cores)
}

// seenRoles are the roles of a system whose CPU may be seen.
func (s *Session) seenRoles(sys *deploy.System) []string {
	roles := slices.Clone(s.Plan.WatchedRoles())
	for _, r := range sys.Roles() {
		roles = append(roles, r.Name)
	}
	for _, p := range sys.Probes {
		if p.ShowsCPU() {
			roles = append(roles, p.Role)
		}
	}
	slices.Sort(roles)
	roles = slices.Compact(roles)
	return slices.DeleteFunc(roles, func(role string) bool { return role == "generator" })
}

// CheckVisible returns an error if nothing can show the CPU of an arm's target.
func (s *Session) CheckVisible(arm string) error {
	p := s.Plan
	if p.Target.OwnHost() || len(p.MetricsOf(arm).Roles()) > 0 || slices.ContainsFunc(p.ProbesOf(arm), plan.Probe.ShowsCPU) {
		return nil
	}
	t := p.Target
	if p.Compare != nil {
		a, _ := p.Compare.Arm(arm)
		t = t.With(a)
	}
	t, err := s.Resolve(t, p.Workload)
	if err == nil && len(sharedhost.Reached(t.URL)) == 0 {
		err = plan.Usagef("bounded.users: auto needs the CPU of the target, which is elsewhere; " +
			"write a number, or add a probe of kind agent on its host, or metrics of it")
	}
	return err
}
