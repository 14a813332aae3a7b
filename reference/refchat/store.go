package refchat

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/reference/refchat/databases"
)

// store executes statements: each by itself, or all in one transaction. Statements are written
// once, for PostgreSQL but with ? placeholders and lower-case names; engine.go has what MySQL gets.
// Safe for concurrent use.
type store struct {
	*pool
	tx *sql.Tx // nil outside of transactions
}

// pool is the common part of the stores of a database.
type pool struct {
	db     *sql.DB
	eng    *engine
	faults *faults
	met    *metrics

	replicas []*store // copies of the database, for reads
	turn     atomic.Uint64

	later func(func(ctx context.Context)) // runs work that outlives its request

	texts    sync.Map // statement text → *prepared
	prepared atomic.Int32
}

// prepared is one SQL text in this engine's dialect. On MySQL a text that is used often is prepared
// (once per connection, which database/sql looks after); pgx prepares and caches by itself.
type prepared struct {
	text string
	uses atomic.Int32
	stmt atomic.Pointer[sql.Stmt]
}

const (
	prepareAfter = 8 // uses before a text is worth a prepared statement on every connection
	// texts; times the connections this stays below MySQL's max_prepared_stmt_count.
	maxPrepared = 64
)

// openDB connects, with at most maxOpen connections.
func openDB(ctx context.Context, dsn string, maxOpen int) (*sql.DB, *engine, error) {
	db, name, err := databases.Open(ctx, dsn, databases.Options{MySQL: func(conf *mysql.Config) {
		conf.InterpolateParams = true // statements not worth preparing take one round trip
		if conf.ReadTimeout == 0 {
			conf.ReadTimeout = 30 * time.Second
			conf.WriteTimeout = 30 * time.Second
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(maxOpen)
	db.SetMaxIdleConns(maxOpen)
	db.SetConnMaxLifetime(time.Hour)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if name == databases.MySQL {
		return db, mysqlEngine, nil
	}
	return db, postgresEngine, nil
}

// prepare returns the prepared form of text for this engine, and the arguments for it.
func (st *store) prepare(text string, args []any) (*prepared, []any) {
	if st.eng == mysqlEngine {
		text, args = spread(text, args)
	}
	if s, ok := st.texts.Load(text); ok {
		return s.(*prepared), args
	}
	s, _ := st.texts.LoadOrStore(text, &prepared{text: st.eng.rebind(text)})
	return s.(*prepared), args
}

// runner is the common interface of *sql.DB, *sql.Conn, *sql.Tx and readied.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readied is a prepared statement, which needs no text.
type readied struct{ *sql.Stmt }

// ExecContext executes the statement.
func (p readied) ExecContext(ctx context.Context, _ string, args ...any) (sql.Result, error) {
	return p.Stmt.ExecContext(ctx, args...)
}

// QueryContext executes the statement.
func (p readied) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return p.Stmt.QueryContext(ctx, args...)
}

// ready returns the prepared statement to use, or nil to send the text. Preparing takes a
// connection of its own, so it is not done by a caller that may hold one already: a small pool
// would wait for itself.
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

// begin returns where a statement runs, and applies the slow-query fault while a connection is
// held, as a slow statement would.
func (st *store) begin(ctx context.Context, s *prepared) (r runner, done func(), err error) {
	st.met.statements.Inc()
	slow := st.faults.slowQuery
	nothing := func() {}
	if st.tx == nil && slow > 0 {
		c, err := st.db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := sleep(ctx, slow); err != nil {
			c.Close()
			return nil, nil, err
		}
		st.ready(s) // it counts as a use
		return c, func() { c.Close() }, nil
	}
	if err := sleep(ctx, slow); err != nil {
		return nil, nil, err
	}
	p := st.ready(s)
	switch {
	case p != nil && st.tx != nil:
		return readied{st.tx.StmtContext(ctx, p)}, nothing, nil
	case p != nil:
		return readied{p}, nothing, nil
	case st.tx != nil:
		return st.tx, nothing, nil
	}
	return st.db, nothing, nil
}

// exec runs a statement that returns no rows.
func (st *store) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	s, args := st.prepare(text, args)
	r, done, err := st.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	defer done()
	return r.ExecContext(ctx, s.text, args...)
}

// query runs a statement and calls scan for each row.
func (st *store) query(
	ctx context.Context,
	scan func(*sql.Rows) error,
	text string,
	args ...any,
) error {
	if r := st.replica(ctx, text); r != nil {
		return r.query(ctx, scan, text, args...)
	}
	s, args := st.prepare(text, args)
	r, done, err := st.begin(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	rows, err := r.QueryContext(ctx, s.text, args...)
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
func (st *store) run(ctx context.Context, text string, args ...any) error {
	_, err := st.exec(ctx, text, args...)
	return err
}

// changes reports whether a statement changed one row.
func (st *store) changes(ctx context.Context, text string, args ...any) (bool, error) {
	res, err := st.exec(ctx, text, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// strings runs a statement that returns one column of text.
func (st *store) strings(ctx context.Context, text string, args ...any) (list []string, err error) {
	err = st.query(ctx, func(r *sql.Rows) error {
		var s string
		err := r.Scan(&s)
		list = append(list, s)
		return err
	}, text, args...)
	return list, err
}

// row runs a statement that returns at most one row and scans it into dest; no row is
// sql.ErrNoRows.
func (st *store) row(ctx context.Context, dest []any, text string, args ...any) error {
	found := false
	err := st.query(ctx, func(r *sql.Rows) error {
		found = true
		return r.Scan(dest...)
	}, text, args...)
	if err == nil && !found {
		return sql.ErrNoRows
	}
	return err
}

// noRow reports whether a statement found no row.
func noRow(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// unlessNone returns err, or nil if there was no row.
func unlessNone(err error) error {
	if noRow(err) {
		return nil
	}
	return err
}

// transact runs fn in a transaction, up to three times when the database chose it as a deadlock's
// victim or fn returns [errThreadExists].
func (st *store) transact(ctx context.Context, fn func(tx *store) error) error {
	var err error
	for range 3 {
		if err = st.transactOnce(ctx, fn); !retryable(err) {
			return err
		}
	}
	return err
}

// method is transact as a store's method.
func (st *store) method(ctx context.Context, name string, fn func(tx *store) error) (err error) {
	defer st.timed(name, &err)()
	return st.transact(ctx, fn)
}

func (st *store) transactOnce(ctx context.Context, fn func(tx *store) error) error {
	st.met.statements.Add(2) // BEGIN and COMMIT
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(&store{st.pool, tx}); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// retryable reports whether err is one after which nothing was changed and another try may do: a
// deadlock, a serialization failure, or a concurrent write that came first.
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

// duplicate reports whether err is a violation of a unique index whose name contains part ("" for
// any).
func duplicate(err error, part string) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Code == "23505" && strings.Contains(pe.ConstraintName, part)
	}
	if me, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return me.Number == 1062 && strings.Contains(me.Message, part)
	}
	return false
}

// timed observes the duration and success of a store method: defer st.timed("PostStore.Save",
// &err)().
func (st *store) timed(method string, err *error) func() {
	start := time.Now()
	return func() {
		ok := *err == nil || noRow(*err)
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
