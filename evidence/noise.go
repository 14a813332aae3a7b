package evidence

import (
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
