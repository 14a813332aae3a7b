package health

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/watch/series"
)

// restartSigns are queries on a run's series that have an answer for each process that was not the
// same all the time, with the meaning of an answer. SPAN stands for the length of the run. They
// find restarts of unsupervised servers, by a probe or the target's own metrics.
var restartSigns = []struct{ query, what string }{
	{`max_over_time(plimsoll_process_gone{instance!=""}[SPAN]) > 0`, "a process of it was gone"},
	{
		`max_over_time(plimsoll_process_start_seconds{instance!=""}[SPAN]) - min_over_time(plimsoll_process_start_seconds{instance!=""}[SPAN]) > 1`,
		"a process of it was started anew",
	},
	{
		`max_over_time(process_start_time_seconds[SPAN]) - min_over_time(process_start_time_seconds[SPAN]) > 1`,
		"its process was started anew",
	},
	{
		`max_over_time(pg_postmaster_start_time_seconds[SPAN]) - min_over_time(pg_postmaster_start_time_seconds[SPAN]) > 1`,
		"the database server was started anew",
	},
	{
		`max_over_time(plimsoll_pg_checkpointer_start_time_seconds[SPAN]) - min_over_time(plimsoll_pg_checkpointer_start_time_seconds[SPAN]) > 1`,
		"the database server started its processes anew, as it does after a crash of one of them",
	},
	{`resets(mysql_global_status_uptime[SPAN]) > 0`, "the database server was started anew"},
	// a reload keeps the counter
	{`resets(nginx_connections_accepted[SPAN]) > 0`, "the proxy was started anew"},
	{
		`increase(container_oom_events_total{instance!=""}[SPAN]) > 0`,
		"a process in its control group was killed for memory",
	},
	// For programs that share their group with this one, the owner of the process is not known.
	{
		`increase(container_oom_events_total{instance="",role!="self"}[SPAN]) > 0 unless on() increase(container_oom_events_total{instance="",role="self"}[SPAN]) > 0`,
		"a process in its control group was killed for memory",
	},
}

// Restarts returns the findings of a run's series about processes that were not the same all the
// time.
func Restarts(
	ctx context.Context,
	db *series.DB,
	epoch time.Time,
	length time.Duration,
) (out []record.Finding) {
	if length < time.Second {
		return nil
	}
	span := fmt.Sprintf("%ds", int(length.Seconds()))
	seen := map[string]bool{}
	for _, sign := range restartSigns {
		res, err := db.Query(ctx, strings.ReplaceAll(sign.query, "SPAN", span), epoch.Add(length))
		if err != nil {
			return append(out, record.Finding{
				Gate:  "signals",
				Level: record.Red,
				Text:  "whether processes of the target were started anew is not known: " + err.Error(),
			})
		}
		for _, r := range res {
			who := cmp.Or(r.Labels["instance"], r.Labels["role"], "the target")
			if key := who + sign.what; seen[key] || len(out) >= mostCrashFindings {
				continue
			} else {
				seen[key] = true
			}
			out = append(out, record.Finding{
				Gate:  record.CrashGate,
				Level: record.Red,
				Value: r.Value,
				Text: fmt.Sprintf(
					"the target did not stay up: %s: %s during the run",
					who,
					sign.what,
				),
			})
		}
	}
	return out
}
