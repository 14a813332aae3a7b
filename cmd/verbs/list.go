package verbs

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/parallel"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// storeFlag adds the flag for the directory of the store.
func (a *app) storeFlag(fs *flag.FlagSet) *string {
	return fs.String("store", a.defaultStore(), "directory of runs and comparisons (environment PLIMSOLL_STORE)")
}

// defaultStore returns the directory of the store without the flag.
func (a *app) defaultStore() string { return cmp.Or(a.env("PLIMSOLL_STORE"), ".plimsoll") }

// ls lists the store's runs.
func (a *app) ls(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the list as JSON")
	aa := fs.Bool("aa", false, "list the noise floors that comparisons of a build with itself have left, by environment, database and metric")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *aa {
		return a.listNoise(st, *asJSON)
	}
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		plain.Fprintf(a.stderr, "plimsoll ls: %v\n", w)
	}
	if *asJSON {
		if entries == nil {
			entries = []store.Entry{}
		}
		return a.json(entries)
	}
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "RUN\tBEGAN\tSTATE\tVALID\tARM\tDATABASE\tBLOCK\tUSERS\tPER S\tP95 MS\tERRORS\tCAPACITY\tCOMPARISON\n")
	for _, e := range entries {
		valid := "no"
		switch {
		case e.Valid:
			valid = "yes"
		case e.State == record.Interrupted:
			valid = "-"
		}
		state := string(e.State)
		if len(e.Changed) > 0 {
			state = "CHANGED"
			plain.Fprintf(a.stderr, "plimsoll ls: run %s changed since it was sealed: %s; bring it back as it was, or repeat it\n", e.ID, strings.Join(e.Changed, ", "))
		}
		measured := "-\t-\t-\t-"
		if m := e.Measured; m != nil {
			measured = fmt.Sprintf("%d\t%.3g\t%.3g\t%d of %d", m.Users, m.Rate, m.P95, m.Errors, m.Count)
		}
		plain.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Epoch.Local().Format(time.DateTime), state, valid, dash(e.Arm),
			dash(e.Engine), blockText(e.Block), plain.Block(measured), record.CapacityText(e.CapacityKind, e.Capacity), dash(e.Comparison))
	}
	return tw.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func blockText(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// show prints one run.
func (a *app) show(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the run as JSON")
	pages := fs.String("pages", "", "instead write the run's system and coordinator metrics as HTML pages into this directory")
	rest, err := parse(fs, args, 1, 1)
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
		return a.showPages(ctx, *pages, r)
	}
	s, err := a.catalog().Of(r).Show(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(s)
	}
	return s.Text(a.stdout)
}

// showPages writes the pages of a run into a directory and prints where they are.
func (a *app) showPages(ctx context.Context, dir string, r *record.Run) error {
	pages, err := a.catalog().Of(r).Pages(ctx)
	if err != nil {
		return err
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	if err := parallel.Each(len(pages), func(i int) error { return writeFile(filepath.Join(dir, pages[i].Name), pages[i].Write) }); err != nil {
		return err
	}
	for _, f := range pages {
		plain.Fprintf(a.stdout, "%v\n", filepath.Join(dir, f.Name))
	}
	return nil
}
