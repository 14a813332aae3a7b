package evidence

import (
	"context"
	"fmt"

	"plimsoll/report"
	"plimsoll/watch/series"
)

// hostWaitQueries read the part of a stretch ($w) in which the target waited for resources that its
// host shares with others; of the queries of one name the first with an answer counts. The wait for
// a disk is PSI's "full", of the whole host: time in which work was pending and none of it could go
// on.
var hostWaitQueries = []struct{ name, query string }{
	{report.WaitSteal, `max(avg_over_time(plimsoll_cpu_steal_ratio{role="target"}[$w]))`},
	{report.WaitSteal, `max(avg_over_time(plimsoll_cpu_steal_ratio{role!="generator"}[$w]))`},
	{report.WaitDisk, `max(rate(node_pressure_io_stalled_seconds_total{role!="generator"}[$w]))`},
}

// hostWaits returns for each test of the run the part of its time in which the target waited for
// resources that its host shares.
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
