// Package postgresql samples a PostgreSQL server, from version 13 on, over one connection that it
// keeps.
//
// # Metrics
//
// Under the names and units of postgres_exporter, with the labels that [New] is given:
//
//	pg_stat_activity_count{state}             sessions of clients but the probe's own
//	pg_stat_database_{numbackends,xact_commit,xact_rollback,blks_read,blks_hit,tup_returned,tup_fetched,tup_inserted,
//	  tup_updated,tup_deleted,conflicts,temp_files,temp_bytes,deadlocks}{datname}, and
//	pg_stat_database_{blk_read_time,blk_write_time}{datname}   milliseconds; 0 unless track_io_timing is on
//	                                          all of the database of the DSN
//	pg_stat_bgwriter_*_total                  checkpoints, buffers written, times in milliseconds (to version 16)
//	pg_stat_checkpointer_*_total              the same from version 17 on
//	pg_postmaster_start_time_seconds, plimsoll_pg_checkpointer_start_time_seconds (a crash of any process renews the latter)
//	pg_settings_max_connections, pg_settings_superuser_reserved_connections
//
// and, where it has no name:
//
//	plimsoll_pg_active_sessions{wait_event_type}  active sessions by wait event; "none": they run;
//	                                          "LWLock:WALWrite", not in "LWLock": for another one's write of the log
//	plimsoll_pg_blocked_sessions              those that wait for a lock that another session holds
//	plimsoll_pg_longest_transaction_seconds   age of the oldest transaction of a client; 0 without one
//	plimsoll_pg_connections                   of clients, the probe's own included
//	plimsoll_pg_connections_used_ratio        of those that ordinary users may have
//	plimsoll_pg_wal_bytes_total, plimsoll_pg_wal_buffers_full_total   from version 14 on
//	plimsoll_pg_wal_syncs_total               versions 14 to 17
//
// Metrics that a version does not offer are left out.
//
// # Statements
//
// [StatementCounters] reads pg_stat_statements at the two ends of a time, and plans after it, over
// connections of its own. No constant of a statement leaves it.
//
// # Privileges
//
// The role of the DSN needs pg_monitor (or to be a superuser): others do not see the wait events of
// foreign sessions, and then the probe returns an error. It takes one connection of those that are
// left. A pooler in between would hide the server's sessions: point the DSN at the server itself.
//
// # Secrets
//
// The DSN is a secret. No error, name or label holds any part of it.
package postgresql
