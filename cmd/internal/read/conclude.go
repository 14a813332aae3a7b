package read

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/run/source"
)

// ConcludeRun prints the end of a run, also of an interrupted one.
func ConcludeRun(ctx context.Context, a *app.App, r *record.Run, asJSON bool) error {
	s, err := a.Catalog().Of(r).Show(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if asJSON {
		return a.JSON(s)
	}
	return s.Screen(r.Dir).Write(a.Stdout, 0)
}

// Conclude judges a comparison, renders its report beside it, prints the screen and returns the
// exit status.
func Conclude(
	ctx context.Context,
	a *app.App,
	st *store.Store,
	c *record.Comparison,
	asJSON bool,
) (int, report.Document, error) {
	var none report.Document
	p, err := PlanOf(a, c)
	if err != nil {
		return exit.Tool, none, err
	}
	doc, verdicts, pages, err := a.Catalog().Document(ctx, c, p, st.Run)
	if err != nil {
		return exit.Tool, none, err
	}
	why := c.NotComplete()
	if why != "" && doc.State.Judged == 0 && !asJSON {
		a.Printf("comparison %s %s: %d of %d blocks judged, so there is no report yet; its %d runs are kept\n",
			c.ID, why, doc.State.Judged, doc.State.Planned, len(c.Runs))
		goesOn(a, st, c)
		return exit.Tool, doc, st.SaveComparison(c)
	}
	if p.Source != nil && why == "" {
		from := source.Repository{Dir: p.Source.Repo, Secrets: a.Secrets}
		if err := from.Keep(ctx, p.Source, c, &doc); err != nil {
			return exit.Tool, none, err
		}
	}
	dir := st.ComparisonDir(c.ID)
	if err := writeReport(dir, doc, pages); err != nil {
		return exit.Tool, none, err
	}
	if err := st.SaveComparison(c); err != nil {
		return exit.Tool, none, err
	}
	if asJSON {
		if err := report.JSON(a.Stdout, doc); err != nil {
			return exit.Tool, none, err
		}
	} else {
		if err := report.Screen(a.Stdout, doc, 100); err != nil {
			return exit.Tool, none, err
		}
		a.Printf("report: %s\n", filepath.Join(dir, "report.html"))
	}
	if why != "" {
		a.Tellf("plimsoll: the comparison %s\n", why)
		goesOn(a, st, c)
		return exit.Tool, doc, nil
	}
	return exit.Compared(doc, verdicts), doc, nil
}

// goesOn prints the command that continues a comparison.
func goesOn(a *app.App, st *store.Store, c *record.Comparison) {
	in := ""
	if def := a.DefaultStore(); st.Root() != def {
		in = " -store " + st.Root()
	}
	a.Tellf("plimsoll: plimsoll compare%s -resume %s goes on with it\n", in, c.ID)
}

// Summary is the line for scripts: each database, and with several new arms each of them, with its
// verdict.
func Summary(doc report.Document) string {
	var parts []string
	for _, f := range doc.Verdicts {
		name := cmp.Or(f.Engine, "-")
		if len(doc.Arms) > 2 {
			name += "/" + f.Arm
		}
		parts = append(parts, name+"="+string(f.Verdict.Kind))
	}
	return strings.Join(parts, " ")
}
