package evidence

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/record"
	"plimsoll/stats"
)

// PercentileIntervals are 95 % intervals of the percentiles of one run, by the moving-block
// bootstrap, in milliseconds. One is nil where the run has too few operations for it. Runs differ
// by more than these intervals are wide.
type PercentileIntervals struct {
	P50 *[2]float64 `json:"p50_ms,omitempty"`
	P95 *[2]float64 `json:"p95_ms,omitempty"`
	P99 *[2]float64 `json:"p99_ms,omitempty"`
	// Block is the length of the blocks that were drawn.
	Block float64 `json:"block_seconds"`
}

const intervalLevel = 0.95

// IntervalsOf returns the intervals of one group of operations in a course; nil when the group has
// too few operations, or the course too few intervals. The same seed gives the same intervals.
func IntervalsOf(c *record.Course, name string, seed uint64) (*PercentileIntervals, error) {
	g := c.Groups[name]
	if g == nil {
		return nil, nil
	}
	n := uint64(0)
	for _, k := range g.Timed {
		n += k
	}
	out := &PercentileIntervals{}
	var probs []float64
	into := []**[2]float64{&out.P50, &out.P95, &out.P99}
	// enough operations for one are enough for those before it
	for _, p := range []float64{0.50, 0.95, 0.99} {
		if stats.QuantileSupported(p, n, float64(n)) {
			probs = append(probs, p)
		}
	}
	if len(probs) == 0 {
		return nil, nil
	}
	w, err := stats.BlockBootstrap(g.Response, probs, intervalLevel, seed)
	if errors.Is(err, stats.ErrFewIntervals) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("intervals of %s: %w", name, err)
	}
	for k, i := range w.Intervals {
		*into[k] = &[2]float64{i.Lo, i.Hi}
	}
	out.Block = (time.Duration(w.Block) * c.Step).Seconds()
	return out, nil
}

// Silent returns how many intervals of a course had no answer.
func Silent(c *record.Course) (n int) {
	all := c.Groups[allOps]
	if all == nil {
		return c.N
	}
	for _, timed := range all.Timed {
		if timed == 0 {
			n++
		}
	}
	return n
}
