package read

import (
	"fmt"
	"text/tabwriter"

	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/record/store"
)

// listNoise prints the noise floors of a store.
func listNoise(a *app.App, st *store.Store, asJSON bool) error {
	lines, warnings, err := st.AA()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		plain.Fprintf(a.Stderr, "plimsoll ls: %v\n", w)
	}
	rows := evidence.NoiseFloors(lines)
	if asJSON {
		return a.JSON(rows)
	}
	tw := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(
		tw,
		"ENVIRONMENT\tDATABASE\tTEST\tMETRIC\tCOMPARISONS\tPAIRS\tRUN SD\tSIX BLOCKS FIND\tFALSE\tLOAD\tHOST\n",
	)
	for _, r := range rows {
		finds := "-"
		if r.RunSD > 0 { // without variation the smallest change is 0, which is not informative
			finds = spread(r.Finds, r.Absolute)
		}
		plain.Fprintf(
			tw,
			"%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d of %d\t%s\t%s\n",
			r.Environment,
			dash(r.Engine),
			r.Test,
			r.Metric,
			r.Comparisons,
			r.Pairs,
			spread(r.RunSD, r.Absolute),
			finds,
			r.False,
			r.Lines,
			r.Load,
			r.Host,
		)
	}
	if err := tw.Flush(); err != nil || len(rows) > 0 {
		return err
	}
	_, err = plain.Fprintf(
		a.Stderr,
		"plimsoll ls: no comparison of a build with itself is in this store; plimsoll compare -aa PLAN.yaml makes one\n",
	)
	return err
}

// spread writes a relative spread in percent, or one in points.
func spread(v float64, absolute bool) string {
	if absolute {
		return fmt.Sprintf("%.3g pp", v)
	}
	return fmt.Sprintf("%.3g %%", 100*v)
}
