package refchat

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"plimsoll/reference/refchat/databases"
)

// engine holds what differs between the databases in a load.
type engine struct {
	schema  string   // the expression of the schema in use
	analyze string   // collects statistics of the tables that follow
	heavy   []string // parts of the statements that take long, the longest last
	// strip drops the indexes of tables and returns the work that makes them again, and what is
	// left to do then.
	strip func(ctx context.Context, db *sql.DB, tables []string) (work []build, last []string,
		err error)
	copy  func(ctx context.Context, c *sql.Conn, s stream, r io.Reader) (rows int64, err error)
	alone func(ctx context.Context, c *sql.Conn) error // ends what is left of the load besides c
}

// build is one statement, or several that follow each other, that may run concurrently with others.
type build struct {
	name       string
	statements []string
	indexes    int
}

// loader is a database that is being loaded.
type loader struct {
	*engine
	db       *sql.DB
	settings map[string]string // of its sessions
	infile   bool              // local_infile was switched on by us
	workers  int               // sessions at a time
	tell     func(phase string, done, all int64)
}

func open(ctx context.Context, dsn string) (*loader, error) {
	l := &loader{engine: postgres}
	conn := databases.Options{
		PostgreSQL: func(conf *pgx.ConnConfig) {
			conf.DefaultQueryExecMode = pgx.QueryExecModeExec
			conf.RuntimeParams["application_name"] = "plimsoll load " + rand.Text()
			l.settings = map[string]string{
				"synchronous_commit":               "off",
				"maintenance_work_mem":             "262144kB", // for sorting one index
				"max_parallel_maintenance_workers": "0",
			}
			maps.Copy(conf.RuntimeParams, l.settings)
		},
		MySQL: func(conf *driver.Config) {
			conf.ReadTimeout = 0 // an index may take minutes; contexts have the deadlines
			conf.WriteTimeout = 0
			l.engine = mysql
			l.settings = map[string]string{"unique_checks": "0", "foreign_key_checks": "0"}
			conf.Params = maps.Clone(l.settings)
		},
	}
	var err error
	if l.db, _, err = databases.Open(ctx, dsn, conn); err != nil {
		return nil, err
	}
	if l.engine == mysql {
		if l.infile, err = allowInfile(ctx, l.db); err != nil {
			return nil, errors.Join(err, l.db.Close())
		}
		if l.infile {
			l.settings["local_infile (global)"] = "1"
		}
	}
	return l, nil
}

func (l *loader) close(ctx context.Context) error {
	var err error
	if l.infile {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err = l.db.ExecContext(ctx, "SET GLOBAL local_infile = 0"); err != nil {
			err = fmt.Errorf("putting local_infile back: %w", err)
		}
	}
	return errors.Join(err, l.db.Close())
}

func (l *loader) tables(ctx context.Context, db databases.Querier) (names []string, err error) {
	rows, err := databases.Cells(
		ctx,
		db,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = "+l.schema+
			" AND table_type = 'BASE TABLE' ORDER BY table_name",
	)
	for _, r := range rows {
		names = append(names, r[0])
	}
	return names, err
}

// empty reports an error if the database has tables.
func (l *loader) empty(ctx context.Context) error {
	tables, err := l.tables(ctx, l.db)
	if err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if len(tables) > 0 {
		return fmt.Errorf("the database has %d tables already; name an empty one", len(tables))
	}
	return nil
}

// mark sets the version of the schema to "loading", or to version and the name of the loaded data.
// None has a character that would have to be escaped.
func (l *loader) mark(ctx context.Context, version, name string) error {
	_, err := l.db.ExecContext(
		ctx,
		"UPDATE systems SET value = '"+version+"' WHERE name = 'schema'",
	)
	if err == nil && name != "" {
		_, err = l.db.ExecContext(
			ctx,
			"INSERT INTO systems (name, value) VALUES ('dataset', '"+name+"')",
		)
	}
	return err
}

// byWeight puts the longest work first.
func (l *loader) byWeight(work []build) {
	weight := func(b build) (w int) {
		for i, part := range l.heavy {
			if strings.Contains(b.statements[0], part) {
				w |= 1 << i
			}
		}
		return w
	}
	slices.SortStableFunc(work, func(a, b build) int { return cmp.Compare(weight(b), weight(a)) })
}

// settle does what is left when the indexes are made, and collects the planner's statistics.
func (l *loader) settle(ctx context.Context, tables, last []string) error {
	for _, statement := range last {
		if _, err := l.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	answers, err := databases.Cells(ctx, l.db, l.analyze+strings.Join(tables, ", "))
	for _, a := range answers { // of MySQL: table, op, kind, text
		if strings.EqualFold(a[2], "error") {
			return fmt.Errorf("table %s: %s", a[0], a[3])
		}
	}
	return err
}

// drop drops the tables of a broken load.
func (l *loader) drop(ctx context.Context) error {
	c, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := l.alone(ctx, c); err != nil {
		return err
	}
	tables, err := l.tables(ctx, c)
	if err != nil || len(tables) == 0 {
		return err
	}
	_, err = c.ExecContext(ctx, "DROP TABLE "+strings.Join(tables, ", "))
	return err
}
