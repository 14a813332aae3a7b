// Package databases opens PostgreSQL and MySQL databases by their DSNs, and repeats no DSN, which
// holds a password.
package databases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// An Engine is the protocol of a database, not the product: MariaDB is [MySQL].
type Engine string

// Engines.
const (
	PostgreSQL Engine = "postgresql"
	MySQL      Engine = "mysql"
)

// Options change how connections are made; each may be nil.
type Options struct {
	PostgreSQL func(*pgx.ConnConfig)
	MySQL      func(*mysql.Config) // the time to connect is 10 s, unless the DSN has another
}

// ErrDSN is returned for a DSN that cannot be read.
var ErrDSN = errors.New("reading the DSN: want postgres://user:password@host:port/database, " +
	"mysql://user:password@tcp(host:port)/database or mysql://user@unix(/socket)/database")

// Open connects to a database, within 15 s.
func Open(ctx context.Context, dsn string, opt Options) (*sql.DB, Engine, error) {
	db, engine, err := open(dsn, opt)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, "", fmt.Errorf("connecting to %s: %w", engine, err)
	}
	return db, engine, nil
}

func open(dsn string, opt Options) (*sql.DB, Engine, error) {
	scheme, rest, _ := strings.Cut(dsn, "://")
	switch scheme {
	case "postgres", "postgresql":
		conf, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, "", ErrDSN
		}
		if opt.PostgreSQL != nil {
			opt.PostgreSQL(conf)
		}
		return stdlib.OpenDB(*conf), PostgreSQL, nil
	case "mysql":
		conf, err := mysql.ParseDSN(rest)
		if err != nil {
			return nil, "", ErrDSN
		}
		if conf.Timeout == 0 {
			conf.Timeout = 10 * time.Second
		}
		conf.Logger = &mysql.NopLogger{} // failures come back as errors
		if opt.MySQL != nil {
			opt.MySQL(conf)
		}
		connector, err := mysql.NewConnector(conf)
		if err != nil {
			return nil, "", ErrDSN
		}
		return sql.OpenDB(connector), MySQL, nil
	}
	return nil, "", ErrDSN
}

// Querier is the common interface of *sql.DB and *sql.Conn.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Cells returns the rows of a query as text.
func Cells(
	ctx context.Context,
	db Querier,
	query string,
	args ...any,
) (list [][]string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	for err == nil && rows.Next() {
		row := make([]string, len(names))
		to := make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		err = rows.Scan(to...)
		list = append(list, row)
	}
	return list, errors.Join(err, rows.Err())
}
