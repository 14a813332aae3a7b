package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/plain"
	"plimsoll/record"
)

// A RunOp is the operations of one name in one phase of a run. Mean and Max are response times in
// milliseconds; AtLeast of the cell may name them too. Within is the run's own interval of its p95
// as text; empty where it is not known.
type RunOp struct {
	OpLine
	Mean, Max Number
	Within    string
}

// opTable begins a table of operations: columns that name a row, then the common ones; more has a
// run's mean and maximum, and within its own interval.
func opTable(first []string, more, within bool) *table {
	head := slices.Concat(first, []string{">Count", ">per s", ">Errors"})
	if more {
		head = append(head, ">mean ms")
	}
	head = append(head, ">p50 ms", ">p95 ms", ">p99 ms")
	if more {
		head = append(head, ">max ms")
	}
	if within {
		head = append(head, ">95 % of p95")
	}
	return newTable(-1, head...)
}

// opCells are the cells of an operation behind its name; latency writes one by its name.
func opCells(c OpCell, latency func(name string, v Number) string) []string {
	return []string{strconv.FormatUint(c.Count, 10), sig(c.Rate, 3), errorText(c),
		latency("p50", c.P50), latency("p95", c.P95), latency("p99", c.P99)}
}

// runTable lays the operations of a run out.
func runTable(ops []RunOp) *table {
	within := slices.ContainsFunc(ops, func(o RunOp) bool { return o.Within != "" })
	t := opTable([]string{"Operation"}, true, within)
	for _, o := range ops {
		latency := func(name string, v Number) string {
			return OpTable{}.latency(0, o.OpCell, name, v)
		}
		cells := opCells(o.OpCell, latency)
		cells = slices.Insert(cells, 3, latency("mean", o.Mean))
		cells = append([]string{o.Name}, append(cells, latency("max", o.Max))...)
		if within {
			cells = append(cells, orDash(o.Within))
		}
		t.add(cells)
	}
	return t
}

// RunOps writes the operations of a run as a table for a terminal: the table of operations of every
// report.
func RunOps(w io.Writer, ops []RunOp) error {
	_, err := io.WriteString(w, strings.Join(runTable(ops).text(), "\n")+"\n")
	return err
}

// text writes a table in columns that line up, without trailing blanks.
func (t *table) text() []string {
	out := columns(slices.Concat([][]string{t.Head}, t.Rows), t.Right, "  ")
	for i := range out {
		out[i] = "  " + out[i]
	}
	return out
}

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
				cells[i] = strings.Repeat(
					" ",
					widths[i]-utf8.RuneCountInString(plain.OneLine(c)),
				) + plain.OneLine(
					c,
				)
			}
		}
		out[k] = strings.TrimRight(strings.Join(cells, gap), " ")
	}
	return out
}

// RunLines is the largest number of lines of a [RunScreen] at its usual width.
const RunLines = 20

// A RunScreen is the end of a single run on a terminal.
type RunScreen struct {
	Title string
	// Entries are facts with their labels, the most important first. Those without room are left
	// out, and a line states how many and where they are.
	Entries []record.Row
	Ops     []RunOp // by falling count; left out likewise
	// More names the place of all entries, Ends is always shown.
	More string
	Ends []record.Row
}

// leastOps is the smallest number of operations that the screen keeps room for.
const leastOps = 3

// Write writes the screen in at most [RunLines] lines of at most width signs, or in more lines
// where width is below 100; 0 means 100. Nothing is cut.
func (r RunScreen) Write(w io.Writer, width int) error {
	width = max(cmp.Or(width, defaultWidth), narrowest)
	most := RunLines
	if width < defaultWidth {
		most = most * defaultWidth / width
	}
	entry := func(e record.Row) []string {
		lines := Fold(e.Name+": "+plain.OneLine(e.Value), width-4)
		for i := range lines {
			lines[i] = strings.Repeat(" ", 2+2*min(i, 1)) + lines[i]
		}
		return lines
	}
	lines := Fold(plain.OneLine(r.Title), width)
	var ends []string
	for _, e := range r.Ends {
		ends = append(ends, entry(e)...)
	}
	keep := len(ends) + 1 // and the line that counts the omitted entries
	if len(r.Ops) > 0 {
		keep += 1 + min(len(r.Ops), leastOps)
	}
	left := 0
	for _, e := range r.Entries {
		if l := entry(e); len(lines)+len(l)+keep <= most {
			lines = append(lines, l...)
		} else {
			left++
		}
	}
	if n := len(r.Ops); n > 0 {
		shown := min(n, max(most-len(lines)-len(ends)-2, leastOps))
		for _, l := range runTable(r.Ops[:shown]).text() {
			lines = append(lines, tableLine(l, width)...)
		}
		left += n - shown
	}
	more := r.More
	if left > 0 {
		more = fmt.Sprintf("%s left out: %s", count(left, "line", "lines"), r.More)
	}
	lines = append(lines, "  "+more)
	_, err := io.WriteString(w, strings.Join(append(lines, ends...), "\n")+"\n")
	return err
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
