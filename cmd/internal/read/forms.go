package read

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// output is where a report goes: all forms into a directory, one to standard output.
type output struct{ out, print, texts *string }

// compared are the subjects of documents with verdicts.
const compared = report.Runs | report.Numbers

// outputFlags adds the flags for a report on some subjects.
func outputFlags(fs *flag.FlagSet, of report.Subject) *output {
	names := strings.Join(report.FormNames(of), ", ")
	return &output{
		out:   fs.String("out", "", "`DIR` for all forms of the report: "+names+", and graphs"),
		print: fs.String("print", "", "the `FORM` that is written to standard output: "+names),
	}
}

// textsFlag adds the flag for a person's words, which only the report of a comparison has.
func (o *output) textsFlag(fs *flag.FlagSet) {
	o.texts = fs.String(
		"texts",
		"",
		"`FILE` with comments and action_items of a person for the report of a stored comparison or of stored runs, in place of the drafted ones (YAML, as a plan's section report)",
	)
}

// given reports whether any flag is set.
func (o *output) given() bool {
	return *o.out != "" || *o.print != "" || o.texts != nil && *o.texts != ""
}

// check refuses a form that is not there, before any work is done. With -json or -md there is a
// form already.
func (o *output) check(of report.Subject, asJSON, markdown bool) error {
	names := report.FormNames(of)
	switch {
	case *o.print != "" && !slices.Contains(names, *o.print):
		return plan.Usagef(
			"-print %s: want %s",
			record.QuoteImported(*o.print),
			strings.Join(names, ", "),
		)
	case *o.print != "" && asJSON:
		return plan.Usagef(
			"-print %s and -json both set the form of the output: leave one out",
			*o.print,
		)
	case *o.print != "" && markdown:
		return plan.Usagef(
			"-print %s and -md both set the form of the output: leave one out",
			*o.print,
		)
	}
	return nil
}

// formOr is the form of the output with -json, or else the usual one.
func formOr(asJSON bool, usual string) string {
	if asJSON {
		return "json"
	}
	return usual
}

// write writes all forms of a document with more files into the directory, if one is given, and
// prints one.
func write(a *app.App, o *output, d report.Document, more []evidence.File, print string) error {
	if *o.out != "" {
		if err := writeReport(*o.out, d, more); err != nil {
			return err
		}
	}
	print = cmp.Or(*o.print, print)
	forms := d.Forms()
	i := slices.IndexFunc(forms, func(f report.Form) bool { return f.Name == print })
	if i < 0 {
		return fmt.Errorf("no form %s", print)
	}
	return forms[i].Write(a.Stdout)
}

// render writes the report of a stored comparison elsewhere than beside it, or another form of it,
// or with texts of a person. The store is changed only when the texts are all that is given: then
// the report beside the comparison has them.
func render(
	ctx context.Context,
	a *app.App,
	st *store.Store,
	c *record.Comparison,
	n *numbers,
) error {
	o := n.output
	p, err := PlanOf(a, c)
	if err != nil {
		return err
	}
	if err := o.withTexts(p); err != nil {
		return err
	}
	doc, verdicts, pages, err := a.Catalog().Document(ctx, c, p, st.Run)
	if err != nil {
		return err
	}
	if *o.out == "" && *o.print == "" {
		*o.out = st.ComparisonDir(c.ID)
	}
	if err := writeDocument(a, n, doc, pages); err != nil {
		return err
	}
	if why := c.NotComplete(); why != "" {
		a.Tellf("plimsoll: the comparison %s\n", why)
		return exit.StatusError(exit.Tool)
	}
	return exit.With(exit.Compared(doc, verdicts))
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
func writeDocument(a *app.App, n *numbers, doc report.Document, pages []evidence.File) error {
	o := n.output
	if err := write(a, o, doc, pages, formOr(*n.asJSON, "screen")); err != nil || *o.out == "" {
		return err
	}
	a.Tellf("report: %s\n", filepath.Join(*o.out, "report.html"))
	return nil
}
