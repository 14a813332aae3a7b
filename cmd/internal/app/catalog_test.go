package app

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/evidence"
	"plimsoll/internal/failure"
	"plimsoll/judge/limiter"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// The wait of events follows from the events that all instances publish, since every hub gets them,
// and not from the number of sockets that each event is written to.
func TestEventsWaitForTheHub(t *testing.T) {
	epoch := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	db, err := series.Create(filepath.Join(t.TempDir(), "series"))
	failure.None(t, err)
	defer db.Close()
	for second := range 60 {
		s := float64(second)
		var out series.Samples
		for i, of := range []struct {
			instance         string
			waiting, publish float64
		}{{"app-0", 30, 20}, {"app-1", 0, 40}} {
			add := func(name, label, value string, v float64) {
				name = "mattermost_websocket_" + name
				out.Add(name, probe.Labels("role", "app", "instance", of.instance, label, value), v)
			}
			add("broadcast_buffer_size", "hub", "0", of.waiting)
			add("broadcast_buffer_size", "hub", "1", float64(i))
			add("event_total", "type", "posted", of.publish/2*s)
			add("event_total", "type", "typing", of.publish/2*s)
			add("broadcasts_total", "name", "posted", 3000*s)
		}
		failure.None(t, db.Append(epoch.Add(time.Duration(second)*time.Second), out))
	}
	const what = "time that an event waits before it is sent to WebSockets"
	i := slices.IndexFunc(new(App).Catalog().Indicators(), func(x limiter.Indicator) bool {
		return x.What == what
	})
	if i < 0 {
		t.Fatalf("there is no indicator %q", what)
	}
	got, err := db.Query(
		t.Context(),
		evidence.Expand(new(App).Catalog().Indicators()[i].Query, 5*time.Second),
		epoch.Add(59*time.Second),
	)
	if err != nil || len(got) != 1 || got[0].Labels["role"] != "app" ||
		math.Abs(got[0].Value-0.5) > 1e-6 {
		t.Errorf("30 events wait and 60 a second come: %v, %v, want 0.5 s", got, err)
	}
}

// The pages of postgres_exporter and mysqld_exporter name the limits of databases that nothing else
// watches.
func TestExportersOfDatabases(t *testing.T) {
	const postgres = `# TYPE pg_stat_activity_count gauge
pg_stat_activity_count{datname="chat",state="active",usename="mm",application_name="",backend_type="client backend",wait_event_type="",wait_event="",server="db:5432"} 20
pg_stat_activity_count{datname="chat",state="active",usename="mm",application_name="",backend_type="client backend",wait_event_type="Lock",wait_event="transactionid",server="db:5432"} 20
pg_stat_activity_count{datname="chat",state="idle",usename="mm",application_name="",backend_type="client backend",wait_event_type="Client",wait_event="ClientRead",server="db:5432"} 54
pg_stat_activity_count{datname="chat",state="active",usename="mm",application_name="",backend_type="parallel worker",wait_event_type="IPC",wait_event="BgWorkerShutdown",server="db:5432"} 4
pg_stat_activity_count{datname="chat",state="active",usename="",application_name="",backend_type="autovacuum worker",wait_event_type="",wait_event="",server="db:5432"} 2
pg_stat_activity_count{datname="other",state="idle",usename="x",application_name="",backend_type="client backend",wait_event_type="Client",wait_event="ClientRead",server="db:5433"} 50
# TYPE pg_settings_max_connections gauge
pg_settings_max_connections{server="db:5432"} 100
pg_settings_max_connections{server="db:5433"} 100
# TYPE pg_settings_superuser_reserved_connections gauge
pg_settings_superuser_reserved_connections{server="db:5432"} 3
pg_settings_superuser_reserved_connections{server="db:5433"} 3
# TYPE pg_replication_lag_seconds gauge
pg_replication_lag_seconds{server="db:5432"} 4.5
`
	const mysqld = `# TYPE mysql_global_status_threads_connected untyped
mysql_global_status_threads_connected 148
# TYPE mysql_global_status_threads_running untyped
mysql_global_status_threads_running 12
# TYPE mysql_global_status_innodb_row_lock_current_waits untyped
mysql_global_status_innodb_row_lock_current_waits 6
# TYPE mysql_global_variables_max_connections gauge
mysql_global_variables_max_connections 151
# TYPE mysql_slave_status_seconds_behind_master untyped
mysql_slave_status_seconds_behind_master{channel_name="",connection_name="",master_host="db-0",master_uuid="u"} 7
`
	// What the probe of kind postgresql has of sessions, and of a standby.
	const probed = `# TYPE pg_stat_activity_count gauge
pg_stat_activity_count{state="active"} 40
pg_stat_activity_count{state="idle"} 54
pg_stat_activity_count{state="idle in transaction"} 0
pg_stat_activity_count{state="idle in transaction (aborted)"} 0
pg_stat_activity_count{state="fastpath function call"} 0
pg_stat_activity_count{state="disabled"} 0
# TYPE plimsoll_pg_active_sessions gauge
plimsoll_pg_active_sessions{wait_event_type="none"} 30
plimsoll_pg_active_sessions{wait_event_type="IO"} 0
plimsoll_pg_active_sessions{wait_event_type="Lock"} 10
# TYPE plimsoll_pg_connections gauge
plimsoll_pg_connections 95
# TYPE plimsoll_pg_connections_used_ratio gauge
plimsoll_pg_connections_used_ratio 0.5
# TYPE pg_settings_max_connections gauge
pg_settings_max_connections 100
# TYPE pg_settings_superuser_reserved_connections gauge
pg_settings_superuser_reserved_connections 3
`
	const standby = `# TYPE plimsoll_replication_lag_seconds gauge
plimsoll_replication_lag_seconds 1.5
`
	const conns, locks, lag = "connections of the server in use, by its exporter", "active sessions that wait for a lock, by the server's exporter", "time that it is behind the server that it follows, by its exporter"
	for _, tt := range []struct {
		name, page, own string
		want            map[string]float64 // by indicator; those that are missing have no value
	}{
		{"postgres_exporter", postgres, "", map[string]float64{
			conns: 94.0 / 97,
			locks: 0.5,
			lag:   4.5,
		}},
		{"mysqld_exporter", mysqld, "", map[string]float64{
			conns: 148.0 / 151,
			"running threads that wait for a row lock": 0.5,
			lag: 7,
		}},
		{"beside a probe of ours", postgres, probed, map[string]float64{
			"connections of the server in use":     0.5,
			"active sessions that wait for a lock": 0.25,
			lag:                                    4.5,
		}},
		{"beside a watched standby", postgres, standby, map[string]float64{
			conns: 94.0 / 97,
			locks: 0.5,
			"time that it is behind the server that it follows": 1.5,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			epoch := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
			db, err := series.Create(filepath.Join(t.TempDir(), "series"))
			failure.None(t, err)
			defer db.Close()
			for second := range 10 {
				for page, instance := range map[string]string{
					tt.page: "db-0",
					tt.own:  "127.0.0.1:5432",
				} {
					failure.None(t,
						failure.Of(db.AppendText(epoch.Add(time.Duration(second)*time.Second), []byte(page), "text/plain; version=0.0.4", map[string]string{
							"role":     "db",
							"instance": instance,
						})))
				}
			}
			for _, x := range new(App).Catalog().Indicators() {
				want, some := tt.want[x.What]
				if !some && x.Limiter != limiter.LimitDBConns &&
					x.Limiter != limiter.LimitDBLocks &&
					x.Limiter != limiter.LimitLag {
					continue
				}
				got, err := db.Query(
					t.Context(),
					evidence.Expand(x.Query, 5*time.Second),
					epoch.Add(9*time.Second),
				)
				if err != nil || some != (len(got) == 1) ||
					some && (got[0].Labels["role"] != "db" || math.Abs(got[0].Value-want) > 1e-9) {
					t.Errorf("%s: %v, %v, want %v", x.What, got, err, want)
				}
			}
		})
	}
}
