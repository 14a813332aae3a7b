// Package mysql samples a server that speaks MySQL's protocol, MySQL from 5.7 or MariaDB from 10.3
// on, over one connection that it keeps.
//
// # Metrics
//
// SHOW GLOBAL STATUS under the names and units of mysqld_exporter, with the labels that [New] is
// given:
//
//	mysql_global_status_threads_{running,connected,cached,created}
//	mysql_global_variables_max_connections, mysql_global_status_max_used_connections
//	mysql_global_status_{connections,aborted_connects,aborted_clients}, mysql_global_status_connection_errors_total{error}
//	mysql_global_status_{queries,questions,slow_queries}, mysql_global_status_commands_total{command}
//	mysql_global_status_innodb_row_lock_{current_waits,waits,time,time_max}   milliseconds
//	mysql_global_status_innodb_deadlocks (MariaDB), mysql_global_status_table_locks_waited
//	mysql_global_status_innodb_row_ops_total{operation}
//	mysql_global_variables_innodb_buffer_pool_size, mysql_global_status_buffer_pool_pages{state} (data, free, misc),
//	mysql_global_status_buffer_pool_dirty_pages, mysql_global_status_innodb_buffer_pool_{read_requests,reads,wait_free}
//	mysql_global_status_innodb_log_waits      times the buffer of the redo log was too small
//	mysql_global_status_innodb_{os_log_written,os_log_fsyncs,os_log_pending_fsyncs,data_fsyncs,data_pending_fsyncs,
//	  data_reads,data_writes,data_read,data_written,checkpoint_age,checkpoint_max_age}
//	mysql_global_status_uptime                seconds; a fall of it is a restart
//	mysql_global_status_created_tmp_{tables,disk_tables,files}, mysql_global_status_sort_merge_passes
//	mysql_global_status_table_open_cache_overflows, mysql_global_status_{bytes_received,bytes_sent}
//
// and, where it has no name:
//
//	plimsoll_mysql_connections_used_ratio     connections, the probe's own included, of those that the server allows
//
// threads_running contains the probe's own thread. Metrics that a version lacks are left out.
// All of that is there without performance_schema, which is off by default on MariaDB.
//
// # Statements
//
// [DigestCounters] reads the digests of performance_schema at the two ends of a time, and plans after
// it, over a connection of its own. MariaDB keeps no sample of a statement, without which there is
// no plan. No constant of a statement leaves the package.
//
// # Privileges
//
// None beyond logging in.
//
// # Secrets
//
// The DSN is a secret. No error, name or label holds any part of it.
package mysql
