package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// cpuCounters returns the counters of a role's CPU seconds; the first one with data for a role
// counts. The first covers all processes of the role, ended ones included, by its control group
// where it has one (package probe); the others are a server's own metrics.
func (c *Catalog) cpuCounters() []string {
	out := []string{`plimsoll_process_cpu_seconds_total{role!~"|generator"}`}
	for _, name := range c.own("process_cpu_seconds_total") {
		out = append(out, name+`{role="app"}`)
	}
	return out
}

// missedSamples is the largest number of missing samples at the beginning of the measured phase.
const missedSamples = 2

// edge is how far from a whole second of its run a sample may lie. Without it one arm of a duet
// would be read from one second to another later than its neighbor, and seconds differ in what their
// operations are.
const edge = 50 * time.Millisecond

// Costs returns a reader of the CPU time that an operation cost each role of the target.
func (c *Catalog) Costs(ctx context.Context) comparison.Reader {
	return func(r *record.Run) ([]comparison.SecondaryValue, error) {
		ph, ok := r.Manifest.Phase("measure")
		if !ok {
			return nil, nil
		}
		x, err := c.Of(r).readPhase(ph)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // a run without series: no role's CPU time is visible
		}
		if err != nil {
			return nil, err
		}
		defer x.db.Close()
		return x.costs(ctx)
	}
}

// costs returns the endpoint cost(ROLE) of every role whose CPU time is visible: CPU milliseconds
// for each operation of the steady state that succeeded. Both are counted between the same two
// instants, so that neither a ramp before the phase nor what comes after it is in them: the first
// sample of the counter in the phase or on its first [edge], and the last one before its end. On the
// end the users leave, and where the turn of a duet ends with the phase its sample is taken in the
// next turn, after the target has closed all their connections. A second that a sample divides
// counts in proportion. A role is left out when fewer than two samples lie in the phase, when its
// counter fell or its number of series changed between them (a restart), or when no operation
// succeeded. With it comes the mix of the operations ([phaseReader.mix]).
func (x phaseReader) costs(ctx context.Context) ([]comparison.SecondaryValue, error) {
	from, to := x.run.Manifest.Epoch.Add(x.phase.From), x.run.Manifest.Epoch.Add(x.phase.To)
	seen := map[string]bool{}
	var out []comparison.SecondaryValue
	for _, counter := range x.run.catalog.cpuCounters() {
		first := map[string]count{}
		// Probes sample once a second: one second into the phase there is a sample.
		for second := range missedSamples + 2 {
			there, err := x.counted(ctx, counter, from.Add(time.Duration(second)*time.Second+edge))
			if err != nil {
				return nil, err
			}
			for role, c := range there {
				if _, ok := first[role]; !ok && !c.oldest.Before(from.Add(-edge)) {
					first[role] = c
				}
			}
		}
		last, err := x.counted(ctx, counter, to.Add(-edge))
		if err != nil {
			return nil, err
		}
		for _, role := range slices.Sorted(maps.Keys(last)) {
			a, b := first[role], last[role]
			if seen[role] {
				continue
			}
			seen[role] = true
			if a.series != b.series || b.cpu < a.cpu || !a.newest.Before(b.oldest) {
				continue
			}
			done, byName, err := succeeded(
				x.run,
				x.phase,
				a.newest.Sub(x.run.Manifest.Epoch),
				b.newest.Sub(x.run.Manifest.Epoch),
			)
			if err != nil {
				return nil, err
			}
			if done <= 0 {
				continue
			}
			v := alone("cost("+role+")", "ms", cpuFloor, 1000*(b.cpu-a.cpu)/done)
			course, err := x.courseOf(ctx, counter, role, a, b)
			if err != nil {
				return nil, err
			}
			if v.Mix, err = x.mix(course, byName, a.newest, b.newest); err != nil {
				return nil, err
			}
			if x.run.Manifest.Duet != nil {
				c, err := x.clockwork(ctx, role, b.cpu-a.cpu, a.newest, b.newest)
				if err != nil {
					return nil, err
				}
				c.Correct(&v)
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// A count is the sum of a role's counters at one instant: of how many series, and when the oldest
// and the newest of them were sampled.
type count struct {
	cpu            float64
	series         int
	oldest, newest time.Time
}

// counted reads a counter by role as it was at an instant.
func (x phaseReader) counted(
	ctx context.Context,
	counter string,
	at time.Time,
) (map[string]count, error) {
	out := map[string]count{}
	values, err := x.db.Query(ctx, counter, at)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	times, err := x.db.Query(ctx, "timestamp("+counter+")", at)
	if err != nil {
		return nil, fmt.Errorf("cost: %w", err)
	}
	for _, v := range values {
		c := out[v.Labels["role"]]
		c.cpu += v.Value
		c.series++
		out[v.Labels["role"]] = c
	}
	for _, v := range times {
		c, t := out[v.Labels["role"]], time.UnixMilli(int64(v.Value*1000+0.5))
		if c.oldest.IsZero() || t.Before(c.oldest) {
			c.oldest = t
		}
		if t.After(c.newest) {
			c.newest = t
		}
		out[v.Labels["role"]] = c
	}
	return out, nil
}

// measuredOps counts the operations of the steady state that succeeded in the measured phase of a
// run, all and by name.
func (c *Catalog) measuredOps(r *record.Run) (float64, map[string]float64, error) {
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		return 0, nil, nil
	}
	return succeeded(c.Of(r), ph, ph.From, ph.To)
}

// succeeded counts the operations of the steady state that succeeded between two instants of a run,
// all and by name. Of the seconds that these divide, the part between them counts. Those that were
// under way when the phase ended are in its last second, but ended after it, as did the work that
// they were: they do not count.
func succeeded(r *Run, ph record.Phase, from, to time.Duration) (
	n float64, byName map[string]float64, err error) {
	byName = map[string]float64{}
	last := int((ph.To - 1) / time.Second)
	_, err = r.EachSecond(func(second int, ws []*measure.Window) bool {
		begin := time.Duration(second) * time.Second
		part := min(begin+time.Second, to) - max(begin, from)
		if part > 0 {
			for _, w := range ws {
				if !workload.Steady(w.Name) {
					continue
				}
				ok := w.Classes[measure.OK]
				if second == last && ph.Tail != nil {
					ok -= min(ok, ph.Tail.Ops[w.Name].OK)
				}
				n += float64(ok) * part.Seconds()
				byName[w.Name] += float64(ok) * part.Seconds()
			}
		}
		return begin < to
	})
	return n, byName, err
}
