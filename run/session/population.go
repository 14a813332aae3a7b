package session

import (
	"context"
	"fmt"

	"plimsoll/run/trial"
	"plimsoll/run/users"
)

// startUsers starts the processes of the users; no user acts yet.
func startUsers(ctx context.Context, r *run) (err error) {
	env := r.sys.Env()
	env.Clock = r.clock
	env.Panicked = r.panics.Note
	env.Registry = r.spec.Registry
	env.Log = func(format string, args ...any) {
		r.said(fmt.Sprintf(format, args...))
	}
	r.population, err = users.Start(ctx, users.Config{
		Layout:   r.lay,
		Mix:      r.sys.Mix,
		Arrivals: users.Arrivals(r.Plan, r.sys.Mix),
		Env:      env,
		Clock:    r.clock,
		Crew:     r.Crew,
		Budget:   r.budget,
		Cores:    r.Cores.Generator,
		Tick:     trial.Tick(r.spec.Window),
		Say:      r.Progress.Say,
		Note:     func(text string) error { return r.event("agent", text) },
		Failed:   r.failed,
	})
	if err != nil {
		return err
	}
	r.closing(func() error { r.population.End(); return nil })
	env.Registry = r.population.Registry() // the audit's operations are the run's, too
	r.spec.Registry = env.Registry
	r.spec.Driver = r.population.Driver
	r.spec.Conduct = users.Conduct(r.sys.Mix, env)
	r.spec.Thrown = r.exceptions.First
	r.follow()
	return nil
}

// finishUsers lets the behaviors do what is left to do at the target. That it failed is an event of
// the run, and does not make it wrong.
func finishUsers(ctx context.Context, r *run) error {
	env := r.sys.Env()
	env.Panicked = r.panics.Note
	env.Log = func(format string, args ...any) {
		_ = r.event("error", fmt.Sprintf(format, args...))
	}
	if err := users.Finish(ctx, r.sys.Mix, env); err != nil {
		return r.event("error", err.Error())
	}
	return nil
}

// failed notes an error of a user or an agent.
func (r *run) failed(who string, err error) {
	if !r.panics.Is(who, err) {
		r.said(who + ": " + err.Error())
	}
}

// said records a line of the users' log.
func (r *run) said(line string) {
	r.exceptions.Note(line)
	_ = r.event("error", line)
}

// follow watches the processes that have the users, if they are not this one.
func (r *run) follow() {
	remote := r.population.Remote()
	if remote == nil {
		r.aud.Follow(nil, r.runner.Last)
		return
	}
	r.runner.Add(remote)
	r.aud.Follow(remote, r.runner.Last)
	sampled := remote.Sampled
	if r.population.Labeled() {
		sampled = nil
	}
	r.gates.Lead(remote.Clocks, sampled)
}

// findInPopulation finds what was wrong with hosts that had users.
func findInPopulation(_ context.Context, r *run) error {
	r.found(r.population.Findings(r.out.Phases)...)
	return nil
}
