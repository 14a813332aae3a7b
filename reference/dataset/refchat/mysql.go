package refchat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

type mysql struct {
	db     *sql.DB
	set    map[string]string
	infile bool // local_infile was switched on by us
}

func openMySQL(ctx context.Context, dsn string) (loader, error) {
	conf, err := driver.ParseDSN(strings.TrimPrefix(dsn, "mysql://"))
	if err != nil {
		return nil, errDSN
	}
	conf.Timeout = 10 * time.Second
	conf.ReadTimeout, conf.WriteTimeout = 0, 0 // an index may take minutes; contexts have the deadlines
	conf.Logger = &driver.NopLogger{}          // failures come back as errors
	set := map[string]string{"unique_checks": "0", "foreign_key_checks": "0"}
	conf.Params = maps.Clone(set)
	connector, err := driver.NewConnector(conf)
	if err != nil {
		return nil, errDSN
	}
	m := &mysql{db: sql.OpenDB(connector), set: set}
	var on bool
	if err := m.db.QueryRowContext(ctx, "SELECT @@GLOBAL.local_infile").Scan(&on); err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to mysql: %w", err), m.db.Close())
	}
	if !on {
		if _, err := m.db.ExecContext(ctx, "SET GLOBAL local_infile = 1"); err != nil {
			return nil, errors.Join(fmt.Errorf("the server refuses LOAD DATA LOCAL INFILE, and this account may not allow it; "+
				"SET GLOBAL local_infile = 1: %w", err), m.db.Close())
		}
		m.infile = true
		m.set["local_infile (global)"] = "1"
	}
	return m, nil
}

func (m *mysql) settings() map[string]string { return m.set }

func (m *mysql) close(ctx context.Context) error {
	var err error
	if m.infile {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if _, err = m.db.ExecContext(ctx, "SET GLOBAL local_infile = 0"); err != nil {
			err = fmt.Errorf("putting local_infile back: %w", err)
		}
	}
	return errors.Join(err, m.db.Close())
}

func (m *mysql) tables(ctx context.Context) ([]string, error) {
	return m.column(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name")
}

func (m *mysql) column(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := m.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

func (m *mysql) empty(ctx context.Context) error {
	tables, err := m.tables(ctx)
	if err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if len(tables) > 0 {
		return fmt.Errorf("the database has %d tables already; name an empty one", len(tables))
	}
	return nil
}

func (m *mysql) mark(ctx context.Context, version, name string) error {
	_, err := m.db.ExecContext(ctx, "UPDATE systems SET value = ? WHERE name = 'schema'", version)
	if err == nil && name != "" {
		_, err = m.db.ExecContext(ctx, "INSERT INTO systems (name, value) VALUES ('dataset', ?)", name)
	}
	return err
}

// strip makes one piece of work of each table: two statements on one table would wait for each other. InnoDB builds one
// full-text index at a time, and all others in one pass.
func (m *mysql) strip(ctx context.Context, tables []string) (work []build, indexes int, err error) {
	for _, t := range tables {
		rows, err := m.db.QueryContext(ctx, `SELECT index_name, MAX(non_unique), MAX(index_type), GROUP_CONCAT(CONCAT('`+"`', column_name, '`'"+`, COALESCE(CONCAT('(', sub_part, ')'), ''))
			ORDER BY seq_in_index) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name <> 'PRIMARY'
			GROUP BY index_name ORDER BY index_name`, t)
		if err != nil {
			return nil, 0, err
		}
		var text, plain, drop []string
		for rows.Next() {
			var name, kind, columns string
			var again bool
			if err := rows.Scan(&name, &again, &kind, &columns); err != nil {
				return nil, 0, errors.Join(err, rows.Close())
			}
			drop = append(drop, "DROP INDEX `"+name+"`")
			add := " INDEX `" + name + "` (" + columns + ")"
			switch {
			case kind == "FULLTEXT":
				text = append(text, "ALTER TABLE "+t+" ADD FULLTEXT"+add)
			case again:
				plain = append(plain, "ADD"+add)
			default:
				plain = append(plain, "ADD UNIQUE"+add)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, 0, err
		}
		if len(drop) == 0 {
			continue
		}
		if _, err := m.db.ExecContext(ctx, "ALTER TABLE "+t+" "+strings.Join(drop, ", ")); err != nil {
			return nil, 0, err
		}
		b := build{name: "indexes of table " + t, statements: text, indexes: len(drop)}
		if len(plain) > 0 {
			b.statements = append(b.statements, "ALTER TABLE "+t+" "+strings.Join(plain, ", "))
		}
		work = append(work, b)
		indexes += len(drop)
	}
	slices.SortStableFunc(work, func(a, b build) int { // the largest table first
		return strings.Compare(fmt.Sprint(a.name != "indexes of table posts"), fmt.Sprint(b.name != "indexes of table posts"))
	})
	return work, indexes, nil
}

func (m *mysql) settle(ctx context.Context, tables []string) error {
	rows, err := m.db.QueryContext(ctx, "ANALYZE TABLE "+strings.Join(tables, ", "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			return err
		}
		if strings.EqualFold(kind, "error") {
			return fmt.Errorf("table %s: %s", table, text)
		}
	}
	return rows.Err()
}

func (m *mysql) drop(ctx context.Context) error {
	tables, err := m.tables(ctx)
	if err != nil || len(tables) == 0 {
		return err
	}
	_, err = m.db.ExecContext(ctx, "DROP TABLE `"+strings.Join(tables, "`, `")+"`")
	return err
}

func (m *mysql) session(ctx context.Context) (session, error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return mySession{conn}, nil
}

type mySession struct{ conn *sql.Conn }

var readers atomic.Int64 // names of readers are of the whole process

func (s mySession) copy(ctx context.Context, st stream, r io.Reader) (int64, error) {
	name := fmt.Sprint("dataset-", readers.Add(1))
	driver.RegisterReaderHandler(name, func() io.Reader { return r })
	defer driver.DeregisterReaderHandler(name)
	res, err := s.conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+st.table+" CHARACTER SET utf8mb4 ("+st.columns+")")
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s mySession) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

func (s mySession) close() { _ = s.conn.Close() }
