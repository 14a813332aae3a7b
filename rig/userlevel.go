package rig

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
)

const (
	firstLevel = 10 // users of the first window of a pilot
	// firstAccounts is for how many users a pilot prepares its target at first: accounts cost a
	// real server most of a deployment.
	firstAccounts = 100
	// accountsPart is the part of the minutes of a comparison that its accounts may take, pilotsPart
	// the part that pilots may, and arrivalsPart the part of ramp and settling that the work of
	// arrivals may.
	accountsPart = 0.25
	pilotsPart   = 0.2
	arrivalsPart = 0.4
)

// FindUsers has a pilot find the number of users of a part, where the plan leaves it open, and
// makes it the plan's.
func (s *Session) FindUsers(ctx context.Context, pt RunPart) error {
	if !pt.Bounded || !s.Plan.Bounded.AutoUsers() {
		return nil
	}
	l, err := s.findLevel(ctx, pt, 0)
	if err == nil {
		s.Plan = s.Plan.WithUsers(plan.PerEngine{"": l.Users})
	}
	return err
}

// findLevels is FindUsers for the base of a comparison on each database. The comparison takes so many minutes; 0 for
// any time.
func (s *Session) findLevels(ctx context.Context, minutes int) (levels []record.UserLevel, err error) {
	p := s.Plan
	if !p.Bounded.AutoUsers() {
		return nil, nil
	}
	engines, users := comparison.Engines(p), plan.PerEngine{}
	for _, e := range engines {
		pt := RunPart{Arm: plan.Base, Engine: p.EngineOf(plan.Base, e), Bounded: true}
		l, err := s.findLevel(ctx, pt, minutes)
		if err != nil {
			return nil, err
		}
		l.Engine, users[e] = e, l.Users
		levels = append(levels, l)
	}
	if len(engines) == 1 {
		users = plan.PerEngine{"": users[engines[0]]}
	}
	s.Plan = p.WithUsers(users)
	return levels, nil
}

// findLevel makes pilots of a part until one has enough accounts for the level. Each has its system
// for itself, all the time, in a duet too: a turn has the whole of the cores.
func (s *Session) findLevel(ctx context.Context, pt RunPart, minutes int) (l record.UserLevel, err error) {
	if err := s.visible(pt.Arm); err != nil {
		return l, err
	}
	limit := s.Plan.MostAutoUsers()
	pt.pilot, pt.Unbounded, pt.Start = true, false, firstLevel
	began := time.Now()
	for pt.most = min(firstAccounts, limit); ; {
		of := strings.TrimSpace(cmp.Or(pt.Arm, "the target") + " " + pt.Engine)
		s.Progress.What("pilot  users of "+of, 0)
		r, found, took, err := s.pilotUsers(ctx, pt)
		if err != nil {
			return l, err
		}
		s.limitFound(found, limit, minutes, accounts{pt.most, took}, time.Since(began))
		if !found.Capped || pt.most >= limit {
			l = record.UserLevel{Users: found.Users, Role: found.Role, Utilization: found.Utilization,
				Why: found.Short, Run: r.Manifest.ID}
			s.Progress.Say("bounded.users: %s", strings.TrimSpace(engineName(pt.Engine)+" "+l.String()))
			return l, nil
		}
		pt.Start, pt.most = pt.most, min(limit, max(2*pt.most, found.Wanted+found.Wanted/2))
	}
}

// accounts is the number of accounts that a deployment made, and how long it took.
type accounts struct {
	made int
	took time.Duration
}

// limitFound has a level of a pilot keep what limits the users: the plan's own limit, what arrivals
// cost, and, in a comparison of so many minutes, accounts and the time for another pilot, after
// pilots that took so long.
func (s *Session) limitFound(found *trial.FoundLevel, limit, minutes int, of accounts, passed time.Duration) {
	found.Wanted = min(found.Wanted, limit)
	limitUsers(found, arrivalsFor(s.Plan.Bounded, found.Arrival), fmt.Sprintf("each costs %v of the target's "+
		"cores as it arrives; a longer bounded.ramp allows more, and with a shorter workload.pace each does more",
		found.Arrival.Round(time.Millisecond)))
	if minutes == 0 {
		return
	}
	pilots := len(comparison.Engines(s.Plan))
	most := accountsFor(minutes, of.made, of.took, pilots, s.Plan.Seats())
	limitUsers(found, max(most, found.Users), fmt.Sprintf("accounts for more would take over %.0f %% of "+
		"the %d minutes; with a shorter workload.pace each does more", 100*accountsPart, minutes))
	if found.Capped && pilotsLast(minutes, pilots, passed) {
		found.Predict(min(found.Wanted, 2*found.Users), fmt.Sprintf(" from %.0f %% at %d users",
			100*found.Utilization, found.Users))
	}
}

// accountsFor returns for how many users each system of a comparison can have accounts, at the pace of a deployment
// that made some: the pilots' and all of the arms', which are deployed one after the other.
func accountsFor(minutes, made int, took time.Duration, pilots, seats int) int {
	each := took * time.Duration(pilots+seats) / time.Duration(max(made, 1))
	return int(accountsPart * float64(time.Duration(minutes)*time.Minute) / float64(max(each, 1)))
}

// arrivalsFor returns how many users have arrived before the measured phase of a test begins.
func arrivalsFor(b *plan.Bounded, each time.Duration) int {
	if each <= 0 {
		return math.MaxInt
	}
	return max(int(arrivalsPart*float64(b.Ramp+b.Settle)/float64(each)), firstLevel)
}

// limitUsers ends the search for users at so many, for a reason. The use is the one that grows with the users.
func limitUsers(f *trial.FoundLevel, most int, why string) {
	wanted := f.Users
	if f.Capped {
		wanted = f.Wanted
	}
	if wanted > most {
		f.Predict(most, "; "+why)
	}
}

// pilotsLast reports whether another pilot, twice as long as the first, would take more of the
// minutes of a comparison than pilots may, after one that took so long.
func pilotsLast(minutes, pilots int, took time.Duration) bool {
	each := pilotsPart * float64(minutes) / float64(pilots)
	return 3*took.Minutes() > each
}

// pilotUsers carries one pilot out, on a system that is deployed for it, in a time that it returns, and removed.
func (s *Session) pilotUsers(ctx context.Context, pt RunPart) (
	r *record.Run, found *trial.FoundLevel, took time.Duration, err error,
) {
	deployed := s.NewDeployments()
	defer deployed.Close()
	began := time.Now()
	sys, err := deployed.System(ctx, s.Need(pt))
	if err != nil {
		return nil, nil, 0, err
	}
	took = time.Since(began)
	r, out, err := s.Trial(ctx, sys, pt)
	deployed.Close()
	if err != nil {
		return nil, nil, 0, err
	}
	deployed.Clear()
	if ctx.Err() != nil {
		return nil, nil, 0, context.Cause(ctx)
	}
	if out.Level != nil {
		return r, out.Level, took, nil
	}
	why := out.Interrupted
	for _, f := range out.Validity.Findings {
		if why == "" && f.Level == record.Red {
			why = f.Text
		}
	}
	return nil, nil, 0, fmt.Errorf("bounded.users: auto found no number of users: pilot %s: %s; write a number",
		r.Manifest.ID, why)
}

// levelTest is the test of a pilot that finds users. Its least times are the target's own: a faster pace makes no
// server work off faster what arrivals cost.
func (s *Session) levelTest(pt RunPart) *trial.LevelTest {
	w := s.Plan.Workload
	t := &trial.LevelTest{
		Ramp:   paced(w, 2*time.Second, time.Second),
		Window: paced(w, 5*time.Second, 3*time.Second),
	}
	t.LevelConfig = capacity.LevelConfig{Start: pt.Start, Max: pt.most, Budget: levelTime(w),
		Step: t.Ramp + 2*t.Window}
	return t
}

// levelTime is how long a pilot looks for the users of a workload.
func levelTime(w plan.Workload) time.Duration { return paced(w, time.Minute, time.Minute) }

// paced is a wait at the pace of the users, in whole seconds.
func paced(w plan.Workload, d, least time.Duration) time.Duration {
	return max(w.Wait(d).Round(time.Second), least)
}

// cpuUsed returns the reading of the CPU times of a system's roles. Those on the cores of the
// target share them, so they are one role; others on the host are no part of it.
func (s *Session) cpuUsed(sys *deploy.System, arm string, sig *signals) func() map[string][2]float64 {
	cores := float64(len(s.coresOf(sys)))
	if c := s.Plan.Compare; c != nil {
		if a, _ := c.Arm(arm); a.Deployment != nil && a.Deployment.CPUs > 0 {
			cores *= a.Deployment.CPUs
		}
	}
	roles := s.seenRoles(sys)
	return func() map[string][2]float64 {
		out := map[string][2]float64{}
		for _, role := range roles {
			if busy, ok := sig.processes(role); ok && cores > 0 {
				passed := (sig.clock.Now() - sig.began).Seconds()
				out["target"] = [2]float64{out["target"][0] + busy, passed * cores}
			} else if busy, total, err := sig.Busy(role); err == nil && cores == 0 {
				out[role] = [2]float64{busy, total}
			}
		}
		return out
	}
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

// visible returns an error if nothing can show the CPU of an arm's target.
func (s *Session) visible(arm string) error {
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
	if err == nil && len(reachedHere(t.URL)) == 0 {
		err = plan.Usagef("bounded.users: auto needs the CPU of the target, which is elsewhere; " +
			"write a number, or add a probe of kind agent on its host, or metrics of it")
	}
	return err
}
