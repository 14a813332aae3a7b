package evidence

import (
	"context"
	"fmt"

	"plimsoll/report"
	"plimsoll/watch/series"
)

// hostWaitQueries ask for the part of a stretch ($w) in which the target waited for resources that its host shares
// with others; of those of one name the first that has an answer counts. A disk's is PSI's "full", of the whole host:
// time in which work was there and none of it could go on.
var hostWaitQueries = []struct{ name, query string }{
	{report.WaitSteal, `max(avg_over_time(plimsoll_cpu_steal_ratio{role="target"}[$w]))`},
	{report.WaitSteal, `max(avg_over_time(plimsoll_cpu_steal_ratio{role!="generator"}[$w]))`},
	{report.WaitDisk, `max(rate(node_pressure_io_stalled_seconds_total{role!="generator"}[$w]))`},
}

// hostWaits returns for each test of the run the part of its time in which the target waited for resources
// that its host shares.
func (r *Run) hostWaits(ctx context.Context, db *series.DB) ([]report.HostWait, error) {
	var out []report.HostWait
	for _, test := range []struct{ name, phase string }{{report.Bounded, "measure"}, {report.Unbounded, "search"}} {
		ph, ok := r.Manifest.Phase(test.phase)
		if !ok || ph.To <= ph.From {
			continue
		}
		known := map[string]bool{}
		for _, q := range hostWaitQueries {
			if known[q.name] {
				continue
			}
			got, err := phaseReader{db: db, run: r, phase: ph}.ask(ctx, q.query)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.name, err)
			}
			if v, ok := got[""]; ok {
				known[q.name] = true
				out = append(out, report.HostWait{Name: q.name, Test: test.name, Share: v})
			}
		}
	}
	return out, nil
}
