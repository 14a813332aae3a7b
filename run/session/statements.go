package session

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"plimsoll/record"
	"plimsoll/run/health/sources"
	"plimsoll/watch/query"
)

const (
	// statementsTime bounds one reading of the counters, by the run's clock, and plansTime all
	// plans.
	statementsTime = 5 * time.Second
	plansTime      = 10 * time.Second
	// mostPlans is how many statements have their plans taken.
	mostPlans = 20
)

// statements are those of the database in the measured phase of a run. The readings are taken
// beside the trial, which does not wait for them.
type statements struct {
	sources.Counters
	reads  sync.WaitGroup
	begun  time.Duration // when the phase began, on the run's clock
	failed error
	// Both are set by the reading at the end of the phase.
	got    query.Reading
	source map[string]string
}

// countStatements has the database's counters of statements read at both ends of the measured
// phase. A pilot has none.
func countStatements(ctx context.Context, r *run) error {
	if r.Pilot || r.spec.Bounded == nil {
		return nil
	}
	c, end, err := r.opener().CountersOf(sources.Of(r.sys), r.Place != nil)
	r.statements = &statements{Counters: c, failed: err}
	if err != nil {
		return nil
	}
	r.closing(func() error { end(); return nil })
	before := r.spec.Phase
	measuring := false
	r.spec.Phase = func(name string) {
		if before != nil {
			before(name)
		}
		begins := name == "measure"
		if begins || measuring {
			r.statements.reads.Go(func() { r.readStatements(ctx, begins) })
		}
		measuring = begins
	}
	return nil
}

// readStatements takes one of the two readings.
func (r *run) readStatements(ctx context.Context, begins bool) {
	s := r.statements
	ctx, cancel := r.clock.WithTimeout(ctx, statementsTime)
	defer cancel()
	if begins {
		s.failed = s.Begin(ctx)
		s.begun = r.clock.Now()
		return
	}
	if s.failed != nil {
		return
	}
	now := r.clock.Now()
	s.got, s.source, s.failed = s.End(ctx, record.MostStatements)
	s.got.Seconds = (now - s.begun).Seconds()
}

// endStatements waits for the readings, while the run still has its turns.
func endStatements(_ context.Context, r *run) error {
	if r.statements != nil {
		r.statements.reads.Wait()
	}
	return nil
}

// writeStatements takes the plans and stores the statements. A run without them says why.
func writeStatements(ctx context.Context, r *run) error {
	s := r.statements
	if s == nil || ctx.Err() != nil {
		return nil
	}
	var missing *query.MissingError
	if s.failed == nil && s.source != nil {
		ctx, cancel := context.WithTimeout(ctx, plansTime)
		defer cancel()
		of := s.got.Statements
		err := s.Plans(ctx, of[:min(len(of), mostPlans)], s.source)
		if errors.As(err, &missing) {
			s.got.Unplanned = missing.Why
		}
		return r.w.Statements(s.got)
	}
	s.got = query.Reading{Statements: []query.Statement{}, Missing: query.Unanswered}
	if errors.As(s.failed, &missing) {
		s.got.Missing, s.got.Remedy = missing.Why, missing.Remedy
	}
	var err error
	if text := sources.NoStatements(s.failed); text != "" {
		err = r.event("note", text)
	}
	return cmp.Or(err, r.w.Statements(s.got))
}
