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

// Screen writes the end of a comparison for a terminal: the verdicts, the supported users, the
// limiters of the arms, the validity of the runs, the warnings that matter most and the next steps,
// in lines of at most width signs, without color codes. Nothing is cut: where there is more than
// [ScreenLines] can hold, less important entries are left to the report, and a line states so. A
// width of 0 means 100; less than 40 counts as 40, and a width below 100 takes more lines. Given
// numbers have another screen, of any length.
func Screen(w io.Writer, d Document, width int) error {
	width = max(cmp.Or(width, defaultWidth), narrowest)
	switch d.Subject() {
	case Numbers:
		return d.Given.screen(w)
	case Ladder:
		return d.Sizing.screen(w, width)
	default:
	}
	most := ScreenLines
	if width < defaultWidth {
		most = most * defaultWidth / width
	}
	var lines []string
	for less := range leastDetail + 1 {
		s := screen{width: width, less: less}
		s.write(d)
		if lines = s.lines; len(lines) <= most {
			break
		}
	}
	if len(lines) > most {
		more := len(lines) - most + 1
		lines = append(
			lines[:most-1],
			fmt.Sprintf("and %s in the report", count(more, "line", "lines")),
		)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func (s *screen) write(d Document) {
	done := "complete"
	if !d.State.Complete {
		done = d.State.ended()
	}
	s.line(fmt.Sprintf("%s · %s, %s", d.Title, done, d.State.judgedText()))
	s.blank()
	s.verdicts(d)
	if t := d.Protocol.lookText(); t != "" && s.less < oneWarning {
		s.entry("looks", t)
	}
	if s.less < withoutUsers {
		s.blank()
		s.capacity(d)
		s.blank()
	}
	s.limits(d)
	s.entry("validity", validityText(d))
	if text := skippedText(d); text != "" && s.less < withoutSkipped {
		s.entry("not judged", text)
	}
	s.warnings(d)
	actions := mostFront - 1
	if s.less >= oneWarning {
		actions = 1
	}
	for _, a := range d.Actions[:min(len(d.Actions), actions)] {
		s.entry("next", a)
	}
}

// verdicts writes a sentence for each, or only which database has which.
func (s *screen) verdicts(d Document) {
	if len(d.Verdicts) == 0 {
		s.line("Nothing was judged.")
	}
	var kinds []string
	names := map[string][]string{}
	for _, f := range d.Verdicts {
		kind := strings.ToUpper(kindText(f.Verdict.Kind, f.Verdict.Indicative))
		if s.less < namesOnly {
			s.entry(kind, oneSentence(d, f))
			if s.less < withoutWhy {
				whys := d.WhyLines(f)
				if s.less >= fewerWhys && len(whys) > 2 {
					whys = []string{whys[0], whys[len(whys)-1]}
				}
				for _, t := range whys {
					s.entry("why", t)
				}
			}
			if s.less < withoutUsers {
				for _, t := range impliedComments(f) {
					s.entry("", t)
				}
			}
			continue
		}
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], test(f.Name))
	}
	for _, kind := range kinds {
		s.entry(kind, list(names[kind]))
	}
}

// limits writes the limiters of the arms, a line for each database.
func (s *screen) limits(d Document) {
	label := "limited by"
	for _, e := range d.Engines {
		if text := d.limited(e, ": "); text != "" {
			s.entry(label, text)
			label = ""
		}
	}
}

// capacity writes the table of supported users; where it does not fit, an entry for each database.
func (s *screen) capacity(d Document) {
	if len(d.Capacity) == 0 {
		return
	}
	level := d.capacityLevel() // the head of the column has it
	text := func(x *Delta) string { return strings.TrimSuffix(x.text(), " at "+level) }
	rows := [][]string{{"supported users", "arm", "users", "delta, " + level}}
	two := len(d.Arms) == 2
	if two {
		rows = [][]string{{"supported users", d.Arms[0].Label, d.Arms[1].Label, "delta, " + level}}
	}
	for _, c := range d.Capacity {
		name := test(d.engineLabel(c.Engine))
		if two {
			rows = append(rows,
				[]string{name, c.Cells[0].users(), c.Cells[1].users(), text(c.Cells[1].Delta)})
			continue
		}
		for i, cell := range c.Cells {
			delta := text(cell.Delta)
			if d.Arms[i].Base {
				delta = ""
			}
			rows = append(rows, []string{name, d.armLabel(cell.Arm), cell.users(), delta})
			name = ""
		}
	}
	if two {
		for _, c := range d.Capacity[1:] {
			rows = append(rows,
				[]string{"delta " + d.engineLabel(c.Engine), text(c.Cells[0].ByDatabase),
					text(c.Cells[1].ByDatabase), ""})
		}
	}
	lines := columns(rows, nil, "   ")
	wide := slices.ContainsFunc(lines,
		func(l string) bool { return utf8.RuneCountInString(l) > s.width })
	for i, r := range rows {
		if wide {
			s.entry("", strings.Join(r, "  "))
		} else {
			s.lines = append(s.lines, lines[i])
		}
	}
	if d.Protocol != nil && d.Protocol.Duet != nil {
		s.entry("", "found in turns: for comparing the arms, not the level of a server alone")
	}
}

// warnings writes the groups of warnings that matter most, and how many warnings there are.
func (s *screen) warnings(d Document) {
	most := mostFront
	switch {
	case s.less >= oneWarning:
		most = 1
	case s.less >= fewerWarnings:
		most = mostFront - 1
	}
	shown := urgent(d.WarningGroups)
	if len(shown) == 0 && len(d.Warnings) > 0 && s.less < oneWarning {
		s.entry("warnings", fmt.Sprintf("%d in the report, none to act on", len(d.Warnings)))
	}
	shown = shown[:min(len(shown), most)]
	told := 0
	for i, g := range shown {
		told += len(g.Warnings)
		text := g.Text
		if more := len(d.Warnings) - told; i == len(shown)-1 && more > 0 {
			text += fmt.Sprintf(" (and %d more in the report)", more)
		}
		if g.Changes {
			text = "could change a verdict: " + text
		}
		s.entry("warning", text)
	}
}

// skippedText names the endpoints that were not judged; those with the same reason share it.
func skippedText(d Document) string {
	var by byReason
	for _, f := range d.Verdicts {
		for _, r := range f.Skipped {
			name := r.Name
			if slices.ContainsFunc(d.Verdicts, func(o NamedVerdict) bool {
				return !slices.ContainsFunc(o.Skipped, func(x record.Row) bool {
					return x.Name == r.Name
				})
			}) {
				name += " of " + f.Name // others were judged by it
			}
			if !slices.Contains(by.names[r.Value], name) {
				by.add(r.Value, name)
			}
		}
	}
	return strings.Join(by.texts("%s (%s)"), ", ")
}
