package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/plain"
	"plimsoll/record"
	"plimsoll/stats"
)

// A within is how well one run knows its own percentiles: 95 % intervals by the moving-block bootstrap, in milliseconds. One is
// nil where the run carries none. It says nothing of how much runs differ, which is more.
type within struct {
	P50 *[2]float64 `json:"p50_ms,omitempty"`
	P95 *[2]float64 `json:"p95_ms,omitempty"`
	P99 *[2]float64 `json:"p99_ms,omitempty"`
	// Block is the length of the blocks that were drawn.
	Block float64 `json:"block_seconds"`
}

const withinLevel = 0.95

// withinRun returns the intervals of one group of operations; nil when it has too few of them, or the phase too few intervals. The
// operations of one series draw the same blocks on every call.
func withinRun(c *record.Course, name string, seed uint64) (*within, error) {
	g := c.Groups[name]
	if g == nil {
		return nil, nil
	}
	n := uint64(0)
	for _, k := range g.Timed {
		n += k
	}
	out := &within{}
	var probs []float64
	into := []**[2]float64{&out.P50, &out.P95, &out.P99}
	for _, p := range []float64{0.50, 0.95, 0.99} { // what carries one carries those before it
		if stats.QuantileSupported(p, n, float64(n)) {
			probs = append(probs, p)
		}
	}
	if len(probs) == 0 {
		return nil, nil
	}
	w, err := stats.BlockBootstrap(g.Response, probs, withinLevel, seed)
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

// addWithin gives every operation of the measured phase its intervals.
func addWithin(rows []opRow, c *record.Course, seed uint64) error {
	for i := range rows {
		var err error
		if rows[i].Within, err = withinRun(c, rows[i].Name, seed); err != nil {
			return err
		}
	}
	return nil
}

// withinText is the interval of p95 for the table.
func withinText(o opRow) string {
	if o.Within == nil || o.Within.P95 == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f to %.2f", o.Within.P95[0], o.Within.P95[1])
}

// hasWithin reports whether any operation has the interval.
func hasWithin(rows []opRow) bool {
	for _, o := range rows {
		if o.Within != nil && o.Within.P95 != nil {
			return true
		}
	}
	return false
}

// printWithin says below the table what the interval is worth.
func printWithin(w io.Writer, rows []opRow) {
	if hasWithin(rows) {
		plain.Fprintf(w, "  95 %% OF P95 is how well this run knows its own percentile (moving-block bootstrap). Runs differ by more: only a comparison of several runs says by how much.\n")
	}
}

// silent returns how many intervals of a course had no answer.
func silent(c *record.Course) (n int) {
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

// printSettling says why it was not told whether the target was settled in a measured phase.
func printSettling(w io.Writer, s shown) {
	ph, ok := s.Manifest.Phase("measure")
	if !ok {
		return
	}
	switch _, n := ph.Seconds(); {
	case s.Users != nil && len(s.Users.Storms) > 0:
		plain.Fprintf(w, "  settling: a measured phase with storms is not asked whether it was steady from its beginning; they are there to disturb it\n")
	case n < stats.MinWarmup:
		plain.Fprintf(w, "  settling: a measured phase of %d s is too short to tell whether it was steady from its beginning; %d s are needed\n", n, stats.MinWarmup)
	case !stats.FewHoles(s.silent, s.intervals):
		plain.Fprintf(w, "  settling: %d of %d intervals of the measured phase had no answer; with more than a tenth of them it is not told whether it was steady from its beginning\n", s.silent, s.intervals)
	}
}
