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

// A printer writes a text for people.
type printer struct{ io.Writer }

func (w printer) say(format string, a ...any) { plain.Fprintf(w, format, a...) }

// Text writes the run with everything that is known of it, for people.
func (s *Shown) Text(to io.Writer) error {
	w, m := printer{to}, s.Manifest
	w.say("%s\n", s.Title())
	for _, c := range s.Changed {
		w.say("  changed: %s\n", c)
	}
	w.say("  plan %s (%s), seed %d, arm %s, database %s\n", m.Name,
		m.PlanDigest[:min(len(m.PlanDigest), 19)], m.Seed, orDash(m.Arm), orDash(m.Engine))
	for _, p := range m.Phases {
		w.say("  %-8s %6.1f s to %6.1f s, %d users at its end", p.Name, p.From.Seconds(),
			p.To.Seconds(), p.Users)
		if p.Ended != "" {
			w.say("; %s", p.Ended)
		}
		w.say("\n")
	}
	if c := m.Capacity; c != nil {
		w.say("  capacity: %s\n", s.foundText(c.Stopped))
		if m.Duet != nil {
			w.say("  %s\n", record.InTurns)
		}
		if c.Confirmed > 0 {
			w.say("  held %s\n", heldText(c))
		}
		if c.Kind == record.Unstable {
			w.say("  unstable: %s\n", c.Why)
			if text := twoCapacities(c); text != "" {
				w.say("  two capacities: %s\n", text)
			}
		}
		if c.Recommended > 0 {
			w.say("  %s\n", safeText(c))
		}
	}
	for _, f := range s.Found() {
		w.say("  %s %s: %s\n", f.Level, f.Gate, f.Text)
	}
	writeGates(w, s.Validity.Gates)
	if c := m.Connections; c != nil && c.String() != "" {
		w.say("  kept connections: %s\n", c)
	}
	if a := m.Answers; a != nil {
		w.say("  answers under way: %s\n", a)
	}
	if err := s.writeOps(w); err != nil {
		return err
	}
	for _, e := range s.Events {
		if e.Kind == "slo" {
			w.say("  %s\n", report.RuleLine(e))
		}
	}
	for _, line := range report.ErrorLines(s.Events) {
		w.say("  error %s\n", line)
	}
	limiterText(w, s.Limiter)
	if why := s.unsettled(); why != "" {
		w.say("  settling: %s\n", why)
	}
	if Seen(s.Drift) {
		w.say("\nstability in the measured phase (docs/method/statistics.md):\n")
		for _, d := range s.Drift {
			w.say("  %s\n", d.Sentence)
		}
	}
	p, err := Plan(m.Plan)
	if err != nil {
		p = nil // of another version; then the report names neither mix nor login
	}
	return report.RunText(w, s.Data, p)
}

// writeOps shows the operations, and what a script counts beside them.
func (s *Shown) writeOps(w printer) error {
	w.say("\noperations of phase %s:\n", s.Phase)
	ops := s.lines()
	if err := report.RunOps(w, ops); err != nil {
		return err
	}
	s.writeEdges(w)
	if err := report.RunChecks(w, s.Checks); err != nil {
		return err
	}
	if x := s.Exceptions; x != nil {
		w.say("  %s\n", x)
	}
	if slices.ContainsFunc(ops, func(o report.RunOp) bool { return o.Within != "" }) {
		w.say("  95 %% of p95 is the interval of this run's own percentile (moving-block bootstrap). Runs differ by more: only a comparison of several runs shows by how much.\n")
	}
	return nil
}

// writeGates shows the gates of the generator's health with their readings.
func writeGates(w printer, gates []record.GateOutcome) {
	if len(gates) == 0 {
		return
	}
	w.say("\ngates of the generator (docs/validity.md; the last three columns are seconds):\n")
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
func (s *Shown) writeEdges(w printer) {
	ph := s.Of
	if ph.Name != "measure" {
		return
	}
	if ph.Tail == nil {
		w.say("  operations under way at the end of the phase: not recorded; their waits are in no latency\n")
	} else if t := s.Tail(); t.Drained+t.Open > 0 {
		w.say("  under way at the end of the phase: %d, of which %d ended within %v and %d are counted with their age\n",
			t.Drained+t.Open, t.Drained,
			ph.Tail.Waited.Round(time.Millisecond), t.Open)
	}
	c := ph.Schedule
	if c == nil {
		w.say("  achieved of intended operations: not recorded\n")
		return
	}
	if c.Unpaused {
		w.say("  achieved of intended operations: not applicable: users without pauses\n")
		return
	}
	w.say("  achieved of intended operations (%s): %d of %.0f, %.2f %%\n",
		c.Of,
		c.Achieved,
		c.Intended,
		100*c.Share(),
	)
	if !c.Marked() || c.Of == record.OfArrivals {
		return
	}
	w.say("  BELOW %.0f %%: users waited and sent nothing; the latencies above hold few of their waits. Response by the schedule, as if users had not waited (docs/method/time.md), in ms:\n",
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
