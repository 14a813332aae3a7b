package refchat

import (
	"context"
	"database/sql"
	_ "embed" // the tables
	"fmt"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the value of the name "schema" in a database's systems table; with another
// version the server refuses it.
const SchemaVersion = "3"

// table is a table of schema.txt.
type table struct {
	name    string
	columns string
	indexes []string // "INDEX name: columns", or with UNIQUE or FULLTEXT
}

//go:embed schema.txt
var schema string

// readTables reads schema.txt.
func readTables() (list []table) {
	for block := range strings.SplitSeq(strings.TrimSpace(schema), "\n\n") {
		if block[0] == '#' {
			continue
		}
		lines := strings.Split(block, "\n\t")
		n := len(lines)
		if i := slices.IndexFunc(lines, isIndex); i >= 0 {
			n = i
		}
		list = append(list, table{lines[0], strings.Join(lines[1:n], " "), lines[n:]})
	}
	return list
}

func isIndex(line string) bool { return strings.Contains(line, ": ") }

// create returns the statement that makes the table.
func (t table) create(eng *engine) string {
	columns := eng.types.Replace(t.columns)
	return "CREATE TABLE IF NOT EXISTS " + t.name + " (" + columns + ")" + eng.suffix
}

// index returns the statement that makes one of the table's indexes.
func (t table) index(eng *engine, spec string) string {
	head, columns, _ := strings.Cut(spec, ": ")
	kind, name, _ := strings.Cut(head, " ")
	switch kind {
	case "FULLTEXT":
		return eng.fullText(t.name, name, columns)
	case "UNIQUE":
		kind = "UNIQUE INDEX"
	}
	return fmt.Sprintf("CREATE %s %s ON %s (%s)", kind, name, t.name, columns)
}

// Migrate makes the schema in an empty database; it does nothing to one that has it.
func Migrate(ctx context.Context, dsn string) error {
	db, eng, err := openDB(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer db.Close()
	return migrate(ctx, db, eng)
}

// migrate makes the schema in an empty database and accepts one that is there. Servers that start
// together wait for each other on an advisory lock.
func migrate(ctx context.Context, db *sql.DB, eng *engine) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, eng.lock); err != nil {
		return fmt.Errorf("migrating: taking the lock: %w", err)
	}
	defer func() {
		if _, uerr := c.ExecContext(context.WithoutCancel(ctx), eng.unlock); err == nil &&
			uerr != nil {
			err = fmt.Errorf("migrating: releasing the lock: %w", uerr)
		}
	}()
	tables := readTables()
	if _, err := c.ExecContext(ctx, tables[0].create(eng)); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	var have string
	err = c.QueryRowContext(ctx, "SELECT value FROM systems WHERE name = 'schema'").Scan(&have)
	switch {
	case err == nil && have == SchemaVersion:
		return nil
	case err == nil:
		return fmt.Errorf(
			"migrating: the database has schema %q, this server wants %q: start from an empty database",
			have,
			SchemaVersion,
		)
	case err != sql.ErrNoRows:
		return fmt.Errorf("migrating: %w", err)
	}
	for _, t := range tables[1:] {
		if _, err := c.ExecContext(ctx, t.create(eng)); err != nil {
			return fmt.Errorf("migrating: table %s: %w", t.name, err)
		}
		for _, spec := range t.indexes {
			if _, err := c.ExecContext(ctx, t.index(eng, spec)); err != nil {
				return fmt.Errorf("migrating: index %s: %w", spec, err)
			}
		}
	}
	if _, err := c.ExecContext(ctx, "INSERT INTO systems (name, value) VALUES ('schema', '"+SchemaVersion+"')"); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}
