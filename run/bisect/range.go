package bisect

import (
	"context"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/run/source"
)

// MostBuilds is the largest number of builds of a range.
const MostBuilds = 10_000

// A Range names the builds of a search: those of the commits behind Good up to Bad, or given ones.
type Range struct {
	Good, Bad string // revisions; empty for given builds
	Merged    bool   // the commits of merged branches too
	Build     string // the command that makes the build of a commit
	Given     []string
}

// Builds returns the builds in their order, and the words of the command that makes them; none for
// given builds. Errors of the range are [plan.UsageError]s.
func (r Range) Builds(
	ctx context.Context, of source.Repository,
) (builds []Build, command []string, err error) {
	switch {
	case r.Good != "" || r.Bad != "":
		if len(r.Given) > 0 {
			return nil, nil, plan.Usagef("%s: with -good and -bad the only argument is a plan", r.Given[0])
		}
		if command, err = SplitCommand(r.Build); err != nil {
			return nil, nil, err
		}
		builds, err = r.commits(ctx, of)
		return builds, command, err
	case r.Build != "":
		return nil, nil, plan.Usagef("-build goes with -good and -bad, the revisions of the range")
	case len(r.Given) < 2:
		return nil, nil, plan.Usagef("want -good, -bad, -build and a plan; or two builds or more, " +
			"oldest first, and a plan")
	}
	for _, name := range r.Given {
		builds = append(builds, Build{Name: name, Binary: name})
	}
	return builds, nil, nil
}

// commits returns the builds of the commits, which have not been made.
func (r Range) commits(ctx context.Context, of source.Repository) (builds []Build, err error) {
	if err := of.Check(ctx); err != nil {
		return nil, plan.UsageError{Err: err}
	}
	commits, err := of.Range(ctx, r.Good, r.Bad, r.Merged)
	if err != nil {
		return nil, err
	}
	if len(commits) > MostBuilds {
		return nil, plan.Usagef("%d commits lie between %s and %s; want at most %d",
			len(commits), r.Good, r.Bad, MostBuilds)
	}
	for _, c := range commits {
		builds = append(builds, Build{Name: c.ID, Title: c.Title})
	}
	return builds, nil
}

// CheckPlan refuses the plan of a file by which no two builds can be compared.
func CheckPlan(p *plan.Plan, file string) error {
	switch {
	case p.Compare == nil:
		return plan.Usagef("%s has no compare section; take the plan of the comparison "+
			"that has shown the change", file)
	case p.Uncombined() != "":
		return plan.Usagef("%s: %s", file, p.Uncombined())
	case len(comparison.Engines(p)) > 1:
		return plan.Usagef("%s: database.engine has %d engines; write the one on which to search",
			file, len(comparison.Engines(p)))
	}
	return nil
}
