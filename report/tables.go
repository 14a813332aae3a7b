package report

import (
	"bytes"
	"fmt"
	"strings"
)

// A table has the same content in Markdown and HTML. Right marks the columns that hold numbers. A
// cell of column Kind (-1 for none) is a conclusion, a level or a yes or no, which a form may
// color.
type table struct {
	Head  []string
	Right []bool
	Kind  int
	Rows  [][]string
}

// newTable makes a table without rows. A column with ">" before its head holds numbers, the one with
// "!" is that of the conclusions.
func newTable(head ...string) *table {
	t := &table{Kind: -1, Right: make([]bool, len(head))}
	for i, h := range head {
		h, t.Right[i] = strings.CutPrefix(h, ">")
		h, conclusion := strings.CutPrefix(h, "!")
		if conclusion {
			t.Kind = i
		}
		t.Head = append(t.Head, h)
	}
	return t
}

// add adds a row of [cells].
func (t *table) add(row ...any) { t.Rows = append(t.Rows, cells(row...)) }

// cells writes the cells of a row: texts as they are, numbers with three digits, counts whole; a
// list of texts is as many cells.
func cells(row ...any) []string {
	var out []string
	for _, c := range row {
		switch c := c.(type) {
		case string:
			out = append(out, c)
		case []string:
			out = append(out, c...)
		case Number:
			out = append(out, sig(c, 3))
		default:
			out = append(out, fmt.Sprint(c))
		}
	}
	return out
}

// section is a section of the table; none without a row.
func (t *table) section(title string, notes ...string) []section {
	if len(t.Rows) == 0 {
		return nil
	}
	return []section{{Level: 3, Title: title, Table: t, Notes: notes}}
}

// A section is a heading with its content, in the order of the fields.
type section struct {
	Level  int // 2 or 3
	Title  string
	Items  prose // a list
	Table  *table
	Notes  prose // paragraphs
	Graphs []int // indexes into Document.Graphs, two beside each other
	// Links lists pages in a separate table, with LinkHead above it.
	LinkHead []string
	Links    []linkRow
	// Raw means that Items are a person's own words, which may hold markup.
	Raw bool
	// Drawing is a picture that is not a Graph, or nil.
	Drawing drawing
}

// A drawing is a picture of a section: the name of its file below the directory graphs, without an
// ending, its title, and its form in a page.
type drawing interface {
	picture() (file, title string)
	writeDrawing(b *bytes.Buffer, id int)
}

// A linkRow is a row of a table of links: a text, and a cell of links for each further column.
type linkRow struct {
	Name  string
	Cells [][]PageRef
}

// A sheet is the common model of all reports: a top, then sections. Renderers know nothing else of
// a report.
type sheet struct {
	title  string
	arms   []string // the title continues with them: a vs b
	about  string   // a line below the title, in HTML only
	alerts []alert
	// leads are sentences below the title; as a list, or as paragraphs.
	leads []string
	list  bool
	// front is the first screen of a comparison; nil for reports that are short enough without one.
	front    *front
	warnings []string
	folds    []fold
	// brief are the sections of the short Markdown, below the first screen; nil for all.
	brief  []section
	graphs []Graph
	footer string
	full   string // the file with everything, of a sheet that has brief sections
}

// An alert is something that a reader must not overlook.
type alert struct{ head, text string }

// A fold is sections that belong together. HTML folds those with a title.
type fold struct {
	title    string
	sections []section
}

// resultsHead is the heading of the results.
var resultsHead = section{Level: 2, Title: "Results"}
