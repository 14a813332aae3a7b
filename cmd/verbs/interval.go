package verbs

import (
	"fmt"
	"io"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
)

// intervalText is the interval of p95 for the table.
func intervalText(o evidence.ShownOp) string {
	if o.Interval == nil || o.Interval.P95 == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f to %.2f", o.Interval.P95[0], o.Interval.P95[1])
}

// hasIntervals reports whether any operation has the interval.
func hasIntervals(rows []evidence.ShownOp) bool {
	for _, o := range rows {
		if o.Interval != nil && o.Interval.P95 != nil {
			return true
		}
	}
	return false
}

// printIntervals explains the intervals below the table.
func printIntervals(w io.Writer, rows []evidence.ShownOp) {
	if hasIntervals(rows) {
		plain.Fprintf(w, "  95 %% of p95 is the interval of this run's own percentile (moving-block bootstrap). Runs differ by more: only a comparison of several runs shows by how much.\n")
	}
}
