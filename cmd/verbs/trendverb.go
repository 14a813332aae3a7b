package verbs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"slices"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/rig"
	"plimsoll/run/store"
)

// trend shows the supported users of releases over many comparisons. Its exit status reports only whether that could
// be done.
func (a *app) trend(_ context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the result as JSON")
	names := []string{"markdown", "html", "json", "csv"}
	o := outputFlags(fs, names)
	rest, err := parse(fs, args, 1, comparison.MostGiven)
	if err != nil {
		return err
	}
	if err := o.check(names, *asJSON, false); err != nil {
		return err
	}
	var all []report.ReleasePair
	for i, name := range rest {
		if slices.Contains(rest[:i], name) {
			return plan.Usagef("%s is there twice: one comparison counts once", name)
		}
		read := a.storedReleases
		if isFile(name) {
			read = a.givenReleases
		}
		pairs, err := read(name, *root)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			if slices.ContainsFunc(all, func(q report.ReleasePair) bool {
				return p.Comparison == q.Comparison && p.Database == q.Database && p.Base == q.Base && p.New == q.New
			}) {
				return plan.Usagef("%s: comparison %s is there twice: one comparison counts once", name, p.Comparison)
			}
		}
		all = append(all, pairs...)
	}
	print := "markdown"
	if *asJSON {
		print = "json"
	}
	return a.write(o, trendForms(report.FromReleases(all)), print)
}

// givenReleases reads a CSV of published numbers, or the results of both arms of another tool.
func (a *app) givenReleases(name, _ string) ([]report.ReleasePair, error) {
	data, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	known, err := rig.FormatOf("auto", data)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	if known.Read == nil {
		return nil, plan.Usagef("%s is %s, without releases: name them in the columns base_release and new_release (docs/report.md)", name, known.Content)
	}
	if known.Name != "releases" {
		return a.toolReleases(name, data, known)
	}
	rows, err := comparison.ReadReleases(bytes.NewReader(data))
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	var out []report.ReleasePair
	for _, r := range rows {
		out = append(out, report.ReleasePair{Comparison: cmp.Or(r.Comparison, name), Host: r.Host, Base: r.Base, New: r.New, Database: r.Database, Pairs: r.Pairs})
	}
	return out, nil
}

// toolReleases reads the supported users of both arms from a file of another tool.
func (a *app) toolReleases(name string, data []byte, known rig.Format) ([]report.ReleasePair, error) {
	runs, err := known.Read(name, data)
	var out []report.ReleasePair
	if err == nil {
		out, err = evidence.GivenReleases(name, runs)
	}
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	for _, g := range runs {
		for _, w := range g.Warnings {
			plain.Fprintf(a.stderr, "plimsoll: %s: %s\n", name, w)
		}
	}
	return out, nil
}

// storedReleases judges a stored comparison for the pairs of its capacity.
func (a *app) storedReleases(name, root string) ([]report.ReleasePair, error) {
	st, id, err := openStored(root, name, "comparisons")
	if err != nil {
		return nil, err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		if _, rerr := st.Run(id); rerr == nil {
			return nil, plan.Usagef("%s is a run: a trend is made of comparisons, because a run by itself has no partner that ran beside it, and numbers of different days are not comparable", id)
		}
		return nil, notThere(name, "no such comparison in "+root)
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	p, err := a.planOf(c)
	if err != nil {
		return nil, err
	}
	out, err := evidence.Releases(c, p, st.Run)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, plan.Usagef("%s has no capacity that was judged: a trend is one of supported users, which the plan's unbounded test finds", c.ID)
	}
	return out, nil
}
