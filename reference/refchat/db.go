package refchat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// engine is the SQL dialect of the database; the protocol, not the product (MariaDB is mysqlEngine).
type engine int

const (
	postgresEngine engine = iota
	mysqlEngine
)

func (e engine) String() string {
	if e == postgresEngine {
		return "postgresql"
	}
	return "mysql"
}

// store is the one SQL layer. Statements are written once, for PostgreSQL but with ? placeholders and lower-case names;
// see rebind and spread for what MySQL gets. Safe for concurrent use.
type store struct {
	db     *sql.DB
	eng    engine
	faults *faults
	met    *metrics

	replicas []*store // copies of the database, for reads
	turn     atomic.Uint64

	later func(func(ctx context.Context)) // runs work that outlives its request

	texts      sync.Map // statement text → *prepared
	prepared   atomic.Int32
	statements atomic.Int64 // executed, BEGIN and COMMIT included
}

// prepared is one SQL text in this engine's dialect. On MySQL a text that is used often is prepared (once
// per connection, which database/sql looks after); pgx prepares and caches by itself.
type prepared struct {
	text string
	uses atomic.Int32
	stmt atomic.Pointer[sql.Stmt]
}

const (
	prepareAfter = 8  // uses before a text is worth a prepared statement on every connection
	maxPrepared  = 64 // texts; times the connections this stays below MySQL's max_prepared_stmt_count
)

var errDSN = errors.New(`reading the DSN: want postgres://user:password@host:port/database, mysql://user:password@tcp(host:port)/database or mysql://user@unix(/socket)/database`)

// openDB connects, with at most maxOpen connections. No error repeats the DSN, which holds a password.
func openDB(ctx context.Context, dsn string, maxOpen int) (*sql.DB, engine, error) {
	var db *sql.DB
	var eng engine
	switch {
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, 0, errDSN
		}
		db = stdlib.OpenDB(*cfg)
	case strings.HasPrefix(dsn, "mysql://"):
		cfg, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql://"))
		if err != nil {
			return nil, 0, errDSN
		}
		cfg.InterpolateParams = true // statements not worth preparing take one round trip
		if cfg.Timeout == 0 {
			cfg.Timeout = 10 * time.Second
		}
		if cfg.ReadTimeout == 0 {
			cfg.ReadTimeout, cfg.WriteTimeout = 30*time.Second, 30*time.Second
		}
		cn, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, 0, errDSN
		}
		db, eng = sql.OpenDB(cn), mysqlEngine
	default:
		return nil, 0, errDSN
	}
	db.SetMaxOpenConns(maxOpen)
	db.SetMaxIdleConns(maxOpen)
	db.SetConnMaxLifetime(time.Hour)
	db.SetConnMaxIdleTime(5 * time.Minute)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, 0, fmt.Errorf("connecting to %s: %w", eng, err)
	}
	return db, eng, nil
}

// prepare returns the prepared form of text for this engine, and the arguments for it.
func (st *store) prepare(text string, args []any) (*prepared, []any) {
	if st.eng == mysqlEngine {
		text, args = spread(text, args)
	}
	if s, ok := st.texts.Load(text); ok {
		return s.(*prepared), args
	}
	s, _ := st.texts.LoadOrStore(text, &prepared{text: rebind(st.eng, text)})
	return s.(*prepared), args
}

// spread writes the lists among the arguments, each for a condition "= ANY(?)", as arguments of their own.
func spread(text string, args []any) (string, []any) {
	var flat []any
	for i, a := range args {
		list, ok := a.([]string)
		if ok && flat == nil {
			flat = slices.Clone(args[:i])
		}
		switch {
		case ok:
			text = strings.Replace(text, "= ANY(?)", "IN ("+marks(len(list))+")", 1)
			for _, v := range list {
				flat = append(flat, v)
			}
		case flat != nil:
			flat = append(flat, a)
		}
	}
	if flat == nil {
		return text, args
	}
	return text, flat
}

var (
	excluded = regexp.MustCompile(`= EXCLUDED\.(\w+)`)
	// asMySQL has the expressions that differ otherwise.
	asMySQL = strings.NewReplacer("createat / 86400000", "createat DIV 86400000",
		"array_to_string(array_agg(u.username), ', ')", "GROUP_CONCAT(u.username SEPARATOR ', ')")
)

// rebind turns ? placeholders into $1, $2, … for PostgreSQL, and INSERT ... ON CONFLICT into MySQL's form. No statement
// here has a question mark in a literal.
func rebind(eng engine, text string) string {
	if eng == mysqlEngine {
		insert, update, ok := strings.Cut(asMySQL.Replace(text), " ON CONFLICT (")
		if !ok {
			return insert
		}
		_, sets, _ := strings.Cut(update, ") DO UPDATE SET ")
		return insert + " ON DUPLICATE KEY UPDATE " + excluded.ReplaceAllString(sets, "= VALUES($1)")
	}
	var b strings.Builder
	n := 0
	for i := range len(text) {
		if text[i] == '?' {
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// runner is the common interface of *sql.DB, *sql.Conn and *sql.Tx.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ready returns the prepared statement to use, or nil to send the text. Preparing takes a connection of its own, so it
// is not done by a caller that may hold one already: a small pool would wait for itself.
func (st *store) ready(s *prepared) *sql.Stmt {
	if st.eng != mysqlEngine {
		return nil
	}
	if p := s.stmt.Load(); p != nil {
		return p
	}
	if s.uses.Add(1) == prepareAfter && st.prepared.Add(1) <= maxPrepared {
		st.later(func(ctx context.Context) {
			// Else the statement itself will report the error.
			if p, err := st.db.PrepareContext(ctx, s.text); err == nil {
				s.stmt.Store(p)
			}
		})
	}
	return nil
}

// begin picks where a statement runs and applies the slow-query fault while a connection is held, as a slow statement
// would.
func (st *store) begin(ctx context.Context, tx *sql.Tx) (r runner, done func(), err error) {
	st.statements.Add(1)
	st.met.statements.Inc()
	d := st.faults.slowQuery
	if tx != nil {
		return tx, func() {}, sleep(ctx, d)
	}
	if d == 0 {
		return st.db, func() {}, nil
	}
	c, err := st.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := sleep(ctx, d); err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, func() { c.Close() }, nil
}

// exec runs a statement that returns no rows; tx may be nil.
func (st *store) exec(ctx context.Context, tx *sql.Tx, text string, args ...any) (sql.Result, error) {
	s, args := st.prepare(text, args)
	r, done, err := st.begin(ctx, tx)
	if err != nil {
		return nil, err
	}
	defer done()
	if p := st.ready(s); p != nil && r == runner(st.db) {
		return p.ExecContext(ctx, args...)
	} else if p != nil && tx != nil {
		return tx.StmtContext(ctx, p).ExecContext(ctx, args...)
	}
	return r.ExecContext(ctx, s.text, args...)
}

// query runs a statement and calls scan for each row; tx may be nil.
func (st *store) query(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, text string, args ...any) error {
	if tx == nil {
		if r := st.replica(ctx, text); r != nil {
			return r.query(ctx, nil, scan, text, args...)
		}
	}
	s, args := st.prepare(text, args)
	r, done, err := st.begin(ctx, tx)
	if err != nil {
		return err
	}
	defer done()
	var rows *sql.Rows
	if p := st.ready(s); p != nil && r == runner(st.db) {
		rows, err = p.QueryContext(ctx, args...)
	} else if p != nil && tx != nil {
		rows, err = tx.StmtContext(ctx, p).QueryContext(ctx, args...)
	} else {
		rows, err = r.QueryContext(ctx, s.text, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// run is exec without a result.
func (st *store) run(ctx context.Context, tx *sql.Tx, text string, args ...any) error {
	_, err := st.exec(ctx, tx, text, args...)
	return err
}

// A command is a statement that returns no rows, and the method of a store under which it is measured.
type command struct{ method, text string }

func (c *command) run(ctx context.Context, st *store, args ...any) (err error) {
	defer st.timed(c.method, &err)()
	return st.run(ctx, nil, c.text, args...)
}

// changes is run for one row that may not be there any more.
func (c *command) changes(ctx context.Context, st *store, args ...any) (ok bool, err error) {
	defer st.timed(c.method, &err)()
	return st.changes(ctx, c.text, args...)
}

// changes reports whether a statement changed one row.
func (st *store) changes(ctx context.Context, text string, args ...any) (bool, error) {
	res, err := st.exec(ctx, nil, text, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// strings runs a statement that returns one column of text; tx may be nil.
func (st *store) strings(ctx context.Context, tx *sql.Tx, text string, args ...any) (list []string, err error) {
	err = st.query(ctx, tx, func(r *sql.Rows) error {
		var s string
		err := r.Scan(&s)
		list = append(list, s)
		return err
	}, text, args...)
	return list, err
}

// row runs a statement that returns at most one row and scans it into dest; no row is sql.ErrNoRows.
func (st *store) row(ctx context.Context, tx *sql.Tx, dest []any, text string, args ...any) error {
	found := false
	err := st.query(ctx, tx, func(r *sql.Rows) error {
		found = true
		return r.Scan(dest...)
	}, text, args...)
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// transact runs fn in a transaction, up to three times when the database chose it as a deadlock's victim or fn
// returns [errThreadExists].
func (st *store) transact(ctx context.Context, fn func(tx *sql.Tx) error) error {
	var err error
	for range 3 {
		if err = st.transactOnce(ctx, fn); !retryable(err) {
			return err
		}
	}
	return err
}

// method is transact as a store's method.
func (st *store) method(ctx context.Context, name string, fn func(tx *sql.Tx) error) (err error) {
	defer st.timed(name, &err)()
	return st.transact(ctx, fn)
}

func (st *store) transactOnce(ctx context.Context, fn func(tx *sql.Tx) error) error {
	st.statements.Add(2) // BEGIN and COMMIT
	st.met.statements.Add(2)
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// retryable reports whether err is one after which nothing was changed and another try may do: a deadlock, a
// serialization failure, or a concurrent write that came first.
func retryable(err error) bool {
	if errors.Is(err, errThreadExists) {
		return true
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code == "40P01" || pe.Code == "40001"
	}
	if me, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return me.Number == 1213
	}
	return false
}

// duplicate reports whether err is a violation of a unique index whose name contains part ("" for any).
func duplicate(err error, part string) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code == "23505" && strings.Contains(pe.ConstraintName, part)
	}
	if me, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return me.Number == 1062 && strings.Contains(me.Message, part)
	}
	return false
}

// upsert returns an INSERT that updates the named columns when the key is there already.
func upsert(table, columns, key, update string) string {
	var sets []string
	for c := range strings.SplitSeq(update, ", ") {
		sets = append(sets, c+" = EXCLUDED."+c)
	}
	return insertInto(table, columns) + " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

func insertInto(table, columns string) string {
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + marks(strings.Count(columns, ",")+1) + ")"
}

// marks returns n placeholders.
func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?,", n), ",")
}

// timed observes the duration and success of a store method: defer st.timed("PostStore.Save", &err)().
func (st *store) timed(method string, err *error) func() {
	start := time.Now()
	return func() {
		ok := *err == nil || errors.Is(*err, sql.ErrNoRows)
		st.met.storeObserver(method, ok).Observe(time.Since(start).Seconds())
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
