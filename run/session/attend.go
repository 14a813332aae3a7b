package session

import (
	"context"
	"strings"
	"time"

	"plimsoll/internal/heaplimit"
	"plimsoll/load/engine/calibration"
	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/record/store"
	"plimsoll/run/rating"
	"plimsoll/run/users"
	"plimsoll/target/lab"
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
		host, err := probe.NewAgentHost(lab.RunningProgram)
		if err != nil {
			return nil, nil, err
		}
		return host.Sample, host.Close, nil
	}
	return a.Attend(ctx)
}

// BuildAgent makes an agent's engine, see [fleet.Build]. Its memory is kept until ctx ends.
func (pr *Program) BuildAgent(ctx context.Context, st fleet.Start, epoch time.Time,
	tell func(int, error)) (*fleet.Agent, error) {
	b := users.Builder{Behavior: pr.Dialects.Behaviors().New, Secrets: pr.Secrets}
	agent, err := b.Build(ctx, st, epoch, tell)
	if err == nil {
		context.AfterFunc(ctx, heaplimit.Keep())
	}
	return agent, err
}

// ratingOf returns the rating of this host for coordinators, with all cores that this process may
// use; nil if it has none.
func (pr *Program) ratingOf(ctx context.Context, root string, calibrate bool,
	progress *Reporter) *join.Rating {
	r, known, err := rating.Kept(root)
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
	return rating.OfHost(r)
}

// rate makes sure that the session has a rating, if it may take the time. A rating that fails is
// reported and does not prevent a run: the gate headroom then has no reading.
func (s *Session) rate(ctx context.Context, allowed bool) {
	if !allowed {
		if r, known, err := rating.Kept(s.Store.Root()); err == nil && known {
			s.rating = &r
		}
		return
	}
	r, known, err := s.Calibrated(ctx, false, 0)
	if err != nil {
		s.Progress.Say("no rating of the generator: %v", err)
		return
	}
	if !known {
		for line := range strings.Lines(rating.Describe(r)) { // a line of the progress is one line
			s.Progress.Say("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	s.rating = &r
}

// Calibrated returns the rating of this host with the session's cores: a kept one unless it is
// forced, or a new one, which takes length.
func (s *Session) Calibrated(ctx context.Context, force bool, length time.Duration) (
	r calibration.Result, known bool, err error,
) {
	if !force {
		if r, known, err = rating.Kept(s.Store.Root()); known || err != nil {
			return r, known, err
		}
	}
	r, err = rating.Rater{
		Root: s.Store.Root(), Version: s.Version, Null: s.null(), CPUs: s.generator,
		Behavior: s.Dialects.Behaviors()[s.Rated](), Timeout: opTimeout, Doing: s.Progress.Doing,
	}.Measure(ctx, length)
	return r, false, err
}

// null returns the null server, on the target's cores.
func (s *Session) null() rating.Null {
	return rating.Null{Verb: s.Program.Null, CPUs: s.targets}
}
