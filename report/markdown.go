package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/plain"
)

// writeSection writes a section; graphs are the report's.
func writeSection(b *strings.Builder, graphs []Graph, s section) {
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", s.Level), md(s.Title))
	writeList(b, "", s.Items, s.Raw)
	if s.Drawing != nil {
		file, title := s.Drawing.picture()
		fmt.Fprintf(b, "![%s](graphs/%s.png)\n\n", md(title), file)
	}
	if s.Table != nil {
		writeTable(b, s.Table)
	}
	writeLinks(b, s)
	for _, n := range s.Notes {
		b.WriteString(md(n) + "\n\n")
	}
	for i := 0; i < len(s.Graphs); i += 2 {
		writeGraphs(b, graphs, s.Graphs[i:min(i+2, len(s.Graphs))])
		if i == 0 {
			b.WriteString("| --- | --- |\n")
		}
	}
	if len(s.Graphs) > 0 {
		b.WriteByte('\n')
	}
}

func writeGraphs(b *strings.Builder, graphs []Graph, pair []int) {
	b.WriteByte('|')
	for k := range 2 {
		if k < len(pair) {
			file := graphs[pair[k]].File
			fmt.Fprintf(b, " ![%s](graphs/%s) |", strings.TrimSuffix(file, ".png"), file)
		} else {
			b.WriteString("  |")
		}
	}
	b.WriteByte('\n')
}

// writeTable writes a table whose columns line up in the source too.
func writeTable(b *strings.Builder, t *table) {
	rows := make([][]string, 0, len(t.Rows)+1)
	for _, r := range append([][]string{t.Head}, t.Rows...) {
		rows = append(rows, textsOf(r, md))
	}
	widths := make([]int, len(t.Head))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c), 4)
		}
	}
	for n, r := range rows {
		b.WriteByte('|')
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if t.Right[i] {
				b.WriteString(" " + pad + c + " |")
			} else {
				b.WriteString(" " + c + pad + " |")
			}
		}
		b.WriteByte('\n')
		if n > 0 {
			continue
		}
		b.WriteByte('|')
		for i, width := range widths {
			if t.Right[i] {
				b.WriteString(" " + strings.Repeat("-", width-1) + ": |")
			} else {
				b.WriteString(" " + strings.Repeat("-", width) + " |")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// md writes a text so that Markdown shows it as it is, on one line.
func md(s string) string {
	s = plain.OneLine(s)
	var b strings.Builder
	r := []rune(s)
	word := func(i int) bool {
		return i >= 0 && i < len(r) &&
			(r[i] >= 'a' && r[i] <= 'z' || r[i] >= 'A' && r[i] <= 'Z' || r[i] >= '0' && r[i] <= '9')
	}
	for i, c := range r {
		switch c {
		case '\\', '`', '*', '|', '~':
			b.WriteByte('\\')
		case '_':
			if !word(i-1) || !word(i+1) { // inside a word it means nothing
				b.WriteByte('\\')
			}
		case '<':
			if i+1 < len(r) && (word(i+1) || strings.ContainsRune("/!?", r[i+1])) {
				b.WriteByte('\\')
			}
		case '&':
			if word(i+1) || i+1 < len(r) && r[i+1] == '#' {
				b.WriteByte('\\')
			}
		case ']':
			if i+1 < len(r) && (r[i+1] == '(' || r[i+1] == '[' || r[i+1] == ':') {
				b.WriteByte('\\')
			}
		case '#', '+', '-', '>', '=':
			if i == 0 && len(r) > 1 && (r[1] == ' ' || r[1] == c) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(c)
	}
	return b.String()
}

// code writes a text as a code span.
func code(s string) string {
	s = plain.OneLine(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 || s == "" {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// writeLinks writes the links of a section in Markdown.
func writeLinks(b *strings.Builder, s section) {
	if len(s.Links) == 0 {
		return
	}
	cells := func(texts []string) { b.WriteString("| " + strings.Join(texts, " | ") + " |\n") }
	cells(textsOf(s.LinkHead, md))
	cells(slices.Repeat([]string{"---"}, len(s.LinkHead)))
	for _, r := range s.Links {
		row := []string{md(r.Name)}
		for _, refs := range r.Cells {
			var links prose
			for _, p := range refs {
				links.add("[%s](%s/%s)", p.linkText(), PagesDir, p.File)
			}
			row = append(row, orDash(strings.Join(links, " · ")))
		}
		cells(row)
	}
	b.WriteByte('\n')
}
