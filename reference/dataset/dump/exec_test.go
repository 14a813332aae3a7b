package dump_test

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// exec runs one statement.
func exec(t *testing.T, dsn, statement string) {
	t.Helper()
	name, rest := "pgx", dsn
	if r, ok := strings.CutPrefix(dsn, "mysql://"); ok {
		name, rest = "mysql", r
	}
	db, err := sql.Open(name, rest)
	if err != nil {
		t.Fatal("the DSN cannot be used")
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
