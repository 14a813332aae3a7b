package comparison

import (
	"math"
	"strings"
	"time"

	"plimsoll/measure"
	"plimsoll/record"
	"plimsoll/trial"
)

// throughputOf returns the operation of an endpoint such as throughput(post).
func throughputOf(endpoint string) (op string, ok bool) {
	rest, ok := strings.CutPrefix(endpoint, "throughput(")
	return strings.TrimSuffix(rest, ")"), ok
}

// throughput returns how many operations succeeded in the measured phase, per minute: those under way at its end are no part of it.
func throughput(r *record.Run, op string, w *measure.Window) (perMinute float64, why string) {
	ph, ok := r.Manifest.Phase("measure")
	switch {
	case !ok:
		return math.NaN(), "the run has no measured phase"
	case w.Count() == 0:
		return math.NaN(), "no such operation was measured"
	case w.Classes[measure.OK] == 0:
		return math.NaN(), "no such operation succeeded"
	}
	return float64(w.Classes[measure.OK]-ph.Tail.Of(trial.Selector(op)).OK) / (ph.To - ph.From).Seconds() * time.Minute.Seconds(), ""
}
