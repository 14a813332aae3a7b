package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

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

// runTable lays the operations of a run out.
func runTable(ops []RunOp) *table {
	within := slices.ContainsFunc(ops, func(o RunOp) bool { return o.Within != "" })
	head := []string{"Operation", ">Count", ">per s", ">Errors", ">mean ms", ">p50 ms", ">p95 ms",
		">p99 ms", ">max ms"}
	if within {
		head = append(head, ">95 % of p95")
	}
	t := newTable(head...)
	for _, o := range ops {
		cells := slices.Insert(opCells(o.OpCell, ""), 3, o.latency("mean", o.Mean, ""))
		if cells = append(cells, o.latency("max", o.Max, "")); within {
			cells = append(cells, orDash(o.Within))
		}
		t.add(o.Name, cells)
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
