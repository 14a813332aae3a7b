package read

import (
	"context"
	"path/filepath"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/parallel"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// Ls lists the store's runs.
func Ls(ctx context.Context, a *app.App) error {
	root := a.StoreFlag()
	asJSON := a.Flags.Bool("json", false, "write the list as JSON")
	aa := a.Flags.Bool(
		"aa",
		false,
		"list the noise floors that comparisons of a build with itself have left, by environment, database and metric",
	)
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *aa {
		return listNoise(a, st, *asJSON)
	}
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.Tellf("plimsoll ls: %v\n", w)
	}
	if *asJSON {
		if entries == nil {
			entries = []store.Entry{}
		}
		return a.JSON(entries)
	}
	for _, e := range entries {
		if len(e.Changed) > 0 {
			a.Tellf(
				"plimsoll ls: run %s changed since it was sealed: %s; bring it back as it was, "+
					"or repeat it\n",
				e.ID,
				strings.Join(e.Changed, ", "),
			)
		}
	}
	return store.WriteTable(a.Stdout, entries)
}

// Show prints one run.
func Show(ctx context.Context, a *app.App) error {
	root := a.StoreFlag()
	asJSON := a.Flags.Bool("json", false, "write the run as JSON")
	pages := a.Flags.String(
		"pages",
		"",
		"instead write the run's system and coordinator metrics as HTML pages into this directory",
	)
	rest, err := a.Parse(1, 1)
	if err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	r, err := st.Run(rest[0])
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if *pages != "" {
		return showPages(ctx, a, *pages, r)
	}
	s, err := a.Catalog().Of(r).Show(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(s)
	}
	return s.Text(a.Stdout)
}

// showPages writes the pages of a run into a directory and prints where they are.
func showPages(ctx context.Context, a *app.App, dir string, r *record.Run) error {
	pages, err := a.Catalog().Of(r).Pages(ctx)
	if err != nil {
		return err
	}
	if err := app.MakeDir(dir); err != nil {
		return err
	}
	if err := parallel.Each(len(pages), func(i int) error {
		return app.WriteFile(filepath.Join(dir, pages[i].Name), pages[i].Write)
	}); err != nil {
		return err
	}
	for _, f := range pages {
		a.Printf("%v\n", filepath.Join(dir, f.Name))
	}
	return nil
}
