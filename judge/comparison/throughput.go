package comparison

import (
	"math"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// throughput returns how many operations succeeded in the measured phase, per minute: those under
// way at its end are not part of it.
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
	good := float64(w.Classes[measure.OK] - ph.Tail.Of(trial.Selector(op)).OK)
	return good / (ph.To - ph.From).Seconds() * time.Minute.Seconds(), ""
}
