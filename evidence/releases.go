package evidence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/probe"
)

// Releases judges a stored comparison by its plan and returns the pairs of its capacity, one value
// per new arm and database; none if it has no capacity that was judged. load opens a run of the
// store.
func Releases(
	c *record.Comparison,
	p *plan.Plan,
	load comparison.Load,
) ([]report.ReleasePair, error) {
	arms, _, err := comparison.Judge(c, p, comparison.Loader(c, load))
	if err != nil {
		return nil, fmt.Errorf("judging %s: %w", c.ID, err)
	}
	labels, engines, host, err := labelsOf(c, p, load)
	if err != nil {
		return nil, err
	}
	var out []report.ReleasePair
	for _, j := range arms {
		for _, r := range j.Verdict.Results {
			if r.Name == "capacity" {
				out = append(out, report.ReleasePair{
					Comparison:  c.ID,
					Host:        host,
					Time:        c.Started,
					Base:        labels[c.Arms[0]],
					New:         labels[j.Arm],
					Database:    engines[j.Engine],
					Pairs:       r.Pairs,
					Withheld:    r.Withheld,
					NotComplete: c.NotComplete(),
				})
			}
		}
	}
	return out, nil
}

// GivenReleases returns the pairs of the capacity of both arms in a file of another tool. An arm
// that the file does not call by a release is an arm of that file and of no other.
func GivenReleases(source string, runs []record.Imported) ([]report.ReleasePair, error) {
	name := func(g record.Imported) string {
		if g.Label == "" || g.Label == record.ImportedBase || g.Label == record.ImportedNew {
			return g.Arm + " of " + source
		}
		return g.Label
	}
	var out []report.ReleasePair
	for i, base := range runs {
		of, ok := base.Figure("capacity")
		if !ok || base.Arm != record.ImportedBase {
			continue
		}
		k := slices.IndexFunc(runs[i:], func(g record.Imported) bool {
			return g.Arm == record.ImportedNew && g.Database == base.Database && g.Test == base.Test
		})
		if k < 0 {
			continue
		}
		fresh := runs[i+k]
		on, ok := fresh.Figure("capacity")
		if !ok {
			continue
		}
		out = append(out, report.ReleasePair{
			Comparison: source, Base: name(base), New: name(fresh), Database: base.Database,
			Pairs: []verdict.Pair{{
				Block:        1,
				Base:         of.Value,
				New:          on.Value,
				BaseCensored: of.AtLeast,
				NewCensored:  on.AtLeast,
			}},
		})
	}
	if len(out) == 0 {
		return nil, errors.New(
			"it has no supported users of both arms: a trend needs an unbounded test",
		)
	}
	return out, nil
}

// labelsOf names the arms by their versions, the databases by the names that they report, without
// their version, and the host. An arm that has no version gets its name in this comparison, which
// no other comparison shares: two comparisons may both have an arm "new".
func labelsOf(
	c *record.Comparison,
	p *plan.Plan,
	load comparison.Load,
) (arms, engines map[string]string, host string, err error) {
	arms, engines = map[string]string{}, map[string]string{}
	if p.Compare != nil {
		for _, name := range c.Arms {
			if arm, ok := p.Compare.Arm(name); ok {
				arms[name] = p.Target.With(arm).Version
			}
		}
	}
	for _, cell := range c.Runs {
		r, err := load(cell.Run)
		if err != nil {
			return nil, nil, "", err
		}
		if d, ok := TargetOf(r.Manifest); ok {
			arms[cell.Arm] = cmp.Or(arms[cell.Arm], d.Version)
			if d.Database != nil && cell.Engine != "" { // else arms have their own databases
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
		same := slices.ContainsFunc(c.Arms[:i], func(other string) bool {
			return arms[other] == arms[name]
		})
		if arms[name] == "" || same {
			arms[name] = name + " of " + c.ID
		}
	}
	return arms, engines, host, nil
}
