package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/report"
)

// lines are the operations as the tables of reports show them.
func (s *Shown) lines() []report.RunOp {
	all := make([]report.RunOp, len(s.Ops))
	for i, o := range s.Ops {
		all[i] = report.RunOp{Mean: report.Number(o.Mean), Max: report.Number(o.Max),
			OpLine: report.OpLine{Name: o.Name, OpCell: report.OpCell{
				Count:    o.Count,
				Failed:   o.Errors,
				Rate:     report.Number(o.Rate),
				P50:      report.Number(o.P50),
				P95:      report.Number(o.P95),
				P99:      report.Number(o.P99),
				Classes:  report.Counts(o.Class),
				Statuses: report.Counts(o.Status),
				Expected: o.Expected,
				Drained:  o.Drained,
				Open:     o.Open,
				AtLeast:  o.AtLeast,
			}}}
		if x := o.Interval; x != nil && x.P95 != nil {
			all[i].Within = fmt.Sprintf("%.2f to %.2f", x.P95[0], x.P95[1])
		}
	}
	return all
}

// foundText states the result of a search and its end.
func (s *Shown) foundText(how string) string {
	c := s.Manifest.Capacity
	text := record.CapacityText(c.Kind, c.Users)
	if c.Kind == record.Estimate {
		text += fmt.Sprintf(" users [%.0f, %.0f] within the run, by %s", c.Lo, c.Hi, c.Estimator)
	}
	return text + "; stopped by " + orDash(c.Rule) + "; " + how
}

// twoCapacities states both capacities of an unstable search that saw two; empty for others.
func twoCapacities(c *record.Capacity) string {
	if c.Kind != record.Unstable || c.Reached <= 0 || c.Held <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f users going up, %.0f after an overload", c.Reached, c.Held)
}

func safeText(c *record.Capacity) string {
	return fmt.Sprintf("nine of ten plateaus hold at %.0f users", c.Recommended)
}

func heldText(c *record.Capacity) string {
	return fmt.Sprintf(
		"for %v without a violation; an effect that comes later would not have shown",
		c.Confirmed.Round(100*time.Millisecond),
	)
}

func orDash(s string) string { return cmp.Or(s, "-") }

// Screen is the end of the run, which is in a directory, on a terminal.
func (s *Shown) Screen(dir string) report.RunScreen {
	m := s.Manifest
	out := report.RunScreen{
		Title: s.Title(),
		More:  "plimsoll show " + m.ID + " has everything",
		Ends:  []record.Row{{Name: "run", Value: dir}},
	}
	add := func(name, format string, args ...any) {
		out.Entries = append(out.Entries, record.Row{
			Name:  name,
			Value: fmt.Sprintf(format, args...),
		})
	}
	if c := m.Capacity; c != nil {
		how, unstable := s.Ended()
		add("capacity", "%s", strings.TrimSuffix(s.foundText(how), "; "))
		if unstable != "" {
			add("unstable", "%s", unstable)
		}
		if text := twoCapacities(c); text != "" {
			add("two capacities", "%s", text)
		}
		if c.Recommended > 0 {
			add("safe", "%s", safeText(c))
		}
	}
	if l := s.Named(); l != nil {
		text := l.Sentence
		if l.Confidence != "" {
			text += " Confidence: " + l.Confidence + "."
		}
		add("limiter", "%s", text)
	}
	s.scripted(add)
	s.findings(add)
	for _, p := range m.Phases {
		if p.Name == "measure" || p.Name == "search" {
			add(
				p.Name,
				"%.1f s to %.1f s, %d users at its end",
				p.From.Seconds(),
				p.To.Seconds(),
				p.Users,
			)
		}
	}
	add("plan", "%s, seed %d, arm %s, database %s", m.Name, m.Seed, orDash(m.Arm), orDash(m.Engine))
	if moved := s.moved(); len(moved) > 0 {
		add("drift", "not steady in the measured phase: %s", strings.Join(moved, ", "))
	}
	if c := m.Capacity; c != nil && c.Confirmed > 0 {
		add("held", "%s", heldText(c))
	}
	out.Ops = s.lines()
	slices.SortStableFunc(out.Ops,
		func(a, b report.RunOp) int { return -cmp.Compare(a.Count, b.Count) })
	return out
}

// scripted adds the checks that did not always hold, and how many always did.
func (s *Shown) scripted(add func(name, format string, args ...any)) {
	if x := s.Exceptions; x != nil {
		add("exceptions", "%d of %d iterations", x.Count, x.Of)
	}
	held := 0
	for _, c := range s.Checks {
		if c.Failed > 0 {
			add("check", "%s: %s", c.Name, c)
		} else {
			held++
		}
	}
	if len(s.Checks) > 0 {
		add("checks", "%d of %d always held", held, len(s.Checks))
	}
}

// findings adds the facts that a reader must know before trusting a number: the red and amber
// findings, rules that did not hold or were not judged, and errors.
func (s *Shown) findings(add func(name, format string, args ...any)) {
	for _, level := range []string{record.Red, record.Amber} {
		for _, f := range s.unnamed() {
			if f.Level == level {
				add(level, "%s: %s", f.Gate, f.Text)
			}
		}
	}
	var rules report.RuleTally
	for _, e := range s.Events {
		if e.Kind != "slo" {
			continue
		}
		if text := rules.Add(e); text != "" {
			add("rule", "%s", text)
		}
	}
	for _, line := range report.ErrorLines(s.Events) {
		add("error", "%s", line)
	}
	if text := rules.String(); text != "" {
		add("rules", "%s", text)
	}
}
