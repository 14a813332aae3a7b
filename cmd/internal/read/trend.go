package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/formats"
	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// trend shows the supported users of releases over many comparisons. Its exit status reports only
// whether that could be done.
func trend(_ context.Context, a *app.App) error {
	flags := a.Flags
	root := a.StoreFlag()
	asJSON := flags.Bool("json", false, "write the result as JSON")
	o := outputFlags(flags, report.Releases)
	rest, err := a.Parse(1, comparison.MostGiven)
	if err != nil {
		return err
	}
	if err := o.check(report.Releases, *asJSON, false); err != nil {
		return err
	}
	results, err := resultsIn(a, rest, *root)
	if err != nil {
		return err
	}
	var all []report.ReleasePair
	for _, r := range results {
		for _, p := range r.pairs {
			if slices.ContainsFunc(all, func(q report.ReleasePair) bool {
				return p.Comparison == q.Comparison && p.Database == q.Database &&
					p.Base == q.Base &&
					p.New == q.New
			}) {
				return plan.Usagef(
					"%s: comparison %s is there twice: one comparison counts once",
					r.name,
					p.Comparison,
				)
			}
			all = append(all, p)
		}
	}
	d := report.FromReleases(all)
	if *o.print == "otava" && len(d.Trend.Databases) > 1 {
		return plan.Usagef(
			"-print otava: a file of Otava is one series, and there are %d databases: "+
				"-out DIR writes a file for each",
			len(d.Trend.Databases),
		)
	}
	return write(a, o, d, nil, formOr(*asJSON, "markdown"))
}

// A released is the comparisons of releases in one argument, or in one file of a folder.
type released struct {
	name  string
	pairs []report.ReleasePair
}

// resultsIn reads the arguments of a trend, in their order.
func resultsIn(a *app.App, names []string, root string) (out []released, err error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, plan.Usagef("%s is there twice: one comparison counts once", name)
		}
		var found []released
		if fi, serr := os.Stat(name); serr == nil && fi.IsDir() && !isComparison(name) {
			found, err = folder(a, name)
		} else {
			found = []released{{name: name}}
			found[0].pairs, err = releasesOf(a, name, root)
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, found...); len(out) > comparison.MostGiven {
			return nil, plan.Usagef("%d results are more than %d", len(out), comparison.MostGiven)
		}
	}
	return out, nil
}

func releasesOf(a *app.App, name, root string) ([]report.ReleasePair, error) {
	if isFile(name) {
		return givenReleases(a, name)
	}
	return storedReleases(a, name, root)
}

// folder reads the results in a folder and those below it: stored comparisons, and files with
// supported users. They are in the order of time where all have one, and else in that of their
// paths, in which v9.10 follows v9.9. Files without such numbers are on stderr.
func folder(a *app.App, dir string) (out []released, err error) {
	var without []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		stored := err == nil && d.IsDir() && isComparison(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && isFile(filepath.Join(path, record.ManifestFile)): // a run
			return fs.SkipDir
		case stored:
		case !d.Type().IsRegular() || !slices.Contains([]string{".txt", ".csv", ".json"}, filepath.Ext(path)):
			return nil
		}
		pairs, err := releasesOf(a, path, filepath.Dir(filepath.Dir(path)))
		switch {
		case err == nil:
			out = append(out, released{path, pairs})
		case errors.Is(err, formats.ErrUnknown):
			without = append(without, path)
		default:
			a.Tellf("plimsoll: left out: %s\n", plain.Error(err))
		}
		if stored {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	if n := len(without); n > 0 {
		a.Tellf("plimsoll: left out, of no known format: %s (%d in all)\n",
			strings.Join(without[:min(n, 3)], ", "), n)
	}
	if len(out) == 0 {
		return nil, plan.Usagef("%s has no results with supported users of two releases", dir)
	}
	slices.SortStableFunc(out, func(a, b released) int {
		return cmp.Compare(natural(a.name), natural(b.name))
	})
	if !slices.ContainsFunc(out, func(r released) bool { return r.pairs[0].Time.IsZero() }) {
		slices.SortStableFunc(out, func(a, b released) int {
			return a.pairs[0].Time.Compare(b.pairs[0].Time)
		})
	}
	return out, nil
}

// natural is a name whose runs of digits are ordered as numbers are.
func natural(name string) string {
	return digits.ReplaceAllStringFunc(name, func(run string) string {
		return fmt.Sprintf("%12s", run)
	})
}

var digits = regexp.MustCompile(`\d+`)

// givenReleases reads a CSV of published numbers, or the results of both arms of another tool.
func givenReleases(a *app.App, name string) ([]report.ReleasePair, error) {
	data, err := readInput(a, name)
	if err != nil {
		return nil, err
	}
	known, err := formats.Of("auto", data)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	if known.Read == nil {
		return nil, plan.Usagef(
			"%s is %s, without releases: name them in the columns base_release and new_release (docs/report.md)",
			name,
			known.Content,
		)
	}
	if known.Name != "releases" {
		return toolReleases(a, name, data, known)
	}
	rows, err := comparison.ReadReleases(data)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	var out []report.ReleasePair
	for _, r := range rows {
		out = append(out, report.ReleasePair{
			Comparison: cmp.Or(r.Comparison, name),
			Host:       r.Host,
			Time:       r.Time,
			Base:       r.Base,
			New:        r.New,
			Database:   r.Database,
			Pairs:      r.Pairs,
		})
	}
	return out, nil
}

// toolReleases reads the supported users of both arms from a file of another tool.
func toolReleases(
	a *app.App,
	name string,
	data []byte,
	known formats.Format,
) ([]report.ReleasePair, error) {
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
			a.Tellf("plimsoll: %s: %s\n", name, w)
		}
	}
	return out, nil
}

// storedReleases judges a stored comparison for the pairs of its capacity.
func storedReleases(a *app.App, name, root string) ([]report.ReleasePair, error) {
	st, id, err := openStored(root, name, "comparisons")
	if err != nil {
		return nil, err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		if _, rerr := st.Run(id); rerr == nil {
			return nil, plan.Usagef(
				"%s is a run: a trend is made of comparisons, because a run by itself has no partner that ran beside it, and numbers of different days are not comparable",
				id,
			)
		}
		return nil, notThere(name, "no such comparison in "+root)
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	p, err := PlanOf(a, c)
	if err != nil {
		return nil, err
	}
	out, err := evidence.Releases(c, p, st.Run)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, plan.Usagef(
			"%s has no capacity that was judged: a trend is one of supported users, which the plan's unbounded test finds",
			c.ID,
		)
	}
	return out, nil
}
