package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"

	"plimsoll/comparison"
	"plimsoll/plan"
	"plimsoll/probe"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
)

// trend shows the supported users of releases over many comparisons. Its exit status says only whether that could be done.
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
			return usagef("%s is there twice: one comparison counts once", name)
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
				return usagef("%s: comparison %s is there twice: one comparison counts once", name, p.Comparison)
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

// givenReleases reads a CSV of published numbers.
func (a *app) givenReleases(name, _ string) ([]report.ReleasePair, error) {
	data, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	if !comparison.HasReleases(data) {
		return nil, usagef("%s: want a CSV with the columns base_release, new_release, pair, base and new, or the id of a stored comparison (docs/report.md)", name)
	}
	rows, err := comparison.ReadReleases(bytes.NewReader(data))
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	var out []report.ReleasePair
	for _, r := range rows {
		out = append(out, report.ReleasePair{Comparison: cmp.Or(r.Comparison, name), Host: r.Host, Base: r.Base, New: r.New, Database: r.Database, Pairs: r.Pairs})
	}
	return out, nil
}

// storedReleases judges a stored comparison for the pairs of its capacity.
func (a *app) storedReleases(name, root string) ([]report.ReleasePair, error) {
	st, id, err := openStored(root, name)
	if err != nil {
		return nil, err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		if _, rerr := st.Run(id); rerr == nil {
			return nil, usagef("%s is a run: a trend is made of comparisons, because a run by itself has no partner that ran beside it, and numbers of different days are not comparable", id)
		}
		return nil, notThere(name, "no such comparison in "+root)
	}
	if err != nil {
		return nil, usageError{err}
	}
	p, err := a.planOf(c)
	if err != nil {
		return nil, err
	}
	arms, _, err := comparison.Judge(c, p, comparison.Loader(c, st.Run))
	if err != nil {
		return nil, fmt.Errorf("judging %s: %w", c.ID, err)
	}
	labels, engines, host, err := labelsOf(c, p, st)
	if err != nil {
		return nil, err
	}
	var out []report.ReleasePair
	for _, j := range arms {
		for _, r := range j.Verdict.Results {
			if r.Name == "capacity" {
				out = append(out, report.ReleasePair{Comparison: c.ID, Host: host, Base: labels[c.Arms[0]], New: labels[j.Arm], Database: engines[j.Engine], Pairs: r.Pairs, NotComplete: notComplete(c)})
			}
		}
	}
	if len(out) == 0 {
		return nil, usagef("%s has no capacity that was judged: a trend is one of supported users, which the plan's unbounded test finds", c.ID)
	}
	return out, nil
}

// labelsOf names the arms by their versions, the databases by what they call themselves without their version, and the host. An arm without a version
// of its own is that arm of this comparison and of no other: two comparisons may both have an arm "new".
func labelsOf(c *record.Comparison, p *plan.Plan, st *store.Store) (arms, engines map[string]string, host string, err error) {
	arms, engines = map[string]string{}, map[string]string{}
	for _, name := range c.Arms {
		if p.Compare == nil {
			continue
		}
		if arm, ok := p.Compare.Arm(name); ok {
			arms[name] = p.Target.With(arm).Version
		}
	}
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		if err != nil {
			return nil, nil, "", err
		}
		if d, ok := targetOf(r.Manifest); ok {
			arms[cell.Arm] = cmp.Or(arms[cell.Arm], d.Version)
			if d.Database != nil && cell.Engine != "" { // arms with databases of their own are compared across them
				engines[cell.Engine] = d.Database.Name
			}
		}
		var h probe.Host
		if json.Unmarshal(r.Manifest.Host, &h) == nil && h.CPUs > 0 {
			host = fmt.Sprintf("%d × %s", h.CPUs, h.CPUModel)
		}
	}
	for _, name := range c.Engines {
		engines[name] = cmp.Or(engines[name], name)
	}
	for i, name := range c.Arms {
		same := slices.ContainsFunc(c.Arms[:i], func(other string) bool { return arms[other] == arms[name] })
		if arms[name] == "" || same {
			arms[name] = name + " of " + c.ID
		}
	}
	return arms, engines, host, nil
}
