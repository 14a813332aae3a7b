package report

import (
	"fmt"
	"io"
	"strings"
)

// screen writes the end of a sizing for a terminal: the comfortable and the largest number of
// users, the bottleneck, the cost, and the steps with their grades.
func (d *SizingPart) screen(w io.Writer, width int) error {
	s := screen{width: width}
	done := "complete"
	if !d.Complete {
		done = "not complete: " + d.Why
	}
	s.line(fmt.Sprintf("%s · %s · %s", d.title(), done, count(len(d.Steps), "step", "steps")))
	s.blank()
	if d.Graded() {
		s.entry("COMFORTABLE", levelText(d.Comfortable))
		s.entry("largest", levelText(d.Maximum))
	} else {
		s.entry("NO GRADE", "no step carries a grade, so that no number of users can be named")
	}
	s.entry("bottleneck", d.Bottleneck.Sentence)
	if a := advice[d.Bottleneck.Name]; a != "" {
		s.entry("next", a)
	}
	if l := d.Limiter; l != nil && l.Advice != "" {
		s.entry("next", l.Advice)
	}
	label := "cost"
	for _, o := range d.Offers {
		text := fmt.Sprintf("%s: %s %s a month", o.Name, fixed(o.Price, 2), o.Currency)
		if o.Users != nil {
			text += fmt.Sprintf(
				", %s %s for 1,000 concurrent users",
				fixed(*o.Per1000, 2),
				o.Currency,
			)
			if !o.Measured {
				text += " (extrapolated)"
			}
		}
		s.entry(label, text)
		label = ""
	}
	for _, warning := range d.LostWarnings() {
		s.entry("warning", warning)
	}
	s.blank()
	t := newTable(">Users",
		">per s",
		">p50",
		">p95",
		">p99",
		">max",
		">Errors",
		">CPU",
		">Memory",
		"Grade",
	)
	for _, step := range d.Steps {
		grade := string(step.Grade)
		switch {
		case !step.Valid:
			grade = "none: not valid"
		case grade == "":
			grade = "none: " + step.Rule
		}
		t.add(stepCells(step), grade)
	}
	for _, l := range t.text() {
		s.lines = append(s.lines, tableLine(l, s.width)...)
	}
	_, err := io.WriteString(w, strings.Join(s.lines, "\n")+"\n")
	return err
}
