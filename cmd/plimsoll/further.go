package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/comparison"
	"plimsoll/record"
	"plimsoll/series"
	"plimsoll/stats"
	"plimsoll/verdict"
)

// storeFloor is the smallest difference of a call to a store that matters, in milliseconds: a tenth of that of a request, which makes
// several such calls.
const storeFloor = 0.2

// cpuFloor is the smallest difference of an operation's CPU time that matters, in milliseconds.
const cpuFloor = 0.02

// storeTimes are the histograms of how long the targets' calls to their stores take, in seconds, and the labels that name a call.
var storeTimes = []struct {
	metric string
	by     []string
}{
	{"mattermost_db_store_time", []string{"method"}},
	{"newsfeed_store_seconds", []string{"store", "operation"}},
}

// serverMetrics are what servers show of themselves over a stretch ($w); of two with one name, the first that has an answer counts.
var serverMetrics = []struct {
	name, unit, query string
	better            verdict.Direction
	floor             float64
}{
	{"goroutines of app", "", `sum(avg_over_time(go_goroutines{role="app"}[$w]))`, verdict.Lower, 10},
	{"heap of app", "MiB", `sum(avg_over_time(go_memstats_heap_inuse_bytes{role="app"}[$w])) / 1048576`, verdict.Lower, 1},
	{"stack of app", "MiB", `sum(avg_over_time(go_memstats_stack_inuse_bytes{role="app"}[$w])) / 1048576`, verdict.Lower, 1},
	{"garbage collection of app", "% of its CPU",
		`100 * sum(rate(go_cpu_classes_gc_total_cpu_seconds_total{role="app"}[$w])) / (sum(rate(go_cpu_classes_total_cpu_seconds_total{role="app"}[$w])) - sum(rate(go_cpu_classes_idle_cpu_seconds_total{role="app"}[$w])))`,
		verdict.Lower, 1},
	{"connected devices", "", `sum(avg_over_time(mattermost_http_websockets_total[$w]))`, verdict.Higher, 1},
	{"requests served", "1/s", `sum(rate(mattermost_http_requests_total[$w]))`, verdict.Higher, 0.1},
	{"requests served", "1/s", `sum(rate(newsfeed_request_seconds_count[$w]))`, verdict.Higher, 0.1},
}

// furtherOf reads what the series of a run's measured phase say of the target: CPU, memory and more of its servers, and the calls to its
// stores. What a target does not show is not there.
func furtherOf(ctx context.Context) comparison.Reader {
	return func(r *record.Run) ([]comparison.Further, error) {
		ph, ok := r.Manifest.Phase("measure")
		if !ok {
			return nil, nil
		}
		x, err := openStretch(r, ph)
		if err != nil {
			return nil, err
		}
		defer x.db.Close()
		cpu, memory, err := x.load(ctx)
		if err != nil {
			return nil, err
		}
		out, err := x.costs(ctx)
		if err != nil {
			return nil, err
		}
		for _, role := range slices.Sorted(maps.Keys(cpu)) {
			out = append(out, comparison.Further{Name: "CPU of " + role, Unit: "% of one core", Better: verdict.Lower, Floor: 1, Value: cpu[role], Alone: true})
		}
		for _, role := range slices.Sorted(maps.Keys(memory)) {
			out = append(out, comparison.Further{Name: "most memory of " + role, Unit: "MiB", Better: verdict.Lower, Floor: 8, Value: memory[role] / (1 << 20), Alone: true})
		}
		for _, m := range serverMetrics {
			if slices.ContainsFunc(out, func(f comparison.Further) bool { return f.Name == m.name }) {
				continue
			}
			got, err := x.ask(ctx, m.query)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name, err)
			}
			if v, ok := got[""]; ok && len(got) == 1 {
				out = append(out, comparison.Further{Name: m.name, Unit: m.unit, Better: m.better, Floor: m.floor, Value: v, Alone: true})
			}
		}
		for _, t := range storeTimes {
			more, err := x.stores(ctx, t.metric, t.by)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.metric, err)
			}
			out = append(out, more...)
		}
		return out, nil
	}
}

// stretchOf asks the series of a run about one phase.
type stretchOf struct {
	db    *series.DB
	run   *record.Run
	phase record.Phase
}

// openStretch opens the series of a run; the caller closes them.
func openStretch(r *record.Run, ph record.Phase) (stretchOf, error) {
	db, err := openSeries(r.Dir)
	return stretchOf{db: db, run: r, phase: ph}, err
}

// ask evaluates a query over the whole phase ($w). The answers are named by the values of the labels by, joined by points.
func (x stretchOf) ask(ctx context.Context, query string, by ...string) (map[string]float64, error) {
	query = strings.ReplaceAll(query, "$w", fmt.Sprintf("%dms", (x.phase.To-x.phase.From).Milliseconds()))
	res, err := x.db.Query(ctx, query, x.run.Manifest.Epoch.Add(x.phase.To))
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, r := range res {
		names := make([]string, len(by))
		for i, l := range by {
			names[i] = r.Labels[l]
		}
		if !math.IsNaN(r.Value) && !math.IsInf(r.Value, 0) {
			out[strings.Join(names, ".")] = r.Value
		}
	}
	return out, nil
}

// stores returns mean and p99 of every kind of call that a histogram counts, in milliseconds. The p99 is read from its buckets, so a
// change within a bucket is a guess of the histogram's.
func (x stretchOf) stores(ctx context.Context, metric string, by []string) ([]comparison.Further, error) {
	labels := strings.Join(by, ", ")
	// Last value less first: rate and increase would read every sample of the phase. What was not there at first began at 0.
	grown := func(name string) string { return fmt.Sprintf("%[1]s - (%[1]s offset $w or 0 * %[1]s)", metric+name) }
	var calls, seconds, p99 map[string]float64
	for _, q := range []struct {
		to    *map[string]float64
		query string
	}{
		{&calls, fmt.Sprintf("sum by (%s) (%s)", labels, grown("_count"))},
		{&seconds, fmt.Sprintf("sum by (%s) (%s)", labels, grown("_sum"))},
		{&p99, fmt.Sprintf("histogram_quantile(0.99, sum by (%s, le) (%s))", labels, grown("_bucket"))},
	} {
		var err error
		if *q.to, err = x.ask(ctx, q.query, by...); err != nil {
			return nil, err
		}
		if len(calls) == 0 {
			return nil, nil
		}
	}
	var out []comparison.Further
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		n, call := math.Round(calls[name]), "store "+name
		if n < 1 {
			continue
		}
		f := comparison.Further{Unit: "ms", Better: verdict.Lower, Floor: storeFloor, Count: n, Calls: call}
		mean, tail := f, f
		if n >= stats.TailOps { // else there is the number of calls alone
			mean.Name, mean.Value, mean.Mean = "mean("+call+")", 1e3*seconds[name]/calls[name], true
		}
		out = append(out, mean)
		if stats.QuantileSupported(0.99, uint64(n), n) {
			tail.Name, tail.Value = "p99("+call+")", 1e3*p99[name]
			out = append(out, tail)
		}
	}
	return out, nil
}
