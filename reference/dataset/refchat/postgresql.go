package refchat

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

type postgres struct {
	conf *pgx.ConnConfig
	conn *pgx.Conn
	set  map[string]string
	keys []string // statements that make keys of their indexes
}

func openPostgres(ctx context.Context, dsn string, opt Options) (loader, error) {
	conf, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	conf.RuntimeParams["application_name"] = "plimsoll load " + rand.Text()
	db := &postgres{conf: conf, set: map[string]string{
		"synchronous_commit": "off", "maintenance_work_mem": strconv.FormatInt(opt.Memory>>10, 10) + "kB", "max_parallel_maintenance_workers": "0",
	}}
	if db.conn, err = db.connect(ctx); err != nil {
		return nil, fmt.Errorf("connecting to postgresql: %w", err)
	}
	return db, nil
}

// connect opens a connection with the temporary settings, which end with it.
func (db *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	conf := db.conf.Copy()
	maps.Copy(conf.RuntimeParams, db.set)
	return pgx.ConnectConfig(ctx, conf)
}

func (db *postgres) settings() map[string]string { return db.set }

func (db *postgres) close(ctx context.Context) error { return db.conn.Close(ctx) }

func (db *postgres) empty(ctx context.Context) error {
	var n int
	if err := db.conn.QueryRow(ctx, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").Scan(&n); err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if n > 0 {
		return fmt.Errorf("the database has %d tables already; name an empty one", n)
	}
	return nil
}

func (db *postgres) mark(ctx context.Context, version, name string) error {
	_, err := db.conn.Exec(ctx, "UPDATE systems SET value = $1 WHERE name = 'schema'", version)
	if err == nil && name != "" {
		_, err = db.conn.Exec(ctx, "INSERT INTO systems (name, value) VALUES ('dataset', $1)", name)
	}
	return err
}

// strip makes each index by itself, so that several of one table are built at a time; keys get theirs at the end.
func (db *postgres) strip(ctx context.Context, tables []string) (work []build, indexes int, err error) {
	type key struct{ table, name, definition string }
	rows, err := db.conn.Query(ctx, `SELECT c.conrelid::regclass::text, quote_ident(c.conname), pg_get_constraintdef(c.oid) FROM pg_constraint c
		WHERE c.contype IN ('p', 'u') AND c.connamespace = current_schema()::regnamespace AND c.conrelid::regclass::text = ANY($1)`, tables)
	if err != nil {
		return nil, 0, err
	}
	keys, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (k key, err error) { return k, r.Scan(&k.table, &k.name, &k.definition) })
	if err != nil {
		return nil, 0, err
	}
	rows, err = db.conn.Query(ctx, "SELECT tablename, quote_ident(indexname), indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = ANY($1)", tables)
	if err != nil {
		return nil, 0, err
	}
	found, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (k key, err error) { return k, r.Scan(&k.table, &k.name, &k.definition) })
	if err != nil {
		return nil, 0, err
	}
	var last []string
	for _, k := range keys {
		if _, err := db.conn.Exec(ctx, "ALTER TABLE "+k.table+" DROP CONSTRAINT "+k.name); err != nil {
			return nil, 0, err
		}
		kind, _, _ := strings.Cut(k.definition, " (") // PRIMARY KEY or UNIQUE
		last = append(last, "ALTER TABLE "+k.table+" ADD CONSTRAINT "+k.name+" "+kind+" USING INDEX "+k.name)
	}
	for _, i := range found {
		if _, err := db.conn.Exec(ctx, "DROP INDEX IF EXISTS "+i.name); err != nil { // those of keys are gone
			return nil, 0, err
		}
		work = append(work, build{name: "index " + i.name, statements: []string{i.definition}, indexes: 1})
	}
	// Full text takes longest, then the tables with most rows, which is about the order of tables
	// here.
	weight := func(b build) int {
		w := 0
		for i, sign := range []string{"reactions", "threadmemberships", "posts USING", "USING gin", "message"} {
			if strings.Contains(b.statements[0], sign) {
				w |= 1 << i
			}
		}
		return w
	}
	slices.SortStableFunc(work, func(a, b build) int { return cmp.Compare(weight(b), weight(a)) })
	db.keys = last
	return work, len(work), nil
}

func (db *postgres) settle(ctx context.Context, tables []string) error {
	for _, k := range db.keys {
		if _, err := db.conn.Exec(ctx, k); err != nil {
			return err
		}
	}
	_, err := db.conn.Exec(ctx, "VACUUM (ANALYZE) "+strings.Join(tables, ", "))
	return err
}

// drop ends the other sessions of this load first: a COPY that was canceled may still be on its way to the server, and
// would write into tables that the next load makes.
func (db *postgres) drop(ctx context.Context) error {
	conn, err := db.connect(ctx) // the other one may be dead
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing follows
	if err := endSessions(ctx, conn); err != nil {
		return fmt.Errorf("ending the sessions of the load: %w", err)
	}
	rows, err := conn.Query(ctx, "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()")
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		return err
	}
	_, err = conn.Exec(ctx, "DROP TABLE "+strings.Join(tables, ", "))
	return err
}

// endSessions ends the sessions that have the same name as conn, and waits until they are gone.
func endSessions(ctx context.Context, conn *pgx.Conn) error {
	for {
		var left int
		err := conn.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`).Scan(&left)
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (db *postgres) session(ctx context.Context) (session, error) {
	conn, err := db.connect(ctx)
	if err != nil {
		return nil, err
	}
	return pgSession{conn}, nil
}

type pgSession struct{ conn *pgx.Conn }

func (s pgSession) copy(ctx context.Context, st stream, r io.Reader) (int64, error) {
	tag, err := s.conn.PgConn().CopyFrom(ctx, r, "COPY "+st.table+" ("+st.columns+") FROM STDIN")
	return tag.RowsAffected(), err
}

func (s pgSession) exec(ctx context.Context, statement string) error {
	_, err := s.conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (s pgSession) close() { _ = s.conn.Close(context.Background()) }
