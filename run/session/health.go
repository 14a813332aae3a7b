package session

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"plimsoll/load/clock"
	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/health/sources"
	"plimsoll/run/users"
	"plimsoll/target/external"
	"plimsoll/watch/probe"
)

// coresByRole returns the cores of the roles that have cores of their own on this host.
func (s *Session) coresByRole(sys *deploy.System) map[string][]int {
	cores := map[string][]int{}
	if len(s.generator) > 0 {
		cores["generator"] = s.generator
	}
	if targets := s.coresOf(sys); len(targets) > 0 { // a target elsewhere has none here
		cores["target"] = targets
	}
	return cores
}

// healthOf describes a run of a system whose health is read.
func (s *Session) healthOf(sys *deploy.System, lay users.Layout, shares *health.Shares, runner *probe.Runner,
	run *clock.Clock) health.Config {
	c := s.hostHealth(sys)
	c.Last, c.Clock = runner.Last, run
	c.Shares = shares
	c.Steal = func() []string { return sources.AgentSteal(runner) }
	c.Headroom.Share, c.Headroom.Why = lay.Used(s.rating, s.ratedPace())
	c.Addresses = len(lay.Sources)
	if lay.Apart() {
		c.Agents = lay.Processes
	}
	for _, a := range lay.Members {
		c.AgentCores = append(c.AgentCores, a.Cores)
	}
	return c
}

// hostHealth describes where generator and target run.
func (s *Session) hostHealth(sys *deploy.System) health.Config {
	c := health.Config{
		Generator:   s.generator,
		SharedHost:  s.onOneHost(sys),
		Device:      sys.Device,
		TargetCores: s.coresOf(sys),
	}
	c.SharedCores = c.SharedHost && sys.Local != nil && !sys.Local.Apart()
	if len(c.TargetCores) > 0 && s.Plan.Target.OwnHost() { // of others, not all processes are known
		c.Wired = sys.Wired()
		for _, r := range sys.Roles() {
			c.TargetRoles = append(c.TargetRoles, r.Name)
		}
	}
	return c
}

// sharesOf begins to compare the requests of the servers of a system.
func (s *Session) sharesOf(sys *deploy.System, run *clock.Clock) *health.Shares {
	servers := health.Servers{
		Addresses: len(sys.Deployment.URLs()),
		Instances: sys.Deployment.Describe().Instances,
		Pages:     sys.Deployment.MetricsURLs(),
	}
	if d := s.Dialects.OfPlan(s.Plan); d != nil {
		servers.Requests = d.Metrics.Requests
	}
	for _, part := range sys.Mix {
		servers.Behaviors = append(servers.Behaviors, part.Share)
	}
	return health.NewShares(servers, run)
}

// opener opens the sources of the session's runs.
func (s *Session) opener() *sources.Opener {
	o := &sources.Opener{Plan: s.Plan, Lookup: s.Lookup, Hide: s.Hide, Watchers: s.watchers}
	for _, d := range s.Dialects {
		if d.Metrics.Prefix != "" {
			o.Prefixes = append(o.Prefixes, d.Metrics.Prefix)
		}
	}
	return o
}

// subject describes a system for its sources.
func (s *Session) subject(sys *deploy.System) sources.Subject {
	return sources.Subject{
		Deployment: sys.Deployment,
		Engine:     sys.Deployment.Describe().Engine,
		Device:     sys.Device,
		Roles:      sys.Roles(),
		Probes:     sys.Probes,
		Metrics:    sys.Metrics,
		Stacks:     sys.Stacks,
	}
}

// seenFact is the fact of a description that names the servers that probes found.
const seenFact = "seen"

// survey finds the network device towards a deployed target and tries each of the plan's probes
// once.
func (s *Session) survey(ctx context.Context, sys *deploy.System) error {
	u, err := url.Parse(sys.Deployment.URL())
	if err != nil {
		return errors.New("the target's URL cannot be parsed")
	}
	if err := s.watchers.Await(ctx, s.Plan, sys.Probes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sources.Patience)
	defer cancel()
	if sys.Device, err = probe.RouteDevice(ctx, u.Hostname()); err != nil {
		return err
	}
	seen, err := s.opener().Survey(ctx, s.subject(sys), s.Secrets)
	if err != nil {
		return err
	}
	if site, ok := sys.Deployment.(*external.Site); ok {
		site.Note(seenFact, seen)
	}
	return nil
}

// quiet waits until no other process uses the cores of generator and target, for most at the
// longest.
func (s *Session) quiet(ctx context.Context, most time.Duration) error {
	cores := slices.Concat(s.generator, s.targets)
	if len(cores) == 0 { // the target is elsewhere, and its host is not seen from here
		return nil
	}
	s.Progress.Doing("waiting for a quiet host", most)
	return health.WaitQuiet(ctx, most, cores)
}
