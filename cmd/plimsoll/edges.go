package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"plimsoll/measure"
	"plimsoll/plain"
	"plimsoll/record"
	"plimsoll/trial"
	"plimsoll/workload"
)

// bySchedule is the response times of one operation as if users had not waited, in milliseconds: those measured with those of the
// operations that were not begun.
type bySchedule struct {
	Omitted uint64  `json:"omitted"`
	P50     float64 `json:"p50_ms"`
	P95     float64 `json:"p95_ms"`
	P99     float64 `json:"p99_ms"`
	Max     float64 `json:"max_ms"`
}

// edges adds what the end of the phase and the schedule of its users say of the rows.
func (s *shown) edges(r *record.Run, ph record.Phase, merged map[string]*measure.Window, span time.Duration) error {
	s.phase = ph
	never, _, err := r.Omitted()
	for i := range s.Ops {
		o := &s.Ops[i]
		selected := trial.Selector(o.Name)
		all, omitted := measure.NewWindow(o.Name), measure.NewWindow(o.Name)
		for name, w := range merged {
			if selected(name) {
				all.Merge(w)
				if n := never[name]; n != nil {
					omitted.Merge(n)
				}
			}
		}
		o.end(ph.Tail.Of(selected), all, span)
		if n := omitted.Response.Count(); n > 0 {
			ms := func(q float64) float64 { return omitted.Response.Quantile(q).Seconds() * 1e3 }
			omitted.Merge(all)
			o.BySchedule = &bySchedule{Omitted: n, P50: ms(.5), P95: ms(.95), P99: ms(.99), Max: omitted.Response.Max().Seconds() * 1e3}
		}
	}
	return err
}

// end takes in what was under way when the phase of w ended.
func (o *opRow) end(t record.TailOp, w *measure.Window, span time.Duration) {
	o.Drained, o.Open = t.Drained, t.Open
	if span > 0 {
		o.Rate = float64(o.Count-min(t.Drained, o.Count)) / span.Seconds()
	}
	if t.Open == 0 {
		return
	}
	o.AtLeast = []string{"mean"}
	for name, q := range map[string]float64{"p50": .5, "p95": .95, "p99": .99} {
		if t.Bound(w.Response.Quantile(q)) {
			o.AtLeast = append(o.AtLeast, name)
		}
	}
	if t.Bound(w.Response.Max()) {
		o.AtLeast = append(o.AtLeast, "max")
	}
	slices.Sort(o.AtLeast)
}

// ms writes the latency of this name.
func (o *opRow) ms(name string, v float64) string {
	if slices.Contains(o.AtLeast, name) {
		return fmt.Sprintf("≥ %.2f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// printEdges says what was under way at the end, and how many operations there should have been.
func (s *shown) printEdges(w io.Writer) {
	ph := s.phase
	if ph.Name != "measure" {
		return
	}
	if ph.Tail == nil {
		plain.Fprintf(w, "  operations under way at the end of the phase: not recorded; what they waited is in no latency\n")
	} else if t := ph.Tail.Of(workload.Steady); t.Drained+t.Open > 0 {
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
	plain.Fprintf(w, "  BELOW %.0f %%: users waited and sent nothing; the latencies above hold few of their waits. Response by the schedule, as if users had not waited (docs/time.md), in ms:\n",
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
