package evidence

import (
	"context"
	"fmt"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/stats"
)

// mostParts is the largest number of parts that the phase is cut into for what kinds of operations
// cost, a multiple of [comparison.MostPortions].
const mostParts = 600

// mixParts returns how many equal parts a time is cut into: of about a second, and where there are
// enough, a whole number for each stretch; 0 where it is too short.
func mixParts(length time.Duration) int {
	seconds := int(length / time.Second)
	switch most := comparison.MostPortions; {
	case seconds < stats.MinStretches:
		return 0
	case seconds < most:
		return seconds
	default:
		return min(mostParts, (seconds+most/2)/most*most)
	}
}

// mix returns the operations of the steady state between two samples of a role's counter by name:
// done, as they are counted, and in parts, each with the CPU milliseconds in it. A sample at the
// end of a part is one between its neighbors, in proportion to the time; so are the operations of a
// second.
func (x phaseReader) mix(
	counter comparison.Counter,
	done map[string]float64,
	from, to time.Time,
) (*comparison.CostMix, error) {
	m := &comparison.CostMix{Done: done}
	n := mixParts(to.Sub(from))
	if n == 0 {
		return m, nil
	}
	each := to.Sub(from) / time.Duration(n)
	m.CPU = make([]float64, n)
	before := counter.At(from)
	for k := range m.CPU {
		after := counter.At(from.Add(time.Duration(k+1) * each))
		m.CPU[k] = 1000 * (after - before)
		before = after
	}
	var err error
	m.Part, err = x.partition(from.Sub(x.run.Manifest.Epoch), each, n)
	return m, err
}

// partition returns how many operations of the steady state succeeded in each of n equal parts from
// a time of the run on, by name. Of a second of the windows that a part divides, what lies in it
// counts in proportion.
func (x phaseReader) partition(
	from, each time.Duration,
	n int,
) (map[string][]float64, error) {
	out := map[string][]float64{}
	end := from + time.Duration(n)*each
	_, err := x.run.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at+time.Second <= from {
			return true
		}
		for _, w := range ws {
			ok := float64(w.Classes[measure.OK])
			if ok == 0 || !workload.Steady(w.Name) {
				continue
			}
			if out[w.Name] == nil {
				out[w.Name] = make([]float64, n)
			}
			for k := max(0, int((at-from)/each)); k < n; k++ {
				first := from + time.Duration(k)*each
				part := min(at+time.Second, first+each) - max(at, first)
				if part <= 0 {
					break
				}
				out[w.Name][k] += ok * part.Seconds()
			}
		}
		return at+time.Second < end
	})
	return out, err
}

// courseOf reads the samples of a role's counter from one sample to another.
func (x phaseReader) courseOf(
	ctx context.Context,
	counter, role string,
	first, last count,
) (c comparison.Counter, err error) {
	from, to := first.newest, last.newest
	values, err := x.db.Range(ctx, "sum by (role) ("+counter+")", from, to, time.Second)
	if err != nil {
		return c, fmt.Errorf("cost: %w", err)
	}
	times, err := x.db.Range(ctx, "max by (role) (timestamp("+counter+"))", from, to, time.Second)
	if err != nil {
		return c, fmt.Errorf("cost: %w", err)
	}
	c.Add(from, first.cpu)
	at := map[time.Time]float64{}
	for _, line := range values {
		if line.Labels["role"] == role {
			for i, t := range line.T {
				at[t] = line.V[i]
			}
		}
	}
	for _, line := range times {
		if line.Labels["role"] != role {
			continue
		}
		for i, t := range line.T {
			sampled := time.UnixMilli(int64(line.V[i]*1000 + 0.5))
			if v, ok := at[t]; ok && sampled.After(from) && sampled.Before(to) {
				c.Add(sampled, v)
			}
		}
	}
	c.Add(to, last.cpu)
	return c, nil
}
