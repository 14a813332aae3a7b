package refchat

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"plimsoll/reference/refchat/databases"
)

var postgres = &engine{
	schema:  "current_schema()",
	analyze: "VACUUM (ANALYZE) ",
	heavy:   []string{"reactions", "threadmemberships", "posts USING", "USING gin", "message"},
	strip:   stripPostgres,
	copy:    copyPostgres,
	alone:   endSessions,
}

// stripPostgres makes each index by itself, so that several of one table are built at a time; keys
// get theirs at the end.
func stripPostgres(
	ctx context.Context,
	db *sql.DB,
	tables []string,
) (work []build, last []string, err error) {
	keys, err := databases.Cells(
		ctx,
		db,
		`SELECT c.conrelid::regclass::text, quote_ident(c.conname), pg_get_constraintdef(c.oid)
		FROM pg_constraint c WHERE c.contype IN ('p', 'u') AND c.connamespace = current_schema()::regnamespace
		AND c.conrelid::regclass::text = ANY($1)`,
		tables,
	)
	if err != nil {
		return nil, nil, err
	}
	indexes, err := databases.Cells(
		ctx,
		db,
		`SELECT quote_ident(indexname), indexdef FROM pg_indexes
		WHERE schemaname = current_schema() AND tablename = ANY($1)`,
		tables,
	)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range keys {
		alter, name := "ALTER TABLE "+k[0], k[1]
		if _, err := db.ExecContext(ctx, alter+" DROP CONSTRAINT "+name); err != nil {
			return nil, nil, err
		}
		kind, _, _ := strings.Cut(k[2], " (") // PRIMARY KEY or UNIQUE
		last = append(last, alter+" ADD CONSTRAINT "+name+" "+kind+" USING INDEX "+name)
	}
	for _, i := range indexes {
		// keys took theirs along
		if _, err := db.ExecContext(ctx, "DROP INDEX IF EXISTS "+i[0]); err != nil {
			return nil, nil, err
		}
		work = append(work, build{name: "index " + i[0], statements: []string{i[1]}, indexes: 1})
	}
	return work, last, nil
}

func copyPostgres(ctx context.Context, c *sql.Conn, s stream, r io.Reader) (rows int64, err error) {
	err = c.Raw(func(conn any) error {
		pg := conn.(*stdlib.Conn).Conn().PgConn()
		tag, err := pg.CopyFrom(ctx, r, "COPY "+s.table+" ("+s.columns+") FROM STDIN")
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// endSessions ends the other sessions of the load, and waits until they are gone: a COPY that was
// canceled may still be on its way to the server, and would write into tables that the next load
// makes.
func endSessions(ctx context.Context, c *sql.Conn) error {
	for {
		var left int
		err := c.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`).Scan(&left)
		if err != nil {
			return fmt.Errorf("ending the sessions of the load: %w", err)
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
