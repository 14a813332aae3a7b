package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/series"
)

// A graph is one of the ten of the release reports: its PromQL over a run's series, with $w for the rate window, and
// an alternative for the news feed, or for targets without metrics of their own.
type graph struct {
	spec      report.GraphSpec
	query, or string
	// needs names the metrics that it is made of, for the reader of a graph without data.
	needs string
	// gauge says that query reads what is there at an instant, and not a rate: then every sample is looked at.
	gauge bool
	// histograms are those of query and or, where both ask for stat (mean or p99) of a histogram: then the sums are read without the
	// engine, in one pass over thousands of series.
	histograms []string
	stat       string
}

// graphs are those that the reports of Mattermost's release team have, under their names.
func graphs() []graph {
	ms := func(name, title, stat, metric, feed string) graph {
		query := map[string]func(string) string{mean: meanQuery, p99: p99Query}[stat]
		return graph{spec: report.GraphSpec{Name: name, Title: title, Unit: "ms", Scale: 1000}, query: query(metric), or: query(feed), needs: metric + " or " + feed,
			histograms: []string{metric, feed}, stat: stat}
	}
	gauge := func(name, title, unit string, scale float64, query, needs string) graph {
		return graph{spec: report.GraphSpec{Name: name, Title: title, Unit: unit, Scale: scale}, query: query, needs: needs, gauge: true}
	}
	return []graph{
		ms("avg-api-times", "Avg API times", mean, "mattermost_api_time", "newsfeed_request_seconds"),
		ms("p99-api-times", "P99 API times", p99, "mattermost_api_time", "newsfeed_request_seconds"),
		ms("avg-store-times", "Avg store times", mean, "mattermost_db_store_time", "newsfeed_store_seconds"),
		ms("p99-store-times", "P99 store times", p99, "mattermost_db_store_time", "newsfeed_store_seconds"),
		{spec: report.GraphSpec{Name: "cpu-utilization", Title: "CPU utilization", Unit: "% of a core", Scale: 1},
			query: "avg(rate(mattermost_process_cpu_seconds_total[$w])) * 100", or: `sum(rate(plimsoll_process_cpu_seconds_total{role="app"}[$w])) * 100`,
			needs: "mattermost_process_cpu_seconds_total, or a process of the role app that runs on a host that is watched"},
		gauge("goroutines-in-use", "Goroutines in use", "", 1, `sum(go_goroutines{role="app"})`, "go_goroutines"),
		gauge("heap-in-use", "Heap in use", "MiB", 1.0/(1<<20), `avg(go_memstats_heap_inuse_bytes{role="app"})`, "go_memstats_heap_inuse_bytes"),
		gauge("number-of-connected-devices", "Number of connected devices", "", 1, "sum(mattermost_http_websockets_total)", "mattermost_http_websockets_total"),
		{spec: report.GraphSpec{Name: "rps", Title: "RPS", Unit: "1/s", Scale: 1}, query: "sum(rate(mattermost_http_requests_total[$w]))",
			or: "sum(rate(newsfeed_request_seconds_count[$w]))", needs: "mattermost_http_requests_total or newsfeed_request_seconds_count"},
		gauge("stack-in-use", "Stack in use", "MiB", 1.0/(1<<20), `avg(go_memstats_stack_inuse_bytes{role="app"})`, "go_memstats_stack_inuse_bytes"),
	}
}

// graphSpecs describes the graphs, with the threshold of each rule of the plan that asks for exactly what a graph shows.
func graphSpecs(p *plan.Plan) []report.GraphSpec {
	var rules []plan.SLO
	if p.Bounded != nil {
		rules = p.Bounded.SLO // as written, with $window
	}
	if p.Unbounded != nil {
		rules = slices.Concat(rules, p.Unbounded.SLO)
	}
	var out []report.GraphSpec
	for _, g := range graphsOf(p.Target.Driver) {
		for _, r := range rules {
			if r.Stat == "promql" && r.Less && sameQuery(r.Arg, g.query, g.or) {
				g.spec.Threshold = &report.Threshold{Rule: r.Source, Value: r.Threshold * g.spec.Scale}
			}
		}
		out = append(out, g.spec)
	}
	return out
}

// What a graph shows of a histogram.
const (
	mean = "mean"
	p99  = "p99"
)

func meanQuery(m string) string {
	return fmt.Sprintf("sum(rate(%[1]s_sum[$w])) / sum(rate(%[1]s_count[$w]))", m)
}

func p99Query(m string) string {
	return fmt.Sprintf("histogram_quantile(0.99, sum(rate(%s_bucket[$w])) by (le))", m)
}

// histogram is what meanQuery or p99Query of a metric gives.
func (x *stretch) histogram(ctx context.Context, metric, stat string) (series.Line, error) {
	var out series.Line
	if stat == p99 {
		lines, err := x.db.SumRate(ctx, metric+"_bucket", "le", x.window, x.from, x.to, x.coarse)
		if err != nil {
			return out, err
		}
		return series.QuantileOf(0.99, lines), nil
	}
	var parts [2]series.Line
	for i, suffix := range []string{"_sum", "_count"} {
		lines, err := x.db.SumRate(ctx, metric+suffix, "", x.window, x.from, x.to, x.coarse)
		if err != nil || len(lines) == 0 {
			return out, err
		}
		parts[i] = lines[0]
	}
	k := 0
	for i, t := range parts[0].T {
		for k < len(parts[1].T) && parts[1].T[k].Before(t) {
			k++
		}
		if k < len(parts[1].T) && parts[1].T[k].Equal(t) {
			out.T, out.V = append(out.T, t), append(out.V, parts[0].V[i]/parts[1].V[k])
		}
	}
	return out, nil
}

// sameQuery reports whether a rule's expression is one of these queries, but for spaces and its window.
func sameQuery(rule string, queries ...string) bool {
	plain := strings.NewReplacer(" ", "", "[$window]", "[$w]")
	for _, q := range queries {
		if q != "" && plain.Replace(rule) == plain.Replace(q) {
			return true
		}
	}
	return false
}

// A stretch asks questions about one test of a run, from its beginning to its end.
type stretch struct {
	db       *series.DB
	from, to time.Time
	// coarse is the step of rates, whose window leaves nothing out between two steps; fine that of what is read at an instant.
	coarse, fine, window time.Duration
}

// newStretch begins with the first second of span. Rates look back over window, or over one step where that is longer.
func newStretch(db *series.DB, epoch time.Time, span [2]time.Duration, window time.Duration) *stretch {
	length := span[1] - span[0]
	step := func(points time.Duration) time.Duration {
		return max(((length / points) + time.Second - 1).Truncate(time.Second), time.Second)
	}
	x := &stretch{db: db, from: epoch.Add(span[0]), to: epoch.Add(span[1]), coarse: step(report.GridPoints), fine: step(series.MaxPoints / 2)}
	x.window = max(window, x.coarse).Truncate(time.Second)
	return x
}

// lines evaluates a query at every step; of a gauge at every second, as long as that are not too many.
func (x *stretch) lines(ctx context.Context, query string, gauge bool) ([]series.Line, error) {
	step := x.coarse
	if gauge {
		step = x.fine
	}
	return x.db.Range(ctx, strings.ReplaceAll(query, "$w", x.window.String()), x.from, x.to, step)
}

// graph evaluates one of the ten: its query, or the alternative.
func (x *stretch) graph(ctx context.Context, g graph) (report.Line, bool, error) {
	for _, name := range g.histograms {
		if line, err := x.histogram(ctx, name, g.stat); err != nil || len(line.T) > 1 {
			return x.line(line, g.spec.Scale), err == nil, err
		}
	}
	for _, q := range []string{g.query, g.or} {
		if q == "" || len(g.histograms) > 0 {
			continue
		}
		lines, err := x.lines(ctx, q, g.gauge)
		if err != nil {
			return report.Line{}, false, err
		}
		if len(lines) != 1 {
			continue
		}
		if line := x.line(lines[0], g.spec.Scale); len(line.T) > 1 {
			return line, true, nil
		}
	}
	return report.Line{}, false, nil
}

// whyNot says why a graph has no data: nobody looked, nothing answered, or the answer did not have it.
func (x *stretch) whyNot(ctx context.Context, g graph) (string, error) {
	up, err := x.db.Query(ctx, fmt.Sprintf(`max(max_over_time(plimsoll_probe_up{probe=~"scrape.*|prometheus app-.*"}[%s]))`, max(x.to.Sub(x.from).Truncate(time.Second), time.Second)), x.to)
	switch {
	case err != nil:
		return "", err
	case len(up) == 0:
		return "no metrics page of the target was read (target.metrics_url, or probes, in the plan), so there is no " + g.needs, nil
	case up[0].Value == 0:
		return "the target's metrics page never answered, so there is no " + g.needs, nil
	}
	return "the target's metrics page has no " + g.needs, nil
}

// line is the curve of a series on the clock of the test, without what is no number.
func (x *stretch) line(l series.Line, scale float64) report.Line {
	out := report.Line{T: make([]float64, 0, len(l.T)), V: make([]float64, 0, len(l.T))}
	for i, t := range l.T {
		if v := l.V[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			out.T = append(out.T, t.Sub(x.from).Seconds())
			out.V = append(out.V, v*scale)
		}
	}
	return out
}

// testSpans returns the stretch of each test of a run: the bounded one from its ramp on, the unbounded one from the
// beginning of the search. Each has a clock of its own.
func testSpans(m record.Manifest) map[string][2]time.Duration {
	out := map[string][2]time.Duration{}
	if ph, ok := m.Phase("measure"); ok {
		out[report.Bounded] = [2]time.Duration{0, ph.To}
	}
	if ph, ok := m.Phase("search"); ok {
		out[report.Unbounded] = [2]time.Duration{ph.From, ph.To}
	}
	return out
}
