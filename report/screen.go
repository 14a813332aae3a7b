package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/record"
)

// Limits of a screen.
const (
	screenLines   = 24
	defaultWidth  = 100
	narrowest     = 40
	screenWarning = 3 // how many warnings are written out
)

// Screen writes what the end of a comparison shows on a terminal: the verdicts, the supported users, what stopped
// the searches, the validity of the runs and the warnings, in about 24 lines of at most width signs, without color
// codes. A width of 0 means 100; less than 40 counts as 40.
func Screen(w io.Writer, d Document, width int) error {
	if width == 0 {
		width = defaultWidth
	}
	s := screen{width: max(width, narrowest)}
	done := "complete"
	if !d.State.Complete {
		done = stateWord(d.State.State)
		if d.State.Why != "" {
			done += " (" + d.State.Why + ")"
		}
	}
	s.line(fmt.Sprintf("%s · %s, %d of %d blocks judged", d.Title, done, d.State.Judged, d.State.Planned))
	s.lines = append(s.lines, "")
	if len(d.Verdicts) == 0 {
		s.line("Nothing was judged.")
	}
	for _, f := range d.Verdicts {
		s.entry(strings.ToUpper(kindText(f.Verdict.Kind, f.Verdict.Indicative)), headline(d, f), 3)
	}
	if t := d.Protocol.lookText(); t != "" {
		s.entry("looks", t, 2)
	}
	s.capacity(d)
	s.lines = append(s.lines, "")
	label := "limits"
	for _, e := range d.Engines {
		var parts []string
		for _, l := range d.Limiters {
			if l.Engine == e.Key {
				parts = append(parts, d.armLabel(l.Arm)+": "+cmp.Or(namedText(l), "stopped by "+stopText(l)))
			}
		}
		if len(parts) > 0 {
			s.entry(label, prefix(e.Label)+strings.Join(parts, "; "), 2)
			label = ""
		}
	}
	s.entry("validity", validityText(d), 3)
	if text := skippedText(d); text != "" {
		s.entry("not judged", text, 2)
	}
	next := screen{width: s.width}
	for _, a := range d.Actions[:min(len(d.Actions), 2)] {
		next.entry("next", a, 2)
	}
	s.warnings(d.Warnings, screenLines-len(next.lines))
	s.lines = append(s.lines, next.lines...)
	_, err := io.WriteString(w, strings.Join(s.lines, "\n")+"\n")
	return err
}

type screen struct {
	width int
	lines []string
}

// labelWidth is how wide the first column is: "INCONCLUSIVE" and two spaces.
const labelWidth = 14

func (s *screen) line(text string) { s.lines = append(s.lines, short(oneLine(text), s.width)) }

// entry writes a label and a text that is wrapped to at most most lines.
func (s *screen) entry(label, text string, most int) {
	for i, l := range wrap(oneLine(text), s.width-labelWidth, most) {
		if i > 0 {
			label = ""
		}
		s.lines = append(s.lines, strings.TrimRight(pad(label, labelWidth)+l, " "))
	}
}

// capacity writes the table of supported users, if it fits; with more arms than fit, one line per arm.
func (s *screen) capacity(d Document) {
	if len(d.Capacity) == 0 {
		return
	}
	s.lines = append(s.lines, "")
	head := []string{"supported users", "arm", "users", "delta"}
	rows := [][]string{head}
	if len(d.Arms) == 2 {
		rows = [][]string{{"supported users", d.Arms[0].Label, d.Arms[1].Label, "delta"}}
	}
	for _, c := range d.Capacity {
		name := test(d.engineLabel(c.Engine))
		if len(d.Arms) == 2 {
			rows = append(rows, []string{name, c.Cells[0].users(), c.Cells[1].users(), c.Cells[1].Delta.text()})
			continue
		}
		for i, cell := range c.Cells {
			delta := cell.Delta.text()
			if d.Arms[i].Base {
				delta = ""
			}
			rows = append(rows, []string{name, d.armLabel(cell.Arm), cell.users(), delta})
			name = ""
		}
	}
	if len(d.Arms) == 2 {
		for _, c := range d.Capacity[1:] {
			rows = append(rows, []string{"delta " + d.engineLabel(c.Engine), c.Cells[0].ByDatabase.text(), c.Cells[1].ByDatabase.text(), ""})
		}
	}
	widths := make([]int, len(head))
	for _, r := range rows {
		for i := range r {
			r[i] = short(oneLine(r[i]), 26)
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			b.WriteString(pad(cell, widths[i]+3))
		}
		s.lines = append(s.lines, short(strings.TrimRight(b.String(), " "), s.width))
	}
}

// warnings writes as many warnings as there is room for up to line most, at least one, and says how many more there
// are. The most serious come first.
func (s *screen) warnings(warnings []string, most int) {
	room := most - len(s.lines)
	n := min(screenWarning, room)
	if len(warnings) > n {
		n = max(min(screenWarning, room-1), 1)
	}
	for i, t := range warnings {
		if i == n {
			s.entry("", fmt.Sprintf("and %d more in the report", len(warnings)-n), 1)
			return
		}
		s.entry("warning", t, 1)
	}
}

func validityText(d Document) string {
	judged, voided := 0, 0
	var invalid []string
	for _, r := range d.Runs {
		switch r.Part {
		case "judged":
			judged++
		case "voided":
			voided++
		}
		if !r.Valid {
			invalid = append(invalid, r.ID)
		}
	}
	text := fmt.Sprintf("%s: %d judged", count(len(d.Runs), "run", "runs"), judged)
	if voided > 0 {
		text += fmt.Sprintf(", %d in %s", voided, count(len(d.Voided), "voided block", "voided blocks"))
	}
	if n := len(invalid); n > 0 {
		names := invalid[:min(n, 4)]
		text += fmt.Sprintf(", %d not valid (%s", n, strings.Join(names, ", "))
		if n > len(names) {
			text += ", …"
		}
		return text + ")"
	}
	return text + ", none invalid"
}

func skippedText(d Document) string {
	var parts []string
	for _, f := range d.Verdicts {
		for _, r := range f.Skipped {
			name := r.Name
			if slices.ContainsFunc(d.Verdicts, func(o Finding) bool {
				return !slices.ContainsFunc(o.Skipped, func(x record.Row) bool { return x.Name == r.Name })
			}) {
				name += " of " + f.Name // others were judged by it
			}
			if t := name + " (" + r.Value + ")"; !slices.Contains(parts, t) {
				parts = append(parts, t)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// wrap breaks a text between words into at most most lines of n signs; what is left over is cut and marked.
func wrap(text string, n, most int) []string {
	var out []string
	line := ""
	words := strings.Fields(text)
	for i, word := range words {
		word = short(word, n)
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= n:
			line += " " + word
		case len(out) == most-1:
			return append(out, short(line+" "+strings.Join(words[i:], " "), n))
		default:
			out = append(out, line)
			line = word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
