package evidence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/drift"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// Drift returns the drift of the signals in the measured phase of the run; nil if it has no such
// phase.
func (r *Run) Drift(ctx context.Context) ([]drift.Drift, error) {
	c, err := r.Course()
	if err != nil || c == nil {
		return nil, err
	}
	return r.DriftIn(ctx, c)
}

// DriftIn is [Run.Drift] for a course of the measured phase that was read already ([Run.Course]).
func (r *Run) DriftIn(ctx context.Context, c *record.Course) ([]drift.Drift, error) {
	db, err := r.Series()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return r.drift(ctx, db, c)
}

// allOps is the group of all operations of the steady state.
const allOps = "op"

// newCourse returns an empty course of the measured phase of a run, by operation and for all of the
// steady state together; nil if the run has no measured phase, or is under way.
func newCourse(m record.Manifest) *record.Course {
	ph, ok := m.Phase("measure")
	if !ok || m.State == record.Running {
		return nil
	}
	return record.NewCourse(ph, func(series string) []string {
		switch {
		case workload.Steady(series):
			return []string{series, allOps}
		case series == workload.Delivery:
			return []string{series}
		}
		return nil
	})
}

// Course cuts the measured phase of the run into intervals, by operation and for all of the steady
// state together; nil if the run has no measured phase, or is under way.
func (r *Run) Course() (*record.Course, error) {
	c := newCourse(r.Manifest)
	if c == nil {
		return nil, nil
	}
	ph, _ := r.Manifest.Phase("measure")
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		c.Add(second, ws)
		return time.Duration(second)*time.Second < ph.To
	})
	c.Close()
	return c, err
}

// drift returns the drift of the signals in a course of the measured phase.
func (r *Run) drift(ctx context.Context, db *series.DB, c *record.Course) ([]drift.Drift, error) {
	ph, _ := r.Manifest.Phase("measure")
	more, err := r.seriesSignals(ctx, db, ph, c)
	if err != nil {
		return nil, err
	}
	return drift.FindDrift(append(opSignals(c), more...)), nil
}

// opSignals are the signals of the operations: mean, median, 95th percentile, throughput, failures.
// An interval in which no operation had a response time is left out of the first three, and one
// without operations out of the failures; its throughput is 0.
func opSignals(c *record.Course) []drift.Signal {
	mean := drift.Signal{Name: "mean response", Unit: "ms", Step: c.Step, Material: 0.02}
	median := drift.Signal{
		Name:     "median response",
		Unit:     "ms",
		Step:     c.Step,
		Material: 0.10,
		Floor:    1,
	}
	p95 := drift.Signal{Name: "95th percentile", Unit: "ms", Step: c.Step, Material: 0.20, Floor: 5}
	rate := drift.Signal{Name: "throughput", Unit: "1/s", Step: c.Step, Material: 0.05, Floor: 0.1}
	failures := drift.Signal{Name: "failures", Unit: "% of operations", Step: c.Step, Floor: 0.1}
	failed := false
	all := c.Groups[allOps]
	if all == nil {
		return []drift.Signal{mean, median, p95, rate}
	}
	var kept []int
	for i := range c.N {
		rate.Values = append(rate.Values, float64(all.Ops[i])/c.Step.Seconds())
		if all.Ops[i] > 0 {
			failures.Values = append(
				failures.Values,
				100*float64(all.Failed[i])/float64(all.Ops[i]),
			)
			failed = failed || all.Failed[i] > 0
		}
		if all.Timed[i] == 0 {
			continue
		}
		kept = append(kept, i)
		mean.Values = append(mean.Values, all.Mean(i))
		median.Values = append(median.Values, all.Quantile(i, 0.5))
		p95.Values = append(p95.Values, all.Quantile(i, 0.95))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		if !workload.Steady(name) || name == allOps {
			continue
		}
		g, part := c.Groups[name], drift.SignalPart{Name: name}
		for _, i := range kept {
			if g.Timed[i] == 0 {
				part.Values = nil // with holes, neighbors would not be at equal distances
				break
			}
			part.Values = append(part.Values, g.Mean(i))
			part.Weight += float64(g.Timed[i])
		}
		mean.Parts = append(mean.Parts, part)
	}
	out := []drift.Signal{mean, median, p95, rate}
	if failed {
		out = append(out, failures)
	}
	return out
}

// A moving is a signal of the target's own series: the mean of a bin ($b), by role. A drift below
// the part material and below floor, in unit, does not matter.
type moving struct {
	name, unit, query string
	material, floor   float64
}

// drifting are the signals of the target's own series. Of two with one name, the first that there
// is counts.
func (c *Catalog) drifting() []moving {
	return []moving{
		{
			"memory",
			"bytes",
			`sum by (role) (avg_over_time(plimsoll_process_resident_memory_bytes{role!~"|generator"}[$b]))`,
			0.05,
			8 << 20,
		},
		{
			"memory",
			"bytes",
			c.ofProcess(`avg_over_time(%s{role="app"}[$b])`, "process_resident_memory_bytes"),
			0.05,
			8 << 20,
		},
		{
			"heap in use",
			"bytes",
			`sum by (role) (avg_over_time(go_memstats_heap_inuse_bytes{role="app"}[$b]))`,
			0.10,
			8 << 20,
		},
		{
			"goroutines",
			"",
			`sum by (role) (avg_over_time(go_goroutines{role="app"}[$b]))`,
			0.10,
			20,
		},
		{
			"open files",
			"",
			`sum by (role) (avg_over_time(plimsoll_process_open_fds{role!~"|generator"}[$b]))`,
			0.10,
			20,
		},
		{
			"CPU",
			"% of one core",
			`sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!~"|generator"}[$r])) * 100`,
			0.10,
			5,
		},
	}
}

// ofProcess sums a question about a metric of the server's process by role, under the names that
// the metric may have.
func (c *Catalog) ofProcess(format, metric string) string {
	var parts []string
	for _, name := range c.own(metric) {
		parts = append(parts, fmt.Sprintf(format, name))
	}
	return "sum by (role) (" + strings.Join(parts, " or ") + ")"
}

func (r *Run) seriesSignals(
	ctx context.Context,
	db *series.DB,
	ph record.Phase,
	c *record.Course,
) ([]drift.Signal, error) {
	if c.N < 2 {
		return nil, nil
	}
	step := c.Step
	from, to := r.Manifest.Epoch.Add(ph.From+step), r.Manifest.Epoch.Add(ph.To)
	var out []drift.Signal
	for _, d := range r.catalog.drifting() {
		query := strings.NewReplacer("$b", step.String(), "$r", max(step, 4*time.Second).String()).
			Replace(d.query)
		lines, err := db.Range(ctx, query, from, to, step)
		if err != nil {
			return nil, fmt.Errorf("drift of %s: %w", d.name, err)
		}
		for _, l := range lines {
			name := strings.TrimSpace(d.name + " of " + l.Labels["role"])
			if slices.ContainsFunc(out, func(s drift.Signal) bool { return s.Name == name }) {
				continue
			}
			s := drift.Signal{
				Name:     name,
				Unit:     d.unit,
				Step:     step,
				Material: d.material,
				Floor:    d.floor,
			}
			for _, v := range l.V {
				if report.Number(v).Known() {
					s.Values = append(s.Values, v)
				}
			}
			if len(s.Values)*10 >= c.N*9 { // with holes, neighbors would not be at equal distances
				out = append(out, s)
			}
		}
	}
	return out, nil
}
