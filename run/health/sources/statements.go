package sources

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/plan"
	"plimsoll/watch/probe/mysql"
	"plimsoll/watch/probe/postgresql"
	"plimsoll/watch/query"
)

// Counters are a database's counters of statements. Begin and End read them, each over a time; End
// returns the statements between, at most a number of them. Plans sets the plans of some, by the
// texts that End returned as source, and executes none. Errors wrap a [query.MissingError].
type Counters interface {
	Begin(ctx context.Context) error
	End(ctx context.Context, most int) (r query.Reading, source map[string]string, err error)
	Plans(ctx context.Context, of []query.Statement, source map[string]string) error
}

// CountersOf returns the counters of the database of a subject: its own, or else the first that is
// a probe of the plan with the role db. A database of others is not paused in the turns of other
// runs: inTurns is true in a duet. The caller calls end.
func (o *Opener) CountersOf(x Subject, inTurns bool) (c Counters, end func(), err error) {
	engine, dsn := x.Engine, x.dsn()
	if dsn == "" {
		kinds := map[string]string{
			plan.ProbePostgreSQL: plan.PostgreSQL,
			plan.ProbeMySQL:      plan.MySQL,
		}
		for _, p := range x.Probes {
			if kinds[p.Kind] == "" || p.Role != "db" {
				continue
			}
			if inTurns {
				return nil, nil, &query.MissingError{Why: query.Shared}
			}
			if dsn, err = plan.Expand(p.DSN, o.Lookup); err != nil {
				return nil, nil, err
			}
			o.Hide(dsn)
			engine = kinds[p.Kind]
			break
		}
	}
	switch {
	case dsn == "":
		return nil, nil, &query.MissingError{
			Why:    query.NoDatabase,
			Remedy: "probes: [{kind: postgresql, role: db, dsn: ...}] in the plan",
		}
	case engine == plan.MySQL:
		c, err := mysql.NewStatements(dsn)
		if err != nil {
			return nil, nil, err
		}
		return c, func() { _ = c.Close() }, nil
	}
	c, err = postgresql.NewStatements(dsn)
	return c, func() {}, err
}

// NoStatements returns the event text of why a run has no statements, with the line that would
// change it; empty where there is nothing to do about it.
func NoStatements(err error) string {
	var m *query.MissingError
	if !errors.As(err, &m) || m.Remedy == "" {
		return ""
	}
	return fmt.Sprintf("statements of the database: %s; to have them: %s", m.Why, m.Remedy)
}
