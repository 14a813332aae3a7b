package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/plain"
)

// columns lines up the cells of rows, some to the right, with a gap between them and no blanks at
// the ends.
func columns(rows [][]string, right []bool, gap string) []string {
	widths := make([]int, len(rows[0]))
	out := make([]string, len(rows))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(plain.OneLine(c)))
		}
	}
	for k, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = pad(plain.OneLine(c), widths[i])
			if right != nil && right[i] {
				cells[i] = fmt.Sprintf("%*s", widths[i], plain.OneLine(c))
			}
		}
		out[k] = strings.TrimRight(strings.Join(cells, gap), " ")
	}
	return out
}

// tableLine breaks a line of a table only where it is too wide: the columns that fit stay, and the
// rest follows below.
func tableLine(l string, width int) []string {
	r := []rune(l)
	if len(r) <= width {
		return []string{l}
	}
	cut := width
	for cut > 0 && r[cut] != ' ' {
		cut--
	}
	lines := []string{strings.TrimRight(string(r[:cut]), " ")}
	for _, more := range Fold(string(r[cut:]), width-8) {
		lines = append(lines, strings.Repeat(" ", 8)+more)
	}
	return lines
}

// Limits of a screen.
const (
	defaultWidth = 100
	narrowest    = 40
	// ScreenLines is the largest number of lines of a comparison's [Screen] at its usual width; a
	// command adds the place of the report.
	ScreenLines = 17
)

// The parts that a screen leaves out when there is not enough room, one after another.
const (
	withoutBlanks = iota + 1
	fewerWarnings
	withoutUsers
	withoutSkipped
	oneWarning
	fewerWhys // the first and the last of a verdict
	withoutWhy
	namesOnly
	leastDetail = namesOnly
)

// A screen is lines for a terminal. Less selects the parts to leave out.
type screen struct {
	width, less int
	lines       []string
}

// labelWidth is the width of the first column: "INCONCLUSIVE" and two spaces.
const labelWidth = 14

func (s *screen) blank() {
	if s.less < withoutBlanks && len(s.lines) > 0 && s.lines[len(s.lines)-1] != "" {
		s.lines = append(s.lines, "")
	}
}

func (s *screen) line(text string) { s.lines = append(s.lines, Fold(plain.OneLine(text), s.width)...) }

// entry writes a label and a text that is wrapped beside it.
func (s *screen) entry(label, text string) {
	for i, l := range Fold(plain.OneLine(text), s.width-labelWidth) {
		if i > 0 {
			label = ""
		}
		s.lines = append(s.lines, strings.TrimRight(pad(label, labelWidth)+l, " "))
	}
}

// wrap breaks a text into at most the given number of lines of n signs; the rest is cut and marked.
func wrap(text string, n, most int) []string {
	lines := Fold(text, n)
	if len(lines) > most {
		lines = append(lines[:most-1], short(strings.Join(lines[most-1:], " "), n))
	}
	return lines
}

// Fold breaks a text into lines of at most n signs, between words where it can, and leaves nothing
// out.
func Fold(text string, n int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		for r := []rune(word); ; {
			room := n - utf8.RuneCountInString(line)
			if len(r) <= room {
				line += string(r)
				break
			}
			out, line, r = append(out, line+string(r[:room])), "", r[room:]
		}
	}
	return append(out, line)
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
