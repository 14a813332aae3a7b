package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/series"
)

// A graph is one of the ten of the release reports: its PromQL over a run's series, with $w for the rate window, and
// an alternative for the news feed, or for targets without metrics of their own.
type graph struct {
	spec      report.GraphSpec
	query, or string
}

// graphs are those that the reports of Mattermost's release team have, under their names.
func graphs() []graph {
	ms := func(name, title string, query func(metric string) string, metric, feed string) graph {
		return graph{report.GraphSpec{Name: name, Title: title, Unit: "ms", Scale: 1000}, query(metric), query(feed)}
	}
	avg := func(m string) string {
		return fmt.Sprintf("sum(rate(%[1]s_sum[$w])) / sum(rate(%[1]s_count[$w]))", m)
	}
	p99 := func(m string) string {
		return fmt.Sprintf("histogram_quantile(0.99, sum(rate(%s_bucket[$w])) by (le))", m)
	}
	return []graph{
		ms("avg-api-times", "Avg API times", avg, "mattermost_api_time", "newsfeed_request_seconds"),
		ms("p99-api-times", "P99 API times", p99, "mattermost_api_time", "newsfeed_request_seconds"),
		ms("avg-store-times", "Avg store times", avg, "mattermost_db_store_time", "newsfeed_store_seconds"),
		ms("p99-store-times", "P99 store times", p99, "mattermost_db_store_time", "newsfeed_store_seconds"),
		{report.GraphSpec{Name: "cpu-utilization", Title: "CPU utilization", Unit: "%", Scale: 1},
			"avg(rate(mattermost_process_cpu_seconds_total[$w])) * 100", `sum(rate(plimsoll_process_cpu_seconds_total{role="app"}[$w])) * 100`},
		{report.GraphSpec{Name: "goroutines-in-use", Title: "Goroutines in use", Unit: "", Scale: 1}, `sum(go_goroutines{role="app"})`, ""},
		{report.GraphSpec{Name: "heap-in-use", Title: "Heap in use", Unit: "MiB", Scale: 1.0 / (1 << 20)}, `avg(go_memstats_heap_inuse_bytes{role="app"})`, ""},
		{report.GraphSpec{Name: "number-of-connected-devices", Title: "Number of connected devices", Unit: "", Scale: 1}, "sum(mattermost_http_websockets_total)", ""},
		{report.GraphSpec{Name: "rps", Title: "RPS", Unit: "1/s", Scale: 1}, "sum(rate(mattermost_http_requests_total[$w]))", "sum(rate(newsfeed_request_seconds_count[$w]))"},
		{report.GraphSpec{Name: "stack-in-use", Title: "Stack in use", Unit: "MiB", Scale: 1.0 / (1 << 20)}, `avg(go_memstats_stack_inuse_bytes{role="app"})`, ""},
	}
}

func graphSpecs() []report.GraphSpec {
	var out []report.GraphSpec
	for _, g := range graphs() {
		out = append(out, g.spec)
	}
	return out
}

// readSeries evaluates the graphs of one run, by test and name. A graph without data is left out.
func readSeries(ctx context.Context, r *record.Run, pace float64) (map[string]map[string]report.Line, error) {
	db, err := series.Open(r.Dir + "/" + record.SeriesDir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	window := min(max(time.Duration(float64(time.Minute)*pace), 4*time.Second), time.Minute)
	out := map[string]map[string]report.Line{}
	for test, span := range testSpans(r.Manifest) {
		out[test] = map[string]report.Line{}
		from, to := r.Manifest.Epoch.Add(span[0]), r.Manifest.Epoch.Add(span[1])
		step := max(time.Second, (span[1]-span[0])/600).Round(time.Second)
		for _, g := range graphs() {
			for _, q := range []string{g.query, g.or} {
				if q == "" {
					continue
				}
				lines, err := db.Range(ctx, strings.ReplaceAll(q, "$w", window.String()), from, to, step)
				if err != nil {
					return nil, fmt.Errorf("graph %s: %w", g.spec.Name, err)
				}
				if line, ok := toLine(lines, from, g.spec.Scale); ok {
					out[test][g.spec.Name] = line
					break
				}
			}
		}
	}
	return out, nil
}

// testSpans returns the stretch of each test of a run: the bounded one from its ramp on, the unbounded one from the
// beginning of the search.
func testSpans(m record.Manifest) map[string][2]time.Duration {
	out := map[string][2]time.Duration{}
	if ph, ok := m.Phase("measure"); ok {
		out["bounded"] = [2]time.Duration{0, ph.To}
	}
	if ph, ok := m.Phase("search"); ok {
		out["unbounded"] = [2]time.Duration{ph.From, ph.To}
	}
	return out
}

func toLine(lines []series.Line, from time.Time, scale float64) (report.Line, bool) {
	if len(lines) != 1 {
		return report.Line{}, false
	}
	var out report.Line
	for i, t := range lines[0].T {
		if v := lines[0].V[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			out.T = append(out.T, t.Sub(from).Seconds())
			out.V = append(out.V, v*scale)
		}
	}
	return out, len(out.T) > 1
}
