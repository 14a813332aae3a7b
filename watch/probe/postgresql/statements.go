package postgresql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/watch/query"
)

// own marks the statements of this program.
const own = "/* " + query.Own + " */ "

// maintenance is a database of every server, in which the view may be instead of the DSN's. It has
// the statements of all databases.
const maintenance = "postgres"

// enable is the line that turns the counting of statements on.
const enable = "shared_preload_libraries = 'pg_stat_statements' in postgresql.conf, a restart, " +
	"and CREATE EXTENSION pg_stat_statements; GRANT pg_monitor to the probe's role"

// StatementCounters are the counters of pg_stat_statements for the DSN's database, from one reading to the
// next. They are not safe for concurrent use.
type StatementCounters struct {
	conf   *pgx.ConnConfig
	since  string // of what counts; a restart or a reset changes it
	before map[string]query.Figures
}

// NewStatements makes the counters of a server. dsn is as for [New]. It connects at each call.
func NewStatements(dsn string) (*StatementCounters, error) {
	p, err := New(dsn)
	if err != nil {
		return nil, err
	}
	return &StatementCounters{conf: p.conf}, nil
}

// Begin takes the first reading. Errors of this and the other methods wrap a [query.MissingError].
func (s *StatementCounters) Begin(ctx context.Context) error {
	return s.reading(ctx, func(c *counters) (err error) {
		s.since = c.since
		s.before, err = c.figures(ctx)
		return err
	})
}

// End returns the statements since Begin, at most a number of them. source is as for
// [query.Gather].
func (s *StatementCounters) End(ctx context.Context, most int) (r query.Census, source map[string]string,
	err error) {
	err = s.reading(ctx, func(c *counters) error {
		if c.since != s.since {
			return &query.MissingError{Why: query.Reset}
		}
		now, err := c.figures(ctx)
		if err != nil {
			return err
		}
		grown := query.Growth(s.before, now)
		texts, err := c.texts(ctx, query.Longest(grown, 2*most))
		if err != nil {
			return err
		}
		r, source = query.Gather(query.Count(grown, texts, false), most)
		r.Server = c.server
		return nil
	})
	return r, source, err
}

// counters is a connection to a database that has the view.
type counters struct {
	conn   *pgx.Conn
	schema string // of the view
	of     string // the database that is counted
	since  string
	server string
}

// reading calls do with the counters, in the DSN's database or else in the one of maintenance.
func (s *StatementCounters) reading(ctx context.Context, do func(*counters) error) error {
	off := &query.MissingError{Why: query.Off, Remedy: enable}
	for _, database := range []string{s.conf.Database, maintenance} {
		err := s.connected(ctx, database, func(conn *pgx.Conn) error {
			c := counters{conn: conn, of: s.conf.Database}
			if err := c.find(ctx); err != nil || c.schema == "" {
				return errors.Join(off, err)
			}
			return do(&c)
		})
		if !errors.Is(err, off) {
			return err
		}
	}
	return off
}

// connected calls do with a connection to a database, whose statements are not counted where the
// role may choose that.
func (s *StatementCounters) connected(ctx context.Context, database string,
	do func(*pgx.Conn) error) error {
	conf := s.conf.Copy()
	conf.Database = database
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err == nil {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			_ = conn.Close(ctx)
		}()
		uncounted(ctx, conn)
		_, err = conn.Exec(ctx, own+"SET statement_timeout = '1min'") // of which a duet pauses most
	}
	if err == nil {
		err = do(conn)
	}
	return missing(err)
}

// uncounted ends the counting of a session's statements, which a superuser alone may do.
func uncounted(ctx context.Context, conn *pgx.Conn) {
	_, _ = conn.Exec(ctx, own+"SET pg_stat_statements.track = 'none'") // else they are marked
}

// missing makes a MissingError of an error of the server.
func missing(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	refused := ok && e.Code == "42501"
	return query.Untold(err, plain, refused, "GRANT pg_monitor to the probe's role")
}

// find finds the view, and what it counts since when.
func (c *counters) find(ctx context.Context) error {
	var version int
	err := c.conn.QueryRow(ctx, own+`SELECT current_setting('server_version_num')::int,
		pg_postmaster_start_time()::text, coalesce((SELECT quote_ident(n.nspname) FROM pg_extension e
		JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'), '')`).
		Scan(&version, &c.since, &c.schema)
	if err != nil || c.schema == "" {
		return err
	}
	c.server = fmt.Sprintf("PostgreSQL %d.%d", version/10000, version%10000)
	// The extension may be there without the library that counts.
	check := "SELECT count(*)::text FROM " + c.schema + ".pg_stat_statements(false) WHERE false"
	if version >= 140000 {
		check = "SELECT stats_reset::text FROM " + c.schema + ".pg_stat_statements_info"
	}
	var reset string
	err = c.conn.QueryRow(ctx, own+check).Scan(&reset)
	c.since += " " + reset
	return err
}

// figures reads the counters by the identifier of the statement.
func (c *counters) figures(ctx context.Context) (map[string]query.Figures, error) {
	rows, err := c.conn.Query(ctx, own+`SELECT queryid::text, sum(calls)::float8,
		sum(total_exec_time)::float8 / 1000, sum(rows)::float8, sum(shared_blks_hit)::float8,
		sum(shared_blks_read)::float8 FROM `+c.schema+`.pg_stat_statements(false)
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) AND queryid IS NOT NULL
		GROUP BY 1`, c.of)
	if err != nil {
		return nil, err
	}
	out := map[string]query.Figures{}
	var id string
	var f query.Figures
	_, err = pgx.ForEachRow(rows, []any{&id, &f.Calls, &f.Seconds, &f.Rows, &f.Hit, &f.Read},
		func() error { out[id] = f; return nil })
	return out, err
}

// texts reads the texts of some statements.
func (c *counters) texts(ctx context.Context, ids []string) (map[string]string, error) {
	rows, err := c.conn.Query(ctx, own+"SELECT DISTINCT ON (1) queryid::text, left(query, 8192) FROM "+
		c.schema+".pg_stat_statements(true) WHERE queryid::text = ANY($1) "+
		"AND dbid = (SELECT oid FROM pg_database WHERE datname = $2)", ids, c.of)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	var id, text string
	_, err = pgx.ForEachRow(rows, []any{&id, &text}, func() error { out[id] = text; return nil })
	return out, err
}

// mostText is how many characters of a statement are read.
const mostText = 8192

// planTimeout bounds the explanation of one statement, which may wait for a lock.
const planTimeout = time.Second

// Plans sets the plans of statements, by the texts of source. The plan is the generic one, which
// does not depend on the values of parameters; nothing is executed. A statement that cannot be
// planned without its values, or not by the role of the DSN, has none.
func (s *StatementCounters) Plans(ctx context.Context, of []query.Statement,
	source map[string]string) error {
	return s.connected(ctx, s.conf.Database, func(conn *pgx.Conn) error {
		for _, set := range []string{
			"plan_cache_mode = force_generic_plan",
			fmt.Sprintf("statement_timeout = %d", planTimeout.Milliseconds()),
			"default_transaction_read_only = on",
		} {
			if _, err := conn.Exec(ctx, own+"SET "+set); err != nil {
				return err
			}
		}
		for i := range of {
			text := source[of[i].Text]
			if !query.Planned(text) || len(text) >= mostText { // cut off
				continue
			}
			plan, err := explain(ctx, conn, text)
			if err != nil && (conn.IsClosed() || ctx.Err() != nil) {
				return err
			}
			of[i].Plan = plan
		}
		return nil
	})
}

// explain returns the shape of a statement's generic plan.
func explain(ctx context.Context, conn *pgx.Conn, text string) (*query.PlanStep, error) {
	const name = "plimsoll_explained"
	prepared, err := conn.Prepare(ctx, name, text) // one statement only, or an error
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Deallocate(context.WithoutCancel(ctx), name) }()
	explain := own + "EXPLAIN (FORMAT JSON) EXECUTE " + name
	if n := len(prepared.ParamOIDs); n > 0 {
		explain += "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	var answer []byte
	err = conn.QueryRow(ctx, explain, pgx.QueryExecModeSimpleProtocol).Scan(&answer)
	if err != nil {
		return nil, err
	}
	return query.ReadPlan(answer)
}
