package rig

import (
	"context"
	"time"

	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/record/store"
	"plimsoll/run/users"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// Attend is this program as an agent, until ctx ends. store is the directory that may hold the
// rating of this host. With calibrate, a host without one is rated first.
func (pr *Program) Attend(ctx context.Context, a users.Attendance, store string,
	calibrate bool) error {
	progress := NewReporter(pr.RawErr, pr.Secrets, false)
	a.Version, a.Secrets, a.Say = pr.Version, pr.Secrets, progress.Say
	a.Rating = func() *join.Rating { return pr.ratingOf(ctx, store, calibrate, progress) }
	a.Sampler = func() (func(context.Context, time.Time) ([]series.Sample, error), func(), error) {
		host, err := watchHost()
		if err != nil {
			return nil, nil, err
		}
		return host.sample, host.close, nil
	}
	return a.Attend(ctx)
}

// BuildAgent makes an agent's engine, see [fleet.Build]. Its memory is kept until ctx ends.
func (pr *Program) BuildAgent(ctx context.Context, st fleet.Start, epoch time.Time,
	tell func(int, error)) (*fleet.Agent, error) {
	b := users.Builder{Behavior: pr.Dialects.Behaviors().New, Secrets: pr.Secrets}
	agent, err := b.Build(ctx, st, epoch, tell)
	if err == nil {
		context.AfterFunc(ctx, memory.keep())
	}
	return agent, err
}

// ratingOf returns the rating of this host for coordinators, with all cores that this process may
// use; nil if it has none.
func (pr *Program) ratingOf(ctx context.Context, root string, calibrate bool,
	progress *Reporter) *join.Rating {
	host := probe.Fingerprint()
	r, known, err := keptRating(root, ratedAs(host))
	if err == nil && !known && calibrate {
		s := &Session{Program: pr, Progress: progress}
		if s.Store, err = store.Open(root); err == nil {
			s.rate(ctx, true)
		}
		if s.rating != nil {
			r, known = *s.rating, true
		}
	}
	if err != nil {
		progress.Say("no rating of this host: %v", err)
	}
	if !known {
		return nil
	}
	most, _ := r.InProcesses(memoryOfUsers(host))
	return &join.Rating{Users: most, OpsPerSecond: r.PacedOps, OpsPerUserSecond: r.OpsPerUserSecond,
		Date: r.Date}
}
