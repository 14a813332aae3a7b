package session

import (
	"context"

	"plimsoll/run/audience"
	"plimsoll/run/deploy"
	"plimsoll/run/health/sources"
	"plimsoll/run/rating"
	"plimsoll/run/users"
)

// Attend is this program as an agent, until ctx ends. root is the store that may hold the rating of
// this host. With calibrate, a host without one is rated first.
func (pr *Program) Attend(
	ctx context.Context, a users.Attendance, root string, calibrate bool,
) error {
	progress := audience.NewReporter(pr.RawErr, pr.Secrets, false)
	r := pr.rater(root, rating.Null{Verb: pr.Null}, nil, progress)
	a.Version = pr.Version
	a.Secrets = pr.Secrets
	a.Say = progress.Say
	a.Rating = r.ForCoordinators(ctx, calibrate, progress.Say)
	a.Sampler = sources.HostSampler
	return a.Attend(ctx)
}

// AgentBuilder makes the engines of agents.
func (pr *Program) AgentBuilder() users.Builder {
	return users.Builder{Behavior: pr.Dialects.Behaviors().New, Secrets: pr.Secrets}
}

// rater returns the rater of this host, with the generator on some of its cores, or on all.
func (pr *Program) rater(
	root string, null rating.Null, cpus []int, progress *audience.Reporter,
) rating.Rater {
	return rating.Rater{
		Root:     root,
		Version:  pr.Version,
		Null:     null,
		CPUs:     cpus,
		Behavior: pr.Dialects.Behaviors()[pr.Rated],
		Timeout:  deploy.OpTimeout,
		Doing:    progress.Doing,
	}
}
