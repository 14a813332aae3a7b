package trial

import (
	"testing"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// Arrivals that were dropped are in no latency: the run records how many of the scheduled ones were
// served.
func TestDroppedArrivalsAreNotAchieved(t *testing.T) {
	for _, tt := range []struct {
		name           string
		wanted, served uint64
		marked         bool
	}{{"all served", 40, 40, false}, {"a tenth dropped", 40, 36, true}} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			l.counts = workload.Activity{Wanted: tt.wanted, Served: tt.served}
			s := boundedSpec(t, l)
			out := carryOut(t, s)
			r := finish(t, s, out)
			ph, _ := r.Manifest.Phase("measure")
			c := ph.Schedule
			if c == nil || c.Of != record.OfArrivals || c.Marked() != tt.marked ||
				c.Share() != float64(tt.served)/float64(tt.wanted) {
				t.Errorf("schedule %+v", c)
			}
			if _, known, err := r.Omitted(); known || err != nil {
				t.Errorf("a file of what arrivals did not begin: %v, %v", known, err)
			}
		})
	}
}

// A run of an earlier version has no record of it, which does not mean that all were served.
func TestWhatWasNotRecordedIsNotAchieved(t *testing.T) {
	var ph record.Phase
	if ph.Schedule.Marked() || ph.Tail.Of(nil) != (record.TailOp{}) {
		t.Error("a phase without a schedule has one")
	}
}
