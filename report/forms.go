package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/plain"
)

// A Form is one way to write a document.
type Form struct {
	// Name selects the form; empty for pictures.
	Name string
	// File is its path below the directory of the report; empty for a form that has none.
	File  string
	Write func(io.Writer) error
}

// forms are the texts that documents on some subjects are written as. A file that begins with a dot
// is named after the report.
var forms = []struct {
	of         Subject
	name, file string
	write      func(io.Writer, Document) error
}{
	{Runs | Numbers, "screen", "", func(w io.Writer, d Document) error { return Screen(w, d, 0) }},
	{Runs | Numbers | Ladder | Releases, "markdown", ".md", Markdown},
	{Runs | Numbers, "full", FullFile, FullMarkdown},
	{Runs | Numbers | Ladder | Releases, "html", ".html", HTML},
	{Runs | Numbers | Ladder | Releases, "json", ".json", JSON},
	{Runs | Numbers | Ladder | Releases, "csv", ".csv", CSV},
	{Runs | Numbers, "pairs", "pairs.csv", PairsCSV},
	{Runs | Numbers, "junit", "junit.xml", JUnit},
	{Runs | Numbers, "comment", "comment.md", Comment},
	{Releases, "otava", "", firstOtava},
}

// FormNames returns the names of the forms of documents on a subject.
func FormNames(of Subject) []string {
	var out []string
	for _, f := range forms {
		if f.of&of != 0 {
			out = append(out, f.name)
		}
	}
	return out
}

// Forms returns all forms of the document, the pictures last.
func (d Document) Forms() []Form {
	of, name := d.Subject(), "report"
	if of == Releases {
		name = "trend"
	}
	var out []Form
	for _, f := range forms {
		if f.of&of == 0 {
			continue
		}
		file := f.file
		switch {
		case strings.HasPrefix(file, "."):
			file = name + file
		case file == FullFile && of == Numbers:
			file = "" // report.md has everything
		}
		out = append(out, Form{f.name, file, func(w io.Writer) error { return f.write(w, d) }})
	}
	switch of {
	case Runs:
		for _, g := range Graphs(d) {
			out = append(out, drawings(strings.TrimSuffix(g.File, ".png"), g)...)
		}
		for _, f := range Flames(d) {
			out = append(out, drawings(f.File, f)...)
		}
		if a := d.Answer(); !a.Empty() {
			out = append(out, drawings(AnswerFile, a)...)
		}
	case Releases:
		for i, g := range TrendGraphs(d) {
			out = append(out, otava(d.Trend.Databases[i], g.File)...)
			out = append(out, drawings(g.File, g)...)
		}
	default:
	}
	return out
}

// drawings are both forms of a picture.
func drawings(file string, p interface {
	PNG(w io.Writer) error
	SVG(w io.Writer) error
}) []Form {
	file = path.Join("graphs", file)
	return []Form{{"", file + ".png", p.PNG}, {"", file + ".svg", p.SVG}}
}

// firstOtava writes the only database of a trend for Apache Otava.
func firstOtava(w io.Writer, d Document) error {
	if len(d.Trend.Databases) == 0 {
		return nil
	}
	return OtavaCSV(w, d.Trend.Databases[0])
}

// otava is the file of a database for Apache Otava; none where a comparison has no time.
func otava(db TrendDatabase, graph string) []Form {
	if slices.ContainsFunc(db.Links, func(l TrendLink) bool { return l.Time.IsZero() }) {
		return nil
	}
	file := strings.Replace(graph, "trend", "otava", 1) + ".csv"
	return []Form{{"", file, func(w io.Writer) error { return OtavaCSV(w, db) }}}
}

// JSON writes a document for programs: one on runs on one line, others indented. Numbers that are
// not known are null; the same document gives the same bytes.
func JSON(w io.Writer, d Document) error {
	var other any
	switch d.Subject() {
	case Numbers:
		other = d.Given
	case Ladder:
		other = d.Sizing
	case Releases:
		other = d.Trend
	default:
		b, err := json.Marshal(d)
		if err == nil {
			_, err = w.Write(append(plain.JSON(b), '\n'))
		}
		if err != nil {
			return fmt.Errorf("writing report as JSON: %w", err)
		}
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(other)
}
