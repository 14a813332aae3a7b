package dump

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"plimsoll/reference/refchat/databases"
)

// A Table describes a table's rows.
type Table struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	First int64  `json:"first,omitempty"` // smallest createat, in milliseconds since 1970
	Last  int64  `json:"last,omitempty"`  // largest
	// A sum over all rows of a hash of all of their cells; it depends on the engine.
	Checksum string `json:"checksum"`
}

// Tables reads all tables of a database, every row of them: about 400,000 rows a second.
func Tables(ctx context.Context, dsn string) ([]Table, error) {
	db, engine, err := databases.Open(ctx, dsn, databases.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	my := engine == databases.MySQL
	schema := "current_schema()"
	if my {
		schema = "DATABASE()"
	}
	cells, err := databases.Cells(ctx, db, `SELECT c.table_name, c.column_name
		FROM information_schema.columns c JOIN information_schema.tables t
		ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
		WHERE c.table_schema = `+schema+` ORDER BY c.table_name, c.ordinal_position`)
	if err != nil {
		return nil, fmt.Errorf("listing the tables: %w", err)
	}
	columns := map[string][]string{}
	var names []string
	for _, c := range cells {
		table := c[0]
		if columns[table] == nil {
			names = append(names, table)
		}
		columns[table] = append(columns[table], c[1])
	}
	var out []Table
	for _, name := range names {
		t := Table{Name: name}
		if err := db.QueryRowContext(ctx, query(name, columns[name], my)).Scan(&t.Rows, &t.First, &t.Last, &t.Checksum); err != nil {
			return nil, fmt.Errorf("reading table %s: %w", name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// Schemas returns the schemas of a PostgreSQL database, or the databases of a MySQL server, that
// hold tables of users.
func Schemas(ctx context.Context, dsn string) (names []string, err error) {
	db, _, err := databases.Open(ctx, dsn, databases.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	cells, err := databases.Cells(
		ctx,
		db,
		`SELECT DISTINCT table_schema FROM information_schema.tables
		WHERE table_type = 'BASE TABLE' AND table_schema NOT IN
		('pg_catalog', 'information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1`,
	)
	if err != nil {
		return nil, fmt.Errorf("listing the schemas: %w", err)
	}
	for _, c := range cells {
		names = append(names, c[0])
	}
	return names, nil
}

// query reads one table whole. NULL and the empty text stay distinct.
func query(table string, columns []string, my bool) string {
	times := "0, 0"
	if slices.Contains(columns, "createat") {
		times = "COALESCE(MIN(createat), 0), COALESCE(MAX(createat), 0)"
	}
	if !my {
		return "SELECT count(*), " + times + ", COALESCE(sum(hashtextextended(t::text, 0)), 0)::text FROM " + pgx.Identifier{
			table,
		}.Sanitize() + " t"
	}
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = "COALESCE(`" + strings.ReplaceAll(c, "`", "``") + "`, CHAR(30))"
	}
	hash := "CRC32(CONCAT_WS(CHAR(31), " + strings.Join(cells, ", ") + "))"
	return "SELECT COUNT(*), " + times + ", COALESCE(SUM(" + hash + "), 0) FROM `" +
		strings.ReplaceAll(table, "`", "``") + "`"
}

// Compare returns the differences between the tables of a manifest and of a database, one line
// each.
func Compare(want, have []Table) (problems []string) {
	return compare(want, have, func(t Table) string { return "table " + t.Name },
		func(w, h Table) string {
			switch {
			case h.Rows != w.Rows:
				return fmt.Sprintf("has %d rows, the manifest says %d", h.Rows, w.Rows)
			case h.First != w.First || h.Last != w.Last:
				return fmt.Sprintf("spans the times %d to %d, the manifest says %d to %d",
					h.First, h.Last, w.First, w.Last)
			case h.Checksum != w.Checksum:
				return otherContents
			}
			return ""
		})
}
