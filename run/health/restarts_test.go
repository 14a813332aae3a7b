package health

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/record"
	"plimsoll/watch/series"
)

// Restarts of an unsupervised server appear in its own series.
func TestRestartsInTheSeriesAreFound(t *testing.T) {
	db := created(t, filepath.Join(t.TempDir(), "series"))
	defer db.Close()
	epoch := time.Now().Add(-time.Minute).Truncate(time.Second)
	label := func(kv ...string) (ls []series.Label) {
		for i := 0; i < len(kv); i += 2 {
			ls = append(ls, series.Label{Name: kv[i], Value: kv[i+1]})
		}
		return ls
	}
	for i := range 30 {
		late := float64(i / 15) // 0, then 1
		var s []series.Sample
		add := func(name string, v float64, kv ...string) {
			s = append(s, series.Sample{Name: name, Labels: label(kv...), Value: v})
		}
		add("process_start_time_seconds", 1000+100*late, "role", "app", "instance", "app-0")
		add("process_start_time_seconds", 1000, "role", "app", "instance", "app-1")
		add("plimsoll_process_start_seconds", 50+10*late, "role", "proxy", "instance", "proxy-0")
		// supervised here: other signs are better
		add("plimsoll_process_start_seconds", 50+10*late, "role", "app")
		add("plimsoll_process_gone", late, "role", "cache", "instance", "cache-0")
		add("plimsoll_process_gone", 0, "role", "cache", "instance", "cache-1")
		add("pg_postmaster_start_time_seconds", 7, "role", "db", "instance", "db-0")
		add(
			"plimsoll_pg_checkpointer_start_time_seconds",
			7+60*late,
			"role",
			"db",
			"instance",
			"db-0",
		)
		add(
			"mysql_global_status_uptime",
			float64(100+i)*(1-late)+float64(i)*late,
			"role",
			"db",
			"instance",
			"db-1",
		)
		add("nginx_connections_accepted", float64(i%20), "role", "proxy", "instance", "proxy-1")
		add("container_oom_events_total", late, "role", "app", "instance", "app-2")
		add("container_oom_events_total", late, "role", "db") // in one group with this program
		add("container_oom_events_total", late, "role", "self")
		if err := db.Append(epoch.Add(time.Duration(i)*time.Second), s); err != nil {
			t.Fatal(err)
		}
	}
	found := Restarts(t.Context(), db, epoch, 30*time.Second)
	var got []string
	for _, f := range found {
		if f.Gate != record.CrashGate || f.Level != record.Red {
			t.Errorf("%+v", f)
		}
		who, _, _ := strings.Cut(strings.TrimPrefix(f.Text, "the target did not stay up: "), ":")
		got = append(got, who)
	}
	slices.Sort(got)
	if want := []string{"app-0", "app-2", "cache-0", "db-0", "db-1", "proxy-0", "proxy-1"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("restarts of %q, want %q", got, want)
	}
}
