package postgresql

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"plimsoll/target/lab/database"
)

// templateMark is the suffix of the template made from a database.
const templateMark = "_snapshot"

// drop drops a database and its template with their connections; WITH (FORCE) is there since
// version 13.
func drop(name string) []string {
	return []string{dropStatement(name), dropStatement(name + templateMark)}
}

func dropStatement(name string) string {
	return "DROP DATABASE IF EXISTS " + quote(name) + " WITH (FORCE)"
}

// keep turns a database into a template; the database becomes a copy of it.
func keep(ctx context.Context, in *database.View, name string) error {
	return admin(ctx, in, "postgres", func(conn *pgx.Conn) error {
		end := "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = " +
			literal(name) + " AND pid <> pg_backend_pid()"
		rename := "ALTER DATABASE " + quote(name) + " RENAME TO " + quote(name+templateMark)
		statements := []string{dropStatement(name + templateMark), end, rename}
		return run(ctx, conn, append(statements, copyStatements(conn, name)...))
	})
}

// putBack makes a database a copy of its template.
func putBack(ctx context.Context, in *database.View, name string) error {
	return admin(ctx, in, "postgres", func(conn *pgx.Conn) error {
		const query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
		var there bool
		if err := conn.QueryRow(ctx, query, name+templateMark).Scan(&there); err != nil {
			return err
		}
		if !there {
			return errors.New("there is no snapshot of it")
		}
		return run(ctx, conn, append([]string{dropStatement(name)}, copyStatements(conn, name)...))
	})
}

// copyStatements make a database from its template. Before version 15 a file copy is the only way;
// since then the default writes every page to the log instead, which a large database pays at each
// reset. What ALTER DATABASE and GRANT have set is not in the files, and CREATE DATABASE leaves it
// out.
func copyStatements(conn *pgx.Conn, name string) []string {
	create := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(name+templateMark)
	if major(conn) >= 15 {
		create += " STRATEGY file_copy"
	}
	of := " WHERE d.datname = " + literal(name) + " AND t.datname = " + literal(name+templateMark)
	return []string{
		create,
		"INSERT INTO pg_db_role_setting (setdatabase, setrole, setconfig) " +
			"SELECT d.oid, s.setrole, s.setconfig FROM pg_database d, pg_database t, pg_db_role_setting s" +
			of + " AND s.setdatabase = t.oid",
		"UPDATE pg_database d SET datdba = t.datdba, datacl = t.datacl, datconnlimit = t.datconnlimit " +
			"FROM pg_database t" + of,
	}
}

// major returns the major version of a server.
func major(conn *pgx.Conn) int {
	text, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), ".")
	n, _ := strconv.Atoi(text)
	return n
}

// literal quotes a text.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
