package trial

import (
	"fmt"
	"math"
	"time"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// omission records how many of the operations that the users' own schedule wanted in the measured
// phase were begun.
func (r *run) omission(end time.Duration, t *tails) {
	ph := r.measuredPhase()
	if ph == nil || len(r.measured.in) == 0 {
		return
	}
	if c := r.measured.counts(); c.Wanted > 0 {
		// Arrivals come by their schedule, and wait is charged to them; those dropped are missing,
		// and those not yet begun.
		done := min(c.Served, c.Wanted)
		if w := t.open[workload.Arrival]; w != nil {
			done -= min(w.Response.Count(), done)
		}
		ph.Schedule = &record.Schedule{
			Of:       record.OfArrivals,
			Achieved: done,
			Intended: float64(c.Wanted),
		}
	} else if c.Actions > 0 && c.Think == 0 {
		// For latencies that vary as they should, a loop without pauses loses about half of its
		// time to answers slower than the median.
		ph.Schedule = &record.Schedule{Of: record.OfUsers, Unpaused: true}
		for _, w := range r.measured.in[0].windows {
			if workload.Steady(w.Name) {
				ph.Schedule.Achieved += max(w.Count(), w.Response.Count())
			}
		}
	} else {
		ends := map[string]workload.LateResponses{}
		for name, w := range t.late {
			tail := workload.LateResponses{Response: w.Response}
			if after := t.after[name]; after != nil {
				tail.Beyond = after.Response.Sum()
			}
			ends[name] = tail
		}
		for name, w := range t.open {
			h := w.Response.Clone()
			tail := ends[name]
			if tail.Response != nil {
				h.Merge(tail.Response)
			}
			tail.Response = h
			tail.Beyond += time.Duration(w.Response.Count()) * max(r.now()-end, 0)
			ends[name] = tail
		}
		o := workload.NewOmission(r.measured.in[0].windows, ends, time.Duration(r.measured.userSeconds()*float64(time.Second)))
		ph.Schedule = &record.Schedule{
			Of:       record.OfUsers,
			Achieved: o.Achieved,
			Intended: math.Round(o.Intended*10) / 10,
		}
		r.keep(r.Writer.Omitted(int((end-1)/time.Second), o.Never))
	}
	if s := ph.Schedule; s.Marked() {
		text := fmt.Sprintf(
			"%d of %.0f intended operations were begun (%.1f %%): users waited for answers that took longer than usual, and sent nothing meanwhile; "+
				"the latencies hold few of what they would have waited, the response by the schedule holds it",
			s.Achieved,
			s.Intended,
			100*s.Share(),
		)
		if s.Of == record.OfArrivals {
			text = fmt.Sprintf(
				"%d of %.0f intended arrivals were served (%.1f %%): the others were dropped, and are in no latency, or still waited for a place when the drain ended, and count with their age",
				s.Achieved,
				s.Intended,
				100*s.Share(),
			)
		}
		r.out.Validity.Add(record.Finding{
			Gate:  "omission",
			Level: record.Amber,
			Value: 100 * s.Share(),
			Limit: 100 * record.LeastAchieved,
			Unit:  "%",
			Text:  text,
		})
	}
}
