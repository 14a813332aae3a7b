package session

import (
	"context"
	"math"
	"sync"

	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/health/sources"
)

// openSources opens the sources of the run's series.
func openSources(_ context.Context, r *run) error {
	requests := ""
	if d := r.Dialects.OfPlan(r.Plan); d != nil {
		requests = d.Metrics.Requests
	}
	r.shares = health.SharesOf(r.sys, requests, r.clock)
	runner, end, err := r.opener().Run(r.sys, sources.Scope{
		DB:    r.db,
		Clock: r.clock,
		Turns: r.turns,
		Cores: r.Cores.ByRole(r.sys),
		Watch: r.shares.Watch,
	})
	if err != nil {
		return err
	}
	r.runner = runner
	r.closing(func() error { end(); return nil })
	return nil
}

// findUnequalShares finds servers of the target that had other shares of the requests than the
// others.
func findUnequalShares(_ context.Context, r *run) error {
	r.found(r.shares.Finding(r.out.Validity.Gates)...)
	return nil
}

// readHealth has the gates read during the trial.
func readHealth(_ context.Context, r *run) (err error) {
	c := hostHealth(r.Cores, r.sys)
	c.Last = r.runner.Last
	c.Clock = r.clock
	c.Shares = r.shares
	c.Steal = func() []string { return sources.AgentSteal(r.runner) }
	c.Headroom.Share, c.Headroom.Why = r.lay.Used(r.rating, r.ratedPace())
	c.Addresses = len(r.lay.Sources)
	if r.lay.Apart() {
		c.Agents = r.lay.Processes
	}
	for _, a := range r.lay.Members {
		c.AgentCores = append(c.AgentCores, a.Cores)
	}
	r.gates = health.New(c)
	cores := r.Cores.ByRole(r.sys)
	if r.signals, err = health.NewSignals(cores, r.gates, r.turns, r.db, r.runner); err != nil {
		return err
	}
	r.closing(func() error { r.signals.Close(); return nil })
	r.spec.Signals = r.signals
	r.spec.CPU = r.signals.Busyness(len(cores["target"]))
	return nil
}

// hostHealth describes where the generator and a system run.
func hostHealth(cores deploy.HostCores, sys *deploy.System) health.Config {
	c := health.Config{
		Generator:   cores.Generator,
		SharedHost:  cores.Shared(sys),
		Device:      sys.Device,
		TargetCores: cores.Of(sys),
	}
	c.SharedCores = c.SharedHost && sys.Local != nil && !sys.Local.Apart()
	if len(c.TargetCores) > 0 && cores.OwnHost { // of others, not all processes are known
		c.Wired = sys.Wired()
		for _, r := range sys.Roles() {
			c.TargetRoles = append(c.TargetRoles, r.Name)
		}
	}
	return c
}

// ratedPace returns the pace at which a host's rating counts users of the plan. It is infinite for
// users of another kind than those of the rating: only operations compare.
func (r *run) ratedPace() float64 {
	if r.Plan.Workload.Behavior != r.Rated {
		return math.Inf(1)
	}
	return r.Plan.Workload.Pace
}

// sampleSources reads the sources until the run ends.
func sampleSources(ctx context.Context, r *run) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.runner.Run(ctx) }()
	r.stopSampling = sync.OnceValue(func() error { cancel(); return <-done })
	r.closing(r.stopSampling)
	return nil
}
