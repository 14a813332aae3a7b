package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
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

// counters are a database's counters of statements. Begin and End read them, each over a time; End
// returns the statements between, at most a number of them. Plans sets the plans of some, by the
// texts that End returned as source, and executes none. Errors wrap a [query.MissingError].
type counters interface {
	Begin(ctx context.Context) error
	End(ctx context.Context, most int) (c query.Census, source map[string]string, err error)
	Plans(ctx context.Context, of []query.Statement, source map[string]string) error
}

// Statements are those of a database in the measured phase of a run. The counters are read beside
// the trial, which does not wait for them.
type Statements struct {
	counters counters
	end      func()
	clock    *clock.Clock
	in       bool          // the phase
	done     chan struct{} // closed after the last reading; nil before the first
	begun    time.Duration
	failed   error
	got      query.Census
	source   map[string]string
}

// Statements returns the statements of a subject's own database, or else of the first that is a
// probe of the plan with the role db. A database of others works on between the turns of a duet, so
// that its counters are of no single run. The caller calls Close.
func (o *Opener) Statements(x *deploy.System, run *clock.Clock, inTurns bool) *Statements {
	s := &Statements{clock: run, end: func() {}}
	engine, dsn, err := o.counted(x, inTurns)
	switch {
	case err != nil:
		s.failed = err
	case engine == plan.MySQL:
		c, err := mysql.NewStatements(dsn)
		if s.failed = err; err == nil {
			s.counters, s.end = c, func() { _ = c.Close() }
		}
	default:
		s.counters, s.failed = postgresql.NewStatements(dsn)
	}
	return s
}

// counted returns the engine and the address of the database whose statements are counted.
func (o *Opener) counted(x *deploy.System, inTurns bool) (engine, dsn string, err error) {
	if dsn = x.DSN(); dsn != "" {
		return engineOf(x), dsn, nil
	}
	engines := map[string]string{
		plan.ProbePostgreSQL: plan.PostgreSQL,
		plan.ProbeMySQL:      plan.MySQL,
	}
	for _, p := range x.Probes {
		if engines[p.Kind] == "" || p.Role != "db" {
			continue
		}
		if inTurns {
			return "", "", &query.MissingError{Why: query.Shared}
		}
		dsn, err = plan.Expand(p.DSN, o.Lookup)
		o.Hide(dsn)
		return engines[p.Kind], dsn, err
	}
	return "", "", &query.MissingError{
		Why:    query.NoDatabase,
		Remedy: "probes: [{kind: postgresql, role: db, dsn: \"${ENV:DSN}\"}] in the plan",
	}
}

// Phase begins or ends the count with the measured phase of a trial, and returns at once. It is
// called with the name of each phase when it begins, and with "" when it has ended.
func (s *Statements) Phase(ctx context.Context, name string) {
	begins := name == "measure"
	if begins || s.in {
		before, done := s.done, make(chan struct{})
		s.done = done
		go func() {
			defer close(done)
			if before != nil {
				<-before
			}
			s.read(ctx, begins)
		}()
	}
	s.in = begins
}

// read takes one of the two readings.
func (s *Statements) read(ctx context.Context, begins bool) {
	if s.failed != nil {
		return
	}
	ctx, cancel := s.clock.WithTimeout(ctx, statementsTime)
	defer cancel()
	now := s.clock.Now()
	if begins {
		s.begun, s.failed = now, s.counters.Begin(ctx)
		return
	}
	s.got, s.source, s.failed = s.counters.End(ctx, record.MostStatements)
	s.got.Seconds = (now - s.begun).Seconds()
}

// Wait waits for the readings.
func (s *Statements) Wait() {
	if s.done != nil {
		<-s.done
	}
}

// Write takes the plans and stores the statements of a run whose trial has ended, or why there are
// none. note is the remedy for that, for the events of the run; empty if there is nothing to do.
func (s *Statements) Write(ctx context.Context, w *record.Writer) (note string, err error) {
	var m *query.MissingError
	if s.failed == nil && s.source != nil {
		ctx, cancel := context.WithTimeout(ctx, plansTime)
		defer cancel()
		of := s.got.Statements
		err := s.counters.Plans(ctx, of[:min(len(of), mostPlans)], s.source)
		if errors.As(err, &m) {
			s.got.Unplanned = m.Why
		}
		return "", w.Statements(s.got)
	}
	none := query.Census{Statements: []query.Statement{}, Missing: query.Unanswered}
	if errors.As(s.failed, &m) {
		none.Missing, none.Remedy = m.Why, m.Remedy
	}
	if none.Remedy != "" {
		note = fmt.Sprintf("no statements of the database (%s); to have them: %s", m.Why, m.Remedy)
	}
	return note, w.Statements(none)
}

// Close closes the connections.
func (s *Statements) Close() error {
	s.end()
	return nil
}
