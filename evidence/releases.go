package evidence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/watch/probe"
)

// Releases judges a stored comparison by its plan and returns the pairs of its capacity, one value per new arm and
// database; none if it has no capacity that was judged. load opens a run of the store.
func Releases(c *record.Comparison, p *plan.Plan, load func(id string) (*record.Run, error)) ([]report.ReleasePair, error) {
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
				out = append(out, report.ReleasePair{Comparison: c.ID, Host: host, Base: labels[c.Arms[0]], New: labels[j.Arm], Database: engines[j.Engine],
					Pairs: r.Pairs, Withheld: r.Withheld, NotComplete: c.NotComplete()})
			}
		}
	}
	return out, nil
}

// labelsOf names the arms by their versions, the databases by the names that they report, without their version, and
// the host. An arm without a version of its own is that arm of this comparison and of no other: two comparisons may
// both have an arm "new".
func labelsOf(c *record.Comparison, p *plan.Plan, load func(id string) (*record.Run, error)) (arms, engines map[string]string, host string, err error) {
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
		r, err := load(cell.Run)
		if err != nil {
			return nil, nil, "", err
		}
		if d, ok := TargetOf(r.Manifest); ok {
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
