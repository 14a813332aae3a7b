package evidence

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// storeFloor is the smallest difference of a call to a store that matters, in milliseconds: a tenth
// of a request's, which makes several such calls.
const storeFloor = 0.2

// cpuFloor is the smallest difference of an operation's CPU time that matters, in milliseconds.
const cpuFloor = 0.02

// goMetrics are the runtime metrics of servers written in Go over the measured phase ($w).
var goMetrics = []dialect.Gauge{
	{
		Name:  "goroutines of app",
		Query: `sum(avg_over_time(go_goroutines{role="app"}[$w]))`,
		Floor: 10,
	},
	{
		Name:  "heap of app",
		Unit:  "MiB",
		Query: `sum(avg_over_time(go_memstats_heap_inuse_bytes{role="app"}[$w])) / 1048576`,
		Floor: 1,
	},
	{
		Name:  "stack of app",
		Unit:  "MiB",
		Query: `sum(avg_over_time(go_memstats_stack_inuse_bytes{role="app"}[$w])) / 1048576`,
		Floor: 1,
	},
	{
		Name:  "garbage collection of app",
		Unit:  "% of its CPU",
		Query: `100 * sum(rate(go_cpu_classes_gc_total_cpu_seconds_total{role="app"}[$w])) / (sum(rate(go_cpu_classes_total_cpu_seconds_total{role="app"}[$w])) - sum(rate(go_cpu_classes_idle_cpu_seconds_total{role="app"}[$w])))`,
		Floor: 1,
	},
}

// gauges returns the gauges of Go programs and of the dialects' servers; of two with one name, the
// first that has an answer counts.
func (c *Catalog) gauges() []dialect.Gauge {
	all := slices.Clone(goMetrics)
	for _, d := range c.Dialects {
		all = append(all, d.Metrics.Gauges...)
	}
	return all
}

// Secondary returns a reader of the numbers beside the endpoints that the series of a run's
// measured phase give: costs, CPU, memory and more of the target's servers, and the calls to its
// stores. A number that the target does not show is missing.
func (c *Catalog) Secondary(ctx context.Context) comparison.Reader {
	return func(r *record.Run) ([]comparison.SecondaryValue, error) {
		ph, ok := r.Manifest.Phase("measure")
		if !ok {
			return nil, nil
		}
		x, err := c.Of(r).readPhase(ph)
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
			out = append(out, alone("CPU of "+role, "% of one core", 1, cpu[role]))
		}
		for _, role := range slices.Sorted(maps.Keys(memory)) {
			out = append(out, alone("most memory of "+role, "MiB", 8, memory[role]/(1<<20)))
		}
		for _, m := range c.gauges() {
			if slices.ContainsFunc(out, func(f comparison.SecondaryValue) bool {
				return f.Name == m.Name
			}) {
				continue
			}
			got, err := x.ask(ctx, m.Query)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			if v, ok := got[""]; ok && len(got) == 1 {
				one := alone(m.Name, m.Unit, m.Floor, v)
				if m.Higher {
					one.Better = plan.Higher
				}
				out = append(out, one)
			}
		}
		for _, d := range c.Dialects {
			for _, t := range d.Metrics.Stores {
				more, err := x.stores(ctx, t.Metric, t.By)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t.Metric, err)
				}
				out = append(out, more...)
			}
		}
		return out, nil
	}
}

// alone is a number of which less is better.
func alone(name, unit string, floor, value float64) comparison.SecondaryValue {
	return comparison.SecondaryValue{
		Name:   name,
		Unit:   unit,
		Better: plan.Lower,
		Floor:  floor,
		Value:  value,
		Alone:  true,
	}
}

// stores returns mean and p99 of every kind of call that a histogram counts, in milliseconds. The
// p99 is read from its buckets, so a change within a bucket is a guess of the histogram's.
func (x phaseReader) stores(
	ctx context.Context,
	metric string,
	by []string,
) ([]comparison.SecondaryValue, error) {
	labels := strings.Join(by, ", ")
	// Last value less first: rate and increase would read every sample of the phase. A series that
	// is missing at first began at 0.
	grown := func(name string) string {
		return fmt.Sprintf("%[1]s - (%[1]s offset $w or 0 * %[1]s)", metric+name)
	}
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
	var out []comparison.SecondaryValue
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		n, call := math.Round(calls[name]), "store "+name
		if n < 1 {
			continue
		}
		f := comparison.SecondaryValue{
			Unit:   "ms",
			Better: plan.Lower,
			Floor:  storeFloor,
			Count:  n,
			Calls:  call,
		}
		mean, tail := f, f
		if n >= stats.TailOps { // else there is the number of calls alone
			mean.Name = "mean(" + call + ")"
			mean.Value = 1e3 * seconds[name] / calls[name]
			mean.Mean = true
		}
		out = append(out, mean)
		if stats.QuantileSupported(0.99, uint64(n), n) {
			tail.Name, tail.Value = "p99("+call+")", 1e3*p99[name]
			out = append(out, tail)
		}
	}
	return out, nil
}
