package verbs

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/cmd/exit"
	"plimsoll/evidence"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// A form is one way to write a report: its name for -print, its file, and how it is written.
type form struct {
	name, file string
	write      func(io.Writer) error
}

// documentForms are the forms of a comparison's report, without its graphs.
func documentForms(d report.Document) []form {
	full := report.FullFile
	if d.Given != nil {
		full = "" // report.md has everything
	}
	return []form{
		{"screen", "", func(w io.Writer) error { return report.Screen(w, d, 100) }},
		{"markdown", "report.md", func(w io.Writer) error { return report.Markdown(w, d) }},
		{"full", full, func(w io.Writer) error { return report.FullMarkdown(w, d) }},
		{"html", "report.html", func(w io.Writer) error { return report.HTML(w, d) }},
		{"json", "report.json", func(w io.Writer) error { return report.JSON(w, d) }},
		{"csv", "report.csv", func(w io.Writer) error { return report.CSV(w, d) }},
		{"pairs", "pairs.csv", func(w io.Writer) error { return report.Pairs(w, d) }},
		{"junit", "junit.xml", func(w io.Writer) error { return report.JUnit(w, d) }},
		{"comment", "comment.md", func(w io.Writer) error { return report.Comment(w, d) }},
	}
}

// trendForms are those of a trend, with its pictures.
func trendForms(d report.TrendDocument) []form {
	forms := []form{
		{"markdown", "trend.md", func(w io.Writer) error { return report.Markdown(w, d) }},
		{"html", "trend.html", func(w io.Writer) error { return report.HTML(w, d) }},
		{"json", "trend.json", func(w io.Writer) error { return report.JSON(w, d) }},
		{"csv", "trend.csv", func(w io.Writer) error { return report.TrendCSV(w, d) }},
	}
	for i, g := range report.TrendGraphs(d) {
		db := d.Databases[i]
		otava := form{"otava", strings.Replace(g.File, "trend", "otava", 1) + ".csv", func(w io.Writer) error { return report.OtavaCSV(w, db) }}
		if slices.ContainsFunc(db.Links, func(l report.TrendLink) bool { return l.Time.IsZero() }) {
			otava.file = ""
		}
		forms = append(forms, otava)
		forms = append(forms, form{"", filepath.Join("graphs", g.File+".png"), g.PNG}, form{"", filepath.Join("graphs", g.File+".svg"), g.SVG})
	}
	return forms
}

// output is where a report goes: all forms into a directory, one to standard output.
type output struct{ out, print, texts *string }

// printable are the names for -print.
var printable = []string{"screen", "markdown", "full", "html", "json", "csv", "pairs", "junit", "comment"}

func outputFlags(fs *flag.FlagSet, names []string) *output {
	return &output{
		out:   fs.String("out", "", "`DIR` for all forms of the report: "+strings.Join(names, ", ")+", and graphs"),
		print: fs.String("print", "", "the `FORM` that is written to standard output: "+strings.Join(names, ", ")),
	}
}

// textsFlag adds the flag for a person's words, which only the report of a comparison has.
func (o *output) textsFlag(fs *flag.FlagSet) {
	o.texts = fs.String("texts", "", "`FILE` with comments and action_items of a person for the report of a stored comparison or of stored runs, in place of the drafted ones (YAML, as a plan's section report)")
}

// given reports whether any flag is set.
func (o *output) given() bool {
	return *o.out != "" || *o.print != "" || o.texts != nil && *o.texts != ""
}

// check refuses a form that is not there, before any work is done. With -json or -md there is a form already.
func (o *output) check(names []string, asJSON, markdown bool) error {
	switch {
	case *o.print != "" && !slices.Contains(names, *o.print):
		return plan.Usagef("-print %s: want %s", record.QuoteImported(*o.print), strings.Join(names, ", "))
	case *o.print != "" && asJSON:
		return plan.Usagef("-print %s and -json both set the form of the output: leave one out", *o.print)
	case *o.print != "" && markdown:
		return plan.Usagef("-print %s and -md both set the form of the output: leave one out", *o.print)
	}
	return nil
}

// write writes the forms into the directory, if one is given, and prints one.
func (a *app) write(o *output, forms []form, print string) error {
	if *o.out != "" {
		if err := writeForms(*o.out, forms); err != nil {
			return err
		}
	}
	print = cmp.Or(*o.print, print)
	for _, f := range forms {
		if f.name == print {
			return f.write(a.stdout)
		}
	}
	return fmt.Errorf("no form %s", print)
}

// writeForms writes each form whole into its file below dir.
func writeForms(dir string, forms []form) error {
	for _, f := range forms {
		if f.file == "" {
			continue
		}
		path := filepath.Join(dir, f.file)
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		if err := writeFile(path, f.write); err != nil {
			return fmt.Errorf("report %s: %w", f.file, err)
		}
	}
	return nil
}

// render writes the report of a stored comparison elsewhere than beside it, or another form of it, or with texts of a
// person. The store is changed only when the texts are all that is given: then the report beside the comparison has
// them.
func (a *app) render(ctx context.Context, st *store.Store, c *record.Comparison, o *output, asJSON bool) error {
	p, err := a.planOf(c)
	if err != nil {
		return err
	}
	if err := o.withTexts(p); err != nil {
		return err
	}
	doc, verdicts, pages, err := a.catalog().Document(ctx, c, p, st.Run)
	if err != nil {
		return err
	}
	if *o.out == "" && *o.print == "" {
		*o.out = st.ComparisonDir(c.ID)
	}
	if err := a.writeDocument(o, doc, pages, asJSON); err != nil {
		return err
	}
	if why := c.NotComplete(); why != "" {
		plain.Fprintf(a.stderr, "plimsoll: the comparison %s\n", why)
		return exit.StatusError(exit.Tool)
	}
	return statusOrNil(exit.Compared(doc, verdicts))
}

// withTexts puts the texts of a person into the plan of a report, if there are any.
func (o *output) withTexts(p *plan.Plan) error {
	if *o.texts == "" {
		return nil
	}
	data, err := files.Read(*o.texts, files.MaxSmall)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	texts, err := plan.ParseReport(data)
	if err != nil {
		return plan.Usagef("%s: %w", *o.texts, err)
	}
	p.Report = p.Report.With(texts)
	return nil
}

// writeDocument writes all forms of a document into the directory, if one is given, and prints one.
func (a *app) writeDocument(o *output, doc report.Document, pages []evidence.File, asJSON bool) error {
	print := "screen"
	if asJSON {
		print = "json"
	}
	if *o.out != "" {
		if err := writeReport(*o.out, doc, pages); err != nil {
			return err
		}
		plain.Fprintf(a.stderr, "report: %s\n", filepath.Join(*o.out, "report.html"))
	}
	*o.out = ""
	return a.write(o, documentForms(doc), print)
}
