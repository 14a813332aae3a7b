package read

import (
	"io"
	"text/tabwriter"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/record"
)

// printEdges prints the operations under way at the end, and those expected by the schedule.
func (s *shown) printEdges(w io.Writer) {
	ph := s.Of
	if ph.Name != "measure" {
		return
	}
	if ph.Tail == nil {
		plain.Fprintf(w, "  operations under way at the end of the phase: not recorded; their waits are in no latency\n")
	} else if t := s.Tail(); t.Drained+t.Open > 0 {
		plain.Fprintf(w, "  under way at the end of the phase: %d, of which %d ended within %v and %d are counted with their age\n", t.Drained+t.Open, t.Drained,
			ph.Tail.Waited.Round(time.Millisecond), t.Open)
	}
	c := ph.Schedule
	if c == nil {
		plain.Fprintf(w, "  achieved of intended operations: not recorded\n")
		return
	}
	if c.Unpaused {
		plain.Fprintf(w, "  achieved of intended operations: not applicable: users without pauses\n")
		return
	}
	plain.Fprintf(w, "  achieved of intended operations (%s): %d of %.0f, %.2f %%\n", c.Of, c.Achieved, c.Intended, 100*c.Share())
	if !c.Marked() || c.Of == record.OfArrivals {
		return
	}
	plain.Fprintf(w, "  BELOW %.0f %%: users waited and sent nothing; the latencies above hold few of their waits. Response by the schedule, as if users had not waited (docs/method/time.md), in ms:\n",
		100*record.LeastAchieved)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	plain.Fprintf(tw, "NAME\tNOT BEGUN\tP50\tP95\tP99\tMAX\t\n")
	for _, o := range s.Ops {
		if b := o.BySchedule; b != nil {
			plain.Fprintf(tw, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n", o.Name, b.Omitted, b.P50, b.P95, b.P99, b.Max)
		}
	}
	tw.Flush()
}
