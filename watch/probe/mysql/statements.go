package mysql

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"plimsoll/watch/query"
)

// enable is the line that turns the counting of statements on.
const enable = "performance_schema = ON and performance-schema-consumer-events-statements-current = " +
	"ON in my.cnf, and a restart; " +
	"GRANT SELECT ON performance_schema.* to the probe's user"

// DigestCounters are the digests of performance_schema for the DSN's database, from one reading to the
// next. They are not safe for concurrent use.
type DigestCounters struct {
	p       *StatusProbe // for its connection
	started float64      // of the server, in seconds
	before  map[string]query.Figures
	mariaDB bool
}

// NewStatements makes the counters of a server. dsn is as for [New]. The caller calls Close.
func NewStatements(dsn string) (*DigestCounters, error) {
	p, err := newPatient(dsn, time.Minute, nil) // of which a duet pauses most
	if err != nil {
		return nil, err
	}
	return &DigestCounters{p: p}, nil
}

// Close closes the connection.
func (s *DigestCounters) Close() error { return s.p.Close() }

// Begin takes the first reading. Errors of this and the other methods wrap a [query.MissingError].
func (s *DigestCounters) Begin(ctx context.Context) error {
	if err := s.p.settings(ctx); err != nil {
		return missing(err)
	}
	s.mariaDB = strings.HasPrefix(s.p.Server(), "MariaDB")
	var on bool
	err := s.p.db.QueryRowContext(ctx, "SELECT @@global.performance_schema").Scan(&on)
	if err == nil && !on {
		return &query.MissingError{Why: query.Off, Remedy: enable}
	}
	if err == nil {
		s.started, err = s.uptime(ctx)
	}
	if err == nil {
		s.before, err = s.figures(ctx)
	}
	return missing(err)
}

// End returns the statements since Begin, at most a number of them. source has a sample of each,
// with constants, where the server keeps one.
func (s *DigestCounters) End(ctx context.Context, most int) (r query.Census, source map[string]string,
	err error) {
	started, err := s.uptime(ctx)
	if err != nil {
		return r, nil, missing(err)
	}
	if math.Abs(started-s.started) > 5 { // it is known to the second
		return r, nil, &query.MissingError{Why: query.Reset}
	}
	now, err := s.figures(ctx)
	if err != nil {
		return r, nil, missing(err)
	}
	grown := map[string]query.Figures{} // the prepared statements of one text are one
	for key, f := range query.Growth(s.before, now) {
		id, _, _ := strings.Cut(key, " ")
		f.Add(grown[id])
		grown[id] = f
	}
	texts, samples, err := s.texts(ctx, query.Longest(grown, 2*most))
	if err != nil {
		return r, nil, missing(err)
	}
	r, source = query.Gather(query.Count(grown, texts, true), most)
	r.Server = s.p.Server()
	byText := map[string]string{}
	for id, text := range texts {
		byText[text] = samples[id]
	}
	for text, of := range source {
		source[text] = byText[of]
	}
	return r, source, nil
}

// missing makes a MissingError of an error of the server.
func missing(err error) error {
	e, ok := errors.AsType[*mysqldriver.MySQLError](err)
	refused := ok && (e.Number == 1142 || e.Number == 1044)
	return query.Untold(err, plain, refused,
		"GRANT SELECT ON performance_schema.* to the probe's user")
}

// uptime returns when the server started, by its own clock.
func (s *DigestCounters) uptime(ctx context.Context) (started float64, err error) {
	var name string
	var up float64
	if err := s.p.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'uptime'").
		Scan(&name, &up); err != nil {
		return 0, err
	}
	var now float64
	err = s.p.db.QueryRowContext(ctx, "SELECT UNIX_TIMESTAMP()").Scan(&now)
	return now - up, err
}

const (
	digests = " FROM performance_schema.events_statements_summary_by_digest " +
		"WHERE schema_name = DATABASE() AND digest IS NOT NULL"
	// prepared are the statements that are not among the digests: those that clients have prepared.
	prepared = " FROM performance_schema.prepared_statements_instances p " +
		"JOIN performance_schema.threads t ON t.thread_id = p.owner_thread_id " +
		"WHERE t.processlist_db = DATABASE()"
	limit = " LIMIT 50000"
)

// figures reads the counters by digest, and of each prepared statement by the digest of its text, a
// space, and its session. MySQL counts no blocks by statement: rows examined stand for them.
func (s *DigestCounters) figures(ctx context.Context) (map[string]query.Figures, error) {
	out := map[string]query.Figures{}
	var id string
	var f query.Figures
	to := []any{&id, &f.Calls, &f.Seconds, &f.Rows, &f.Read}
	err := s.each(ctx, "SELECT digest, count_star, sum_timer_wait / 1e12, "+
		"sum_rows_sent + sum_rows_affected, sum_rows_examined"+digests+limit, nil, to,
		func() { out[id] = f })
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, "SELECT CONCAT(MD5(p.sql_text), ' ', p.owner_thread_id, ' ', p.statement_id), "+
		"p.count_execute, p.sum_timer_execute / 1e12, p.sum_rows_sent + p.sum_rows_affected, "+
		"p.sum_rows_examined"+prepared+limit, nil, to, func() { out[id] = f })
	return out, err
}

// texts reads the texts of statements, and samples with constants from a MySQL.
func (s *DigestCounters) texts(ctx context.Context, ids []string) (texts, samples map[string]string,
	err error) {
	texts, samples = map[string]string{}, map[string]string{}
	if len(ids) == 0 {
		return texts, samples, nil
	}
	var args []any
	for _, id := range ids {
		args = append(args, id)
	}
	sample := "LEFT(query_sample_text, 8192)"
	if s.mariaDB {
		sample = "''"
	}
	among := " IN (?" + strings.Repeat(",?", len(ids)-1) + ")"
	var id string
	var text, example sql.NullString
	err = s.each(ctx, "SELECT digest, LEFT(digest_text, 8192), "+sample+digests+" AND digest"+among,
		args, []any{&id, &text, &example},
		func() { texts[id], samples[id] = text.String, example.String })
	if err != nil {
		return nil, nil, err
	}
	err = s.each(ctx, "SELECT MD5(p.sql_text), MIN(LEFT(p.sql_text, 8192))"+prepared+
		" AND MD5(p.sql_text)"+among+" GROUP BY 1", args, []any{&id, &text},
		func() { texts[id] = text.String })
	return texts, samples, err
}

// each calls f after each row of a query was read.
func (s *DigestCounters) each(ctx context.Context, text string, args, to []any, f func()) error {
	rows, err := s.p.db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

// planTimeout bounds the explanation of one statement, which may wait for a lock.
const planTimeout = time.Second

// Plans sets the plans of statements, by the samples of source: those are of one call each, whose
// values the plan may depend on. Nothing is executed.
func (s *DigestCounters) Plans(ctx context.Context, of []query.Statement,
	source map[string]string) error {
	if s.mariaDB {
		return &query.MissingError{Why: query.NoSamples}
	}
	for i := range of {
		text := source[of[i].Text]
		if !query.Planned(text) || strings.HasSuffix(text, "...") { // cut off by the server
			continue
		}
		plan, err := s.explain(ctx, text)
		if _, refused := errors.AsType[*mysqldriver.MySQLError](err); err != nil && !refused {
			return missing(err)
		}
		of[i].Plan = plan
	}
	return nil
}

// explain returns the tables of a statement in the order in which they are joined.
func (s *DigestCounters) explain(ctx context.Context, sample string) (*query.PlanStep, error) {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	rows, err := s.p.db.QueryContext(ctx, "EXPLAIN "+sample)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells := make([]any, len(names))
	values := make([]sql.NullString, len(names))
	at := map[string]*sql.NullString{}
	for i, name := range names {
		cells[i] = &values[i]
		at[strings.ToLower(name)] = &values[i]
	}
	for _, want := range []string{"select_type", "table", "type", "key"} {
		if at[want] == nil {
			return nil, errors.New("the answer to EXPLAIN has another form")
		}
	}
	plan := &query.PlanStep{}
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		if plan.Kind == "" {
			plan.Kind = at["select_type"].String
		}
		plan.Children = append(plan.Children, query.PlanStep{
			Kind:     at["type"].String,
			Relation: at["table"].String,
			Index:    at["key"].String,
		})
	}
	return plan, rows.Err()
}
