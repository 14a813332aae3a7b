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

func newTable(kind int, head ...string) *table {
	t := &table{Kind: kind, Right: make([]bool, len(head))}
	for i, h := range head {
		t.Right[i] = strings.HasPrefix(h, ">")
		t.Head = append(t.Head, strings.TrimPrefix(h, ">"))
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

// prose is sentences.
type prose []string

func (p *prose) add(format string, a ...any) { *p = append(*p, fmt.Sprintf(format, a...)) }

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

// test names a row of an engine; a target whose database is not ours has no name for it.
func test(label string) string {
	if label == "" {
		return "target"
	}
	return label
}

func orDash(s string) string {
	if s == "" {
		return dash
	}
	return s
}

// yes is the cell of a column of yes and no.
func yes(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
