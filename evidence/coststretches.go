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

// stretches cuts the time between two samples of a role's counter into equal parts, each with the
// CPU milliseconds in it and the operations of the steady state that succeeded. A sample at the end
// of a part is one between its neighbors, in proportion to the time; so are the operations of a
// second. nil where it is too short to be cut.
func (x phaseReader) stretches(
	course func() (comparison.Counter, error),
	from, to time.Time,
) ([]comparison.Portion, error) {
	n := min(int(to.Sub(from)/time.Second), comparison.MostPortions)
	if n < stats.MinStretches {
		return nil, nil
	}
	counter, err := course()
	if err != nil {
		return nil, err
	}
	out := make([]comparison.Portion, n)
	begin, each := from.Sub(x.run.Manifest.Epoch), to.Sub(from)/time.Duration(n)
	for k := range out {
		out[k].Sum = 1000 * (counter.At(from.Add(time.Duration(k+1)*each)) - counter.At(from.Add(time.Duration(k)*each)))
	}
	_, err = x.run.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at+time.Second <= begin {
			return true
		}
		ok := 0.0
		for _, w := range ws {
			if workload.Steady(w.Name) {
				ok += float64(w.Classes[measure.OK])
			}
		}
		for k := range out {
			first := begin + time.Duration(k)*each
			if part := min(at+time.Second, first+each) - max(at, first); part > 0 {
				out[k].Count += ok * part.Seconds()
			}
		}
		return at+time.Second < begin+time.Duration(n)*each
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
