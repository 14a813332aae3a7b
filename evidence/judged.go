package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
)

// Judged judges a stored comparison by its plan and gathers the contents of the report of a judgment. With
// databasesToo, databases are compared within each arm as well. load opens a run of the store.
func (c *Catalog) Judged(ctx context.Context, stored *record.Comparison, p *plan.Plan, load func(id string) (*record.Run, error), databasesToo bool) (report.JudgeInput, error) {
	arms, databases, err := comparison.Judge(stored, p, comparison.Loader(stored, load), c.Costs(ctx))
	if err != nil {
		return report.JudgeInput{}, fmt.Errorf("judging %s: %w", stored.ID, err)
	}
	in := report.JudgeInput{Names: [2]string{stored.Arms[0], strings.Join(stored.Arms[1:], ", ")}}
	for i := range arms {
		j := &arms[i]
		if len(stored.Arms) > 2 {
			j.Verdict.Database = strings.TrimSpace(j.Engine + " " + j.Arm)
			in.Of = append(in.Of, report.JudgedOf{Engine: j.Engine, Arm: j.Arm})
			continue // a table has one new arm
		}
		for _, r := range slices.Concat(j.Verdict.Results, j.Verdict.Aside) {
			for _, pair := range r.Pairs {
				in.Rows = append(in.Rows, imported.PairRow{Metric: r.Name, Database: j.Engine, Unit: r.Unit, Pair: pair})
			}
		}
	}
	for i := range databases {
		j := &databases[i]
		j.Verdict.Database = fmt.Sprintf("%s against %s, %s", j.Engine, stored.Engines[0], j.Arm)
	}
	if !databasesToo {
		databases = nil
	}
	conclude(&in, arms, databases)
	return in, nil
}

// conclude adds the verdicts, and what was not judged; a name that others of the arms were judged by
// comes with the arm or database.
func conclude(in *report.JudgeInput, arms, databases []comparison.Judgement) {
	for _, j := range arms {
		in.Verdicts = append(in.Verdicts, j.Verdict)
		for name, why := range j.Skipped {
			if slices.ContainsFunc(arms, func(o comparison.Judgement) bool { _, too := o.Skipped[name]; return !too }) {
				name += " of " + cmp.Or(j.Verdict.Database, j.Arm)
			}
			in.Skip(name, why)
		}
	}
	for _, j := range databases {
		in.Databases = append(in.Databases, j.Verdict)
		if j.OtherLoad != "" {
			in.Skip("all but the capacity, "+j.Verdict.Database, j.OtherLoad)
		}
	}
}
