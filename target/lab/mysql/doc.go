// Package mysql is the product of package database for the MySQL family, MariaDB or MySQL.
//
// [Start] finds mariadbd or mysqld (PATH, then the usual directories; else Maven, where it is
// installed, obtains a real MySQL 8, see obtain). As root, which these servers refuse, it runs as
// the user mysql or as nobody. Option files of the system are not read. The clients' account is
// "plimsoll". Scripts of SQL, such as a dump by mysqldump, run in the server's own client.
//
// Durability (innodb_flush_log_at_trx_commit, sync_binlog, log_bin) and sizes stay at the server's
// own defaults unless changed by [Config].Settings. Changed are: max_connections (300),
// character_set_server (utf8mb4, the default of MySQL but not of MariaDB), skip_name_resolve,
// without which the server would resolve the name of 127.0.0.1, and performance_schema, which counts
// statements by digest and nothing else.
package mysql
