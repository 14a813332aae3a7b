package postgresql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

const (
	closeTimeout = 200 * time.Millisecond // for a goodbye
	oldest       = 130000                 // server_version_num
)

// A StatProbe samples one server. It is a probe.Probe.
type StatProbe struct {
	conf *pgx.ConnConfig
	name string

	conn     *pgx.Conn
	server   string
	rows     []row
	maxConns float64
	reserved float64

	base     []series.Label
	database []series.Label
	counts   map[counted]*count // of sessions
	values   []pgtype.Float8
	scan     []any
	out      series.Samples
}

// A count is that of sessions with a state or a wait.
type count struct {
	labels []series.Label
	n      float64
}

// A counted names a series of sessions by the label that is its own.
type counted struct{ metric, label, value string }

// row is a query that returns one row of numbers, one for each metric. A number that is NULL is
// left out.
type row struct {
	sql     string
	metrics []string
	labels  []series.Label
}

// New makes the probe of a server: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the keywords of
// libpq. It connects at the first sample, and again after an error. labels are added to every
// series; the value of "instance" also to the name.
func New(dsn string, labels ...series.Label) (*StatProbe, error) {
	conf, err := pgx.ParseConfig(dsn)
	if dsn == "" || err != nil {
		return nil, errors.New(
			"the DSN of PostgreSQL cannot be parsed; want postgres://USER:PASSWORD@HOST:PORT/DATABASE",
		)
	}
	conf.RuntimeParams["application_name"] = "plimsoll"
	p := &StatProbe{
		conf:   conf,
		name:   probe.NameOf("postgresql", labels),
		base:   labels,
		counts: map[counted]*count{},
	}
	p.database = p.with("datname", conf.Database)
	for _, s := range []string{"active", "idle", "idle in transaction", "idle in transaction (aborted)", "fastpath function call", "disabled"} {
		p.state(s)
	}
	for w := range strings.FieldsSeq("none Activity BufferPin Client Extension IO IPC Lock LWLock " +
		"LWLock:WALWrite Timeout") {
		p.wait(w)
	}
	return p, nil
}

func (p *StatProbe) state(name string) *count {
	return p.count(counted{"pg_stat_activity_count", "state", name})
}

func (p *StatProbe) wait(class string) *count {
	return p.count(counted{"plimsoll_pg_active_sessions", "wait_event_type", class})
}

func (p *StatProbe) count(of counted) *count {
	c := p.counts[of]
	if c == nil {
		c = &count{labels: p.with(of.label, of.value)}
		p.counts[of] = c
	}
	return c
}

// with returns the labels of every series and one more.
func (p *StatProbe) with(name, value string) []series.Label {
	return slices.Concat(p.base, probe.Labels(name, value))
}

// Name returns "postgresql" and the instance.
func (p *StatProbe) Name() string { return p.name }

// Server returns the name and version of the server that it last connected to, with the word
// standby for one that follows another: "PostgreSQL 15.18, standby". Empty before the first sample.
func (p *StatProbe) Server() string { return p.server }

// Close closes the connection.
func (p *StatProbe) Close() error {
	if p.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := p.conn.Close(ctx)
	p.conn = nil
	if err != nil {
		return plain(err)
	}
	return nil
}

// Sample queries the server; it takes one round trip, and some more when it has to connect. After
// an error nothing is returned.
func (p *StatProbe) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	p.out = p.out[:0]
	if err := p.asking(ctx, p.read); err != nil {
		return nil, err
	}
	return p.out, nil
}

// asking connects where there is no connection, and asks. An error ends the connection.
func (p *StatProbe) asking(ctx context.Context, ask func(context.Context) error) (err error) {
	what := "asking"
	if p.conn == nil {
		what = "connecting to"
		err = p.connect(ctx)
	}
	if err == nil {
		what = "asking"
		err = ask(ctx)
	}
	if err != nil {
		_ = p.Close() // the first error is more specific
		return fmt.Errorf("%s PostgreSQL: %w", what, plain(err))
	}
	return nil
}

// plain takes everything out of an error that could be a part of the DSN.
func plain(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		remedy := map[string]string{
			"28P01": "the server refuses the user or password of the DSN",
			"28000": "the server refuses the user of the DSN from here; see its pg_hba.conf",
			"3D000": "the database of the DSN does not exist",
			"53300": "the server has no connection left; raise max_connections, or leave one free for the probe",
			"57P03": "the server is starting or stopping",
			"57P01": "the server was stopped",
			"57014": "the server took more than two seconds",
			"42501": "the role of the DSN may not read the statistics; GRANT pg_monitor to it",
		}[e.Code]
		return fmt.Errorf("%s (SQLSTATE %s)", cmp.Or(remedy, "the server refuses"), e.Code)
	}
	if pgconn.Timeout(err) {
		err = context.DeadlineExceeded
	}
	return probe.ConnectionError(err)
}

// connect connects and detects the features of this server.
func (p *StatProbe) connect(ctx context.Context) (err error) {
	if p.conn, err = pgx.ConnectConfig(ctx, p.conf); err != nil {
		p.conn = nil
		return err
	}
	// The server cancels statements for which this program does not wait any more.
	if _, err = p.conn.Exec(ctx, "SET statement_timeout = 2000"); err != nil {
		return err
	}
	var version int
	var sees, follows bool
	var database string
	uncounted(ctx, p.conn)
	err = p.conn.QueryRow(ctx, own+`SELECT current_setting('server_version_num')::int, pg_has_role('pg_read_all_stats', 'USAGE'), current_database()::text,
		current_setting('max_connections')::float8, current_setting('superuser_reserved_connections')::float8,
		pg_is_in_recovery()`).
		Scan(&version, &sees, &database, &p.maxConns, &p.reserved, &follows)
	switch {
	case err != nil:
		return err
	case version < oldest:
		return probe.PlainError(
			fmt.Sprintf("version %d is too old for this probe; want 13 or later", version/10000),
		)
	case !sees:
		return probe.PlainError(
			"the role of the DSN does not see what other sessions do; GRANT pg_monitor to it",
		)
	}
	if p.server = fmt.Sprintf("PostgreSQL %d.%d", version/10000, version%10000); follows {
		p.server += ", standby"
	}
	p.database = p.with("datname", database)
	p.rows = p.offered(version)
	return nil
}

// offered returns the one-row queries of a version.
func (p *StatProbe) offered(version int) []row {
	rows := []row{
		totals("pg_stat_database WHERE datname = current_database()", "pg_stat_database_", "", p.database,
			`numbackends xact_commit xact_rollback blks_read blks_hit tup_returned
			tup_fetched tup_inserted tup_updated tup_deleted conflicts temp_files temp_bytes
			deadlocks blk_read_time blk_write_time`),
	}
	rows = append(rows, p.checkpoints(version)...)
	if version >= 140000 {
		columns := "wal_bytes=bytes wal_buffers_full=buffers_full"
		if version < 180000 {
			columns += " wal_sync=syncs"
		}
		rows = append(rows, totals("pg_stat_wal", "plimsoll_pg_wal_", "_total", p.base, columns))
	}
	return append(rows, row{
		labels: p.base,
		metrics: []string{
			"pg_postmaster_start_time_seconds",
			"plimsoll_pg_checkpointer_start_time_seconds",
		},
		sql: `SELECT extract(epoch FROM pg_postmaster_start_time())::float8,
			(SELECT extract(epoch FROM max(backend_start))::float8 FROM pg_stat_activity WHERE backend_type = 'checkpointer')`,
	})
}

// checkpoints returns the queries of written buffers: since version 17 the checkpointer has a view
// of its own.
func (p *StatProbe) checkpoints(version int) []row {
	const suffix = "_total"
	if version < 170000 {
		return []row{totals("pg_stat_bgwriter", "pg_stat_bgwriter_", suffix, p.base,
			`checkpoints_timed checkpoints_req checkpoint_write_time checkpoint_sync_time
			buffers_checkpoint buffers_clean maxwritten_clean buffers_backend
			buffers_backend_fsync buffers_alloc`)}
	}
	return []row{
		totals("pg_stat_bgwriter", "pg_stat_bgwriter_", suffix, p.base,
			`buffers_clean maxwritten_clean buffers_alloc`),
		totals("pg_stat_checkpointer", "pg_stat_checkpointer_", suffix, p.base,
			`num_timed num_requested write_time sync_time buffers_written`),
	}
}

// totals returns the query of columns from a view. A metric has the name of its column, or the one
// after "=", between the prefix and the suffix.
func totals(from, prefix, suffix string, labels []series.Label, columns string) row {
	r := row{labels: labels}
	var exprs []string
	for c := range strings.FieldsSeq(columns) {
		column, metric, _ := strings.Cut(c, "=")
		metric = cmp.Or(metric, column)
		exprs = append(exprs, column+"::float8")
		r.metrics = append(r.metrics, prefix+metric+suffix)
	}
	r.sql = "SELECT " + strings.Join(exprs, ", ") + " FROM " + from
	return r
}

// activity counts those who wait for another one's write of the log apart from other waits for
// lightweight locks.
const activity = `SELECT coalesce(state, 'disabled'), CASE WHEN coalesce(state, '') <> 'active' THEN ''
	WHEN wait_event_type = 'LWLock' AND wait_event IN ('WALWrite', 'WALWriteLock') THEN 'LWLock:WALWrite'
	ELSE coalesce(wait_event_type, 'none') END,
	count(*)::float8, coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::float8
	FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1, 2`

func (p *StatProbe) read(ctx context.Context) error {
	var batch pgx.Batch
	batch.Queue(own + activity)
	for _, r := range p.rows {
		batch.Queue(own + r.sql)
	}
	res := p.conn.SendBatch(ctx, &batch)
	err := p.results(res)
	return errors.Join(err, res.Close())
}

func (p *StatProbe) results(res pgx.BatchResults) error {
	if err := p.sessions(res); err != nil {
		return err
	}
	for _, r := range p.rows {
		if err := p.one(res, r.metrics, r.labels); err != nil {
			return err
		}
	}
	return nil
}

// one reads a query's only row.
func (p *StatProbe) one(res pgx.BatchResults, metrics []string, ls []series.Label) error {
	for len(p.scan) < len(metrics) {
		p.values = append(p.values, pgtype.Float8{})
		p.scan = make([]any, len(p.values))
		for i := range p.values {
			p.scan[i] = &p.values[i]
		}
	}
	if err := res.QueryRow().Scan(p.scan[:len(metrics)]...); err != nil {
		return err
	}
	for i, m := range metrics {
		if p.values[i].Valid {
			p.out.Add(m, ls, p.values[i].Float64)
		}
	}
	return nil
}

// sessions reads the connected sessions and their wait events.
func (p *StatProbe) sessions(res pgx.BatchResults) error {
	rows, err := res.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, c := range p.counts {
		c.n = 0
	}
	all, longest := 1.0, 0.0 // the probe itself
	for rows.Next() {
		var state, wait string
		var n, age float64
		if err := rows.Scan(&state, &wait, &n, &age); err != nil {
			return err
		}
		all += n
		longest = max(longest, age)
		p.state(state).n += n
		if wait != "" {
			p.wait(wait).n += n
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for of, c := range p.counts {
		p.out.Add(of.metric, c.labels, c.n)
	}
	p.out.Add("plimsoll_pg_blocked_sessions", p.base, p.wait("Lock").n)
	p.out.Add("plimsoll_pg_longest_transaction_seconds", p.base, longest)
	p.out.Add("plimsoll_pg_connections", p.base, all)
	if usable := p.maxConns - p.reserved; usable > 0 {
		p.out.Add("plimsoll_pg_connections_used_ratio", p.base, all/usable)
	}
	p.out.Add("pg_settings_max_connections", p.base, p.maxConns)
	p.out.Add("pg_settings_superuser_reserved_connections", p.base, p.reserved)
	return nil
}
