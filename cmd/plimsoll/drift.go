package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/measure"
	"plimsoll/record"
	"plimsoll/series"
	"plimsoll/verdict"
	"plimsoll/workload"
)

// driftOf says what moved in the measured phase of a run; nil if it has none.
func driftOf(ctx context.Context, r *record.Run) ([]verdict.Drift, error) {
	c, err := courseOf(r)
	if err != nil || c == nil {
		return nil, err
	}
	db, err := openSeries(r.Dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return driftIn(ctx, db, r, c)
}

// allOps is the group of all operations of the steady state.
const allOps = "op"

// newCourse is an empty course of the measured phase of a run, by operation and for all of the steady state together; nil if the
// run has no measured phase, or is under way.
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

// courseOf cuts the measured phase of a run into intervals; nil as newCourse.
func courseOf(r *record.Run) (*record.Course, error) {
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

// driftIn says what moved in a course of a run's measured phase.
func driftIn(ctx context.Context, db *series.DB, r *record.Run, c *record.Course) ([]verdict.Drift, error) {
	ph, _ := r.Manifest.Phase("measure")
	more, err := seriesSignals(ctx, db, r, ph, int(c.Step/time.Second), c.N)
	if err != nil {
		return nil, err
	}
	return verdict.FindDrift(append(opSignals(c), more...)), nil
}

// opSignals are the signals of the operations: mean, median, 95th percentile, throughput, failures. An interval in which no operation had a response
// time is left out of the first three, and one without operations out of the failures; its throughput is 0.
func opSignals(c *record.Course) []verdict.Signal {
	mean := verdict.Signal{Name: "mean response", Unit: "ms", Step: c.Step, Material: 0.02}
	median := verdict.Signal{Name: "median response", Unit: "ms", Step: c.Step, Material: 0.10, Floor: 1}
	p95 := verdict.Signal{Name: "95th percentile", Unit: "ms", Step: c.Step, Material: 0.20, Floor: 5}
	rate := verdict.Signal{Name: "throughput", Unit: "1/s", Step: c.Step, Material: 0.05, Floor: 0.1}
	failures := verdict.Signal{Name: "failures", Unit: "% of operations", Step: c.Step, Floor: 0.1}
	failed := false
	all := c.Groups[allOps]
	if all == nil {
		return []verdict.Signal{mean, median, p95, rate}
	}
	var kept []int
	for i := range c.N {
		rate.Values = append(rate.Values, float64(all.Ops[i])/c.Step.Seconds())
		if all.Ops[i] > 0 {
			failures.Values = append(failures.Values, 100*float64(all.Failed[i])/float64(all.Ops[i]))
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
		g, part := c.Groups[name], verdict.Part{Name: name}
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
	out := []verdict.Signal{mean, median, p95, rate}
	if failed {
		out = append(out, failures)
	}
	return out
}

// drifting are the signals of the target's own series: each is the mean of a bin ($b), by role. Of two with one name, the
// first that there is counts.
var drifting = []struct {
	name, unit, query string
	material, floor   float64
}{
	{"memory", "bytes", `sum by (role) (avg_over_time(plimsoll_process_resident_memory_bytes{role!~"|generator"}[$b]))`, 0.05, 8 << 20},
	{"memory", "bytes", `sum by (role) (avg_over_time(mattermost_process_resident_memory_bytes{role="app"}[$b]) or avg_over_time(process_resident_memory_bytes{role="app"}[$b]))`, 0.05, 8 << 20},
	{"heap in use", "bytes", `sum by (role) (avg_over_time(go_memstats_heap_inuse_bytes{role="app"}[$b]))`, 0.10, 8 << 20},
	{"goroutines", "", `sum by (role) (avg_over_time(go_goroutines{role="app"}[$b]))`, 0.10, 20},
	{"open files", "", `sum by (role) (avg_over_time(plimsoll_process_open_fds{role!~"|generator"}[$b]))`, 0.10, 20},
	{"CPU", "% of one core", `sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!~"|generator"}[$r])) * 100`, 0.10, 5},
}

func seriesSignals(ctx context.Context, db *series.DB, r *record.Run, ph record.Phase, bin, n int) ([]verdict.Signal, error) {
	if n < 2 {
		return nil, nil
	}
	step := time.Duration(bin) * time.Second
	from, to := r.Manifest.Epoch.Add(ph.From+step), r.Manifest.Epoch.Add(ph.To)
	var out []verdict.Signal
	for _, d := range drifting {
		query := strings.NewReplacer("$b", step.String(), "$r", max(step, 4*time.Second).String()).Replace(d.query)
		lines, err := db.Range(ctx, query, from, to, step)
		if err != nil {
			return nil, fmt.Errorf("drift of %s: %w", d.name, err)
		}
		for _, l := range lines {
			name := strings.TrimSpace(d.name + " of " + l.Labels["role"])
			if slices.ContainsFunc(out, func(s verdict.Signal) bool { return s.Name == name }) {
				continue
			}
			s := verdict.Signal{Name: name, Unit: d.unit, Step: step, Material: d.material, Floor: d.floor}
			for _, v := range l.V {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					s.Values = append(s.Values, v)
				}
			}
			if len(s.Values)*10 >= n*9 { // with holes, neighbors would not be at equal distances
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// loads are the questions for CPU and memory of the target, by role, over a stretch ($w); the first that has an answer counts. All roles but
// the generator's are the target's: what stands behind the app runs on its cores too.
var (
	cpuLoads = []string{
		`sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!~"|generator"}[$w])) * 100`,
		`sum by (role) (rate(mattermost_process_cpu_seconds_total{role="app"}[$w]) or rate(process_cpu_seconds_total{role="app"}[$w])) * 100`,
	}
	memoryLoads = []string{
		`sum by (role) (max_over_time(plimsoll_process_resident_memory_bytes{role!~"|generator"}[$w]))`,
		`sum by (role) (max_over_time(mattermost_process_resident_memory_bytes{role="app"}[$w]) or max_over_time(process_resident_memory_bytes{role="app"}[$w]))`,
	}
)

// load returns CPU (percent of one core) and most memory (bytes) of the target over the phase, by role; empty when they
// are not seen.
func (x stretchOf) load(ctx context.Context) (cpu, memory map[string]float64, err error) {
	first := func(queries []string) (out map[string]float64, err error) {
		for _, q := range queries {
			if out, err = x.ask(ctx, q, "role"); err != nil || len(out) > 0 {
				break
			}
		}
		return out, err
	}
	if cpu, err = first(cpuLoads); err != nil {
		return nil, nil, err
	}
	memory, err = first(memoryLoads)
	return cpu, memory, err
}

// stepOf reads what a load step measured.
func stepOf(ctx context.Context, r *record.Run, users int) (verdict.Step, error) {
	s := verdict.Step{Run: r.Manifest.ID, Users: users, Valid: r.Validity.Valid}
	var why []string
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red {
			why = append(why, f.Gate+": "+f.Text)
		}
	}
	s.Why = strings.Join(why, "; ")
	events, err := r.Events()
	if err != nil {
		return s, err
	}
	s.Proxy = refusals(events)
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		s.Valid, s.Why = false, strings.TrimPrefix(s.Why+"; it was not measured", "; ")
		return s, nil
	}
	merged, err := r.Merged(ph.From, ph.To)
	if err != nil {
		return s, err
	}
	all := measure.NewWindow("op")
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if workload.Steady(name) {
			all.Merge(merged[name])
		}
	}
	row := rowOf(all, ph.To-ph.From)
	row.end(ph.Tail.Of(workload.Steady), all, ph.To-ph.From)
	s.Count, s.Throughput, s.P50, s.P95, s.P99, s.Max, s.Classes = row.Count, row.Rate, row.P50, row.P95, row.P99, row.Max, row.Class
	if row.Count > 0 {
		s.Failures = float64(row.Errors) / float64(row.Count)
	}
	x, err := openStretch(r, ph)
	if err != nil {
		return s, err
	}
	defer x.db.Close()
	s.CPU, s.Memory, err = x.load(ctx)
	return s, err
}
