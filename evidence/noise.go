package evidence

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// A NoiseFloor is the noise of one metric in one environment, pooled over the comparisons of a
// build with itself.
type NoiseFloor struct {
	record.Noise
	RunSD float64 `json:"run_sd"`
	// Finds is the change that six blocks of such runs find in four of five cases: a ratio minus
	// one, or points.
	Finds float64 `json:"six_blocks_find"`
}

// NoiseFloors pools the noise that comparisons of a build with itself have measured. It is never
// nil.
func NoiseFloors(lines []record.AA) []NoiseFloor {
	floors := []NoiseFloor{}
	for _, n := range comparison.Pool(lines) {
		f := NoiseFloor{Noise: n, RunSD: n.RunSD()}
		e := plan.Endpoint{Absolute: n.Absolute, Margin: 0.05}
		f.Finds, _ = verdict.Foresee(e, f.RunSD, stats.MinPairs, stats.FixedAlpha)
		floors = append(floors, f)
	}
	return floors
}

// WriteNoise writes a table of noise floors.
func WriteNoise(w io.Writer, rows []NoiseFloor) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
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
			cmp.Or(r.Engine, "-"),
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
	return tw.Flush()
}

// spread writes a relative spread in percent, or one in points.
func spread(v float64, absolute bool) string {
	if absolute {
		return fmt.Sprintf("%.3g pp", v)
	}
	return fmt.Sprintf("%.3g %%", 100*v)
}
