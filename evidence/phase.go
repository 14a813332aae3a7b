package evidence

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/series"
)

// A phaseReader queries the series of a run in one phase.
type phaseReader struct {
	db    *series.DB
	run   *Run
	phase record.Phase
}

// readPhase opens the series of the run; the caller closes them.
func (r *Run) readPhase(ph record.Phase) (phaseReader, error) {
	db, err := r.Series()
	return phaseReader{db: db, run: r, phase: ph}, err
}

// ask evaluates a query over the whole phase ($w). The answers are named by the values of the
// labels by, joined by points.
func (x phaseReader) ask(
	ctx context.Context,
	query string,
	by ...string,
) (map[string]float64, error) {
	query = strings.ReplaceAll(
		query,
		"$w",
		fmt.Sprintf("%dms", (x.phase.To-x.phase.From).Milliseconds()),
	)
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
		if report.Number(r.Value).Known() {
			out[strings.Join(names, ".")] = r.Value
		}
	}
	return out, nil
}

// load returns CPU (percent of one core) and most memory (bytes) of the target over the phase, by
// role; empty when they are not seen. Of the questions for each, the first that has an answer for a
// role counts. All roles but the generator's are the target's: services behind the app run on its
// cores too.
func (x phaseReader) load(ctx context.Context) (cpu, memory map[string]float64, err error) {
	c := x.run.catalog
	first := func(queries []string) (map[string]float64, error) {
		out := map[string]float64{}
		for _, q := range queries {
			more, err := x.ask(ctx, q, "role")
			if err != nil {
				return nil, err
			}
			for role, v := range more {
				if _, seen := out[role]; !seen {
					out[role] = v
				}
			}
		}
		return out, nil
	}
	if cpu, err = first([]string{
		`sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!~"|generator"}[$w])) * 100`,
		c.ofProcess(`rate(%s{role="app"}[$w])`, "process_cpu_seconds_total") + " * 100",
	}); err != nil {
		return nil, nil, err
	}
	memory, err = first([]string{
		`sum by (role) (max_over_time(plimsoll_process_resident_memory_bytes{role!~"|generator"}[$w]))`,
		c.ofProcess(`max_over_time(%s{role="app"}[$w])`, "process_resident_memory_bytes"),
	})
	return cpu, memory, err
}
