package limiter

// ofExporters are the indicators of databases that are watched by postgres_exporter or
// mysqld_exporter alone, by the names of their pages. What the probes of this program see has
// precedence. A series that an exporter leaves out while its count is 0 is counted as 0, so sums
// over time are divided by each other.
func ofExporters() []Indicator {
	by := func(f, metric string) string {
		return f + " by (role, instance, server) (" + metric + ")"
	}
	// Workers of a query and of autovacuum take no connection slot, as other processes of the
	// server do not. Older exporters have no such label, and count all.
	const (
		clients  = `backend_type=~"|client backend"`
		activity = `pg_stat_activity_count{state="active",` + clients + `}`
		locked   = `pg_stat_activity_count{state="active",wait_event_type="Lock",` + clients + `}`
	)
	// The page of our own probe has the same name without the wait, so one role's series of both
	// must not be added up.
	unless := func(own string) string { return " unless on (role) (" + own + ")" }
	probed := unless("plimsoll_pg_connections_used_ratio or plimsoll_mysql_connections_used_ratio")
	seen := unless("plimsoll_pg_active_sessions")
	pg := by("sum", "pg_stat_activity_count{"+clients+"}") +
		" / (" + by("max", "pg_settings_max_connections") +
		" - " + by("max", "pg_settings_superuser_reserved_connections") + " > 0)"
	my := by("max", "mysql_global_status_threads_connected") +
		" / (" + by("max", "mysql_global_variables_max_connections") + " > 0)"
	waits := `sum by (role) (sum_over_time(` + locked + `[$w]))`
	share := waits + ` / clamp_min(sum by (role) (sum_over_time(` + activity + `[$w])), 1)`
	lag := `max_over_time(pg_replication_lag_seconds[$w]) or max_over_time(pg_replication_lag[$w]) or max_over_time(mysql_slave_status_seconds_behind_master[$w]) or max_over_time(mysql_slave_status_seconds_behind_source[$w])`
	return []Indicator{
		{
			LimitDBConns,
			Utilization,
			"connections of the server in use, by its exporter",
			"max by (role) (" + pg + " or " + my + ")" + probed,
			"",
			0.95,
			"ratio",
			false,
		},
		{
			LimitDBLocks,
			Saturation,
			"active sessions that wait for a lock, by the server's exporter",
			share + seen,
			waits + seen,
			0.30,
			"ratio",
			false,
		},
		{
			LimitLag,
			Saturation,
			"time that it is behind the server that it follows, by its exporter",
			"max by (role) (" + lag + ")" + unless("plimsoll_replication_lag_seconds"),
			"",
			lagLimit,
			"s",
			false,
		},
	}
}
