package evidence

import (
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// Text writes the run with everything that is known of it, for people.
func (s *Shown) Text(w io.Writer) error {
	m := s.Manifest
	plain.Fprintf(w, "%s\n", s.Title())
	for _, c := range s.Changed {
		plain.Fprintf(w, "  changed: %s\n", c)
	}
	plain.Fprintf(w, "  plan %s (%s), seed %d, arm %s, database %s\n", m.Name,
		m.PlanDigest[:min(len(m.PlanDigest), 19)], m.Seed, orDash(m.Arm), orDash(m.Engine))
	for _, p := range m.Phases {
		plain.Fprintf(w, "  %-8s %6.1f s to %6.1f s, %d users at its end", p.Name, p.From.Seconds(),
			p.To.Seconds(), p.Users)
		if p.Ended != "" {
			plain.Fprintf(w, "; %s", p.Ended)
		}
		plain.Fprintf(w, "\n")
	}
	if c := m.Capacity; c != nil {
		plain.Fprintf(w, "  capacity: %s\n", s.foundText(c.Stopped))
		if m.Duet != nil {
			plain.Fprintf(w, "  %s\n", record.InTurns)
		}
		if c.Confirmed > 0 {
			plain.Fprintf(w, "  held %s\n", heldText(c))
		}
		if c.Kind == record.Unstable {
			plain.Fprintf(w, "  unstable: %s\n", c.Why)
			if text := twoCapacities(c); text != "" {
				plain.Fprintf(w, "  two capacities: %s\n", text)
			}
		}
		if c.Recommended > 0 {
			plain.Fprintf(w, "  %s\n", safeText(c))
		}
	}
	for _, f := range s.Found() {
		plain.Fprintf(w, "  %s %s: %s\n", f.Level, f.Gate, f.Text)
	}
	writeGates(w, s.Validity.Gates)
	if c := m.Connections; c != nil && c.String() != "" {
		plain.Fprintf(w, "  kept connections: %s\n", c)
	}
	if a := m.Answers; a != nil {
		plain.Fprintf(w, "  answers under way: %s\n", a)
	}
	if err := s.writeOps(w); err != nil {
		return err
	}
	for _, e := range s.Events {
		if e.Kind == "slo" {
			plain.Fprintf(w, "  %s\n", report.RuleLine(e))
		}
	}
	for _, line := range report.ErrorLines(s.Events) {
		plain.Fprintf(w, "  error %s\n", line)
	}
	limiterText(w, s.Limiter)
	if why := s.unsettled(); why != "" {
		plain.Fprintf(w, "  settling: %s\n", why)
	}
	if Seen(s.Drift) {
		plain.Fprintf(w, "\nstability in the measured phase (docs/method/statistics.md):\n")
		for _, d := range s.Drift {
			plain.Fprintf(w, "  %s\n", d.Sentence)
		}
	}
	p, err := Plan(m.Plan)
	if err != nil {
		p = nil // of another version; then the report names neither mix nor login
	}
	return report.RunText(w, s.Data, p)
}

// writeOps shows the operations, and what a script counts beside them.
func (s *Shown) writeOps(w io.Writer) error {
	plain.Fprintf(w, "\noperations of phase %s:\n", s.Phase)
	ops := s.lines()
	if err := report.RunOps(w, ops); err != nil {
		return err
	}
	s.writeEdges(w)
	if err := report.RunChecks(w, s.Checks); err != nil {
		return err
	}
	if x := s.Exceptions; x != nil {
		plain.Fprintf(w, "  %s\n", x)
	}
	if slices.ContainsFunc(ops, func(o report.RunOp) bool { return o.Within != "" }) {
		plain.Fprintf(
			w,
			"  95 %% of p95 is the interval of this run's own percentile (moving-block bootstrap). Runs differ by more: only a comparison of several runs shows by how much.\n",
		)
	}
	return nil
}

// writeGates shows the gates of the generator's health with their readings.
func writeGates(w io.Writer, gates []record.GateOutcome) {
	if len(gates) == 0 {
		return
	}
	plain.Fprintf(w,
		"\ngates of the generator (docs/validity.md; the last three columns are seconds):\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "GATE\tSTATE\tREADING\tWORST\tAMBER\tRED\tREAD\tAMBER\tRED\t\n")
	for _, g := range gates {
		show := func(v *float64) string {
			if v == nil {
				return "-"
			}
			return plan.Gate{Unit: g.Unit}.Format(*v)
		}
		plain.Fprintf(
			tw,
			"%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n",
			g.Name,
			g.Level,
			show(g.Value),
			show(g.Worst),
			show(&g.Amber),
			show(&g.Red),
			g.Seconds,
			g.AmberSeconds,
			g.RedSeconds,
			g.Why,
		)
	}
	tw.Flush()
}

// writeEdges writes the operations under way at the end, and those expected by the schedule.
func (s *Shown) writeEdges(w io.Writer) {
	ph := s.Of
	if ph.Name != "measure" {
		return
	}
	if ph.Tail == nil {
		plain.Fprintf(
			w,
			"  operations under way at the end of the phase: not recorded; their waits are in no latency\n",
		)
	} else if t := s.Tail(); t.Drained+t.Open > 0 {
		plain.Fprintf(w,
			"  under way at the end of the phase: %d, of which %d ended within %v and %d are counted with their age\n",
			t.Drained+t.Open, t.Drained,
			ph.Tail.Waited.Round(time.Millisecond), t.Open)
	}
	c := ph.Schedule
	if c == nil {
		plain.Fprintf(w, "  achieved of intended operations: not recorded\n")
		return
	}
	if c.Unpaused {
		plain.Fprintf(
			w,
			"  achieved of intended operations: not applicable: users without pauses\n",
		)
		return
	}
	plain.Fprintf(
		w,
		"  achieved of intended operations (%s): %d of %.0f, %.2f %%\n",
		c.Of,
		c.Achieved,
		c.Intended,
		100*c.Share(),
	)
	if !c.Marked() || c.Of == record.OfArrivals {
		return
	}
	plain.Fprintf(
		w,
		"  BELOW %.0f %%: users waited and sent nothing; the latencies above hold few of their waits. Response by the schedule, as if users had not waited (docs/method/time.md), in ms:\n",
		100*record.LeastAchieved,
	)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	plain.Fprintf(tw, "NAME\tNOT BEGUN\tP50\tP95\tP99\tMAX\t\n")
	for _, o := range s.Ops {
		if b := o.BySchedule; b != nil {
			plain.Fprintf(
				tw,
				"%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n",
				o.Name,
				b.Omitted,
				b.P50,
				b.P95,
				b.P99,
				b.Max,
			)
		}
	}
	tw.Flush()
}
